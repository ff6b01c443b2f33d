"""`TSNE`: t-SNE under the parameter names of scikit-learn and openTSNE."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..checks import choice, integer, optional, positive
from ..methods.forces.fit import Settings
from ..methods.forces.objectives.base import Objective
from ..methods.forces.objectives.tsne import TSNE as Divergence
from ..typing import Metric
from .forces import ForceEmbedder, as_known_from
from .registry import estimator

_PAIRS = {"auto": "auto", "barnes_hut": "auto", "bh": "auto", "fft": "auto", "exact": "exact"}
_FIELD = "forces are summed by a field that is checked against the exact sum, and needs no such setting"
_STEPS = "the solver chooses its steps, and stops after max_iter iterations"


@as_known_from(
    "scikit-learn or openTSNE",
    {"n_iter": "max_iter", "initialization": "init", "negative_gradient_method": "method"},
    {
        "angle": ((0.5,), f"{_FIELD}."),
        "theta": ((0.5,), f"{_FIELD}."),
        "n_interpolation_points": ((3,), f"{_FIELD}."),
        "min_num_intervals": ((50,), f"{_FIELD}."),
        "ints_in_interval": ((1,), f"{_FIELD}."),
        "n_iter_without_progress": ((300,), f"{_STEPS}."),
        "min_grad_norm": ((1e-7,), f"{_STEPS}."),
        "initial_momentum": ((0.5, 0.8), f"{_STEPS}."),
        "final_momentum": ((0.8,), f"{_STEPS}."),
        "max_grad_norm": ((None,), f"{_STEPS}."),
        "max_step_norm": ((5,), f"{_STEPS}."),
        "neighbors": (("auto",), "winkel.graph.knn chooses the search; pass its graph as X to search otherwise."),
        "knn_index": ((None,), "pass a graph of winkel.graph.knn as X."),
        "metric_params": ((None,), 'write parameters of a metric into its name, as "minkowski(3)", or pass a function.'),
    },
)  # fmt: skip
@estimator("tsne", "t-SNE, its field of forces checked")
class TSNE(ForceEmbedder):
    """A map by t-SNE, with the parameter names of scikit-learn's and openTSNE's TSNE.

    This is `winkel.AttractRepel(objective=winkel.objectives.TSNE(...))` under familiar names, so that only the import line has to
    change. openTSNE's `n_iter`, `initialization` and `negative_gradient_method` are understood too. A parameter that has no
    counterpart here is refused with a reason, unless it has its default value in the other package. Unlike scikit-learn's TSNE, it has
    `transform`: each new row is placed on its own, and a row that equals a fitted row gets that row's place.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    perplexity : float, default=30.0
        The effective number of neighbours of a row; three times as many are searched. If there are few rows, it is reduced, with a
        DataWarning.
    early_exaggeration : float or "auto", default="auto"
        Factor by which attractions are stronger at first; "auto" chooses it by the solver.
    early_exaggeration_iter : int or None, default=None
        Number of iterations with early exaggeration; None chooses it by the solver, at most a third of `max_iter`.
    exaggeration : float or None, default=None
        Factor by which attractions stay stronger to the end, as in openTSNE; at about 4, maps look like UMAP's. None is 1.
    dof : float, default=1.0
        Degrees of freedom of the kernel (1 + d²/dof)^−dof on the map, as in openTSNE. Below 1, its heavier tails split clusters
        into smaller ones.
    learning_rate : float or "auto", default="auto"
        With a number, in scikit-learn's unit, the fit takes gradient steps of that size with momentum and gains, as t-SNE's authors did;
        openTSNE's numbers are four times as large. With "auto", winkel chooses solver and steps.
    max_iter : int or None, default=None
        Number of iterations; None chooses it by the solver.
    metric : str or callable, default="euclidean"
        The metric for finding neighbours, as in `winkel.graph.knn`; "precomputed" takes X as a matrix of distances.
    init : {"auto", "pca", "spectral", "random"} or array, default="auto"
        The start. "auto" is the principal components or, for data without rows (a graph, distances), the graph's spectral
        embedding.
    method : {"auto", "barnes_hut", "fft", "exact"}, default="auto"
        "exact" sums over all pairs. All other values mean the same here: the sum is exact up to 2 000 rows, and beyond that it is
        computed by winkel's field.

    Attributes
    ----------
    graph_ : Graph
        The neighbour graph.
    kl_divergence_ : float
        The objective at the map.

    See Also
    --------
    AttractRepel : All objectives, with all their parameters.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.TSNE(perplexity=10, max_iter=60, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    perplexity: float = 30.0
    early_exaggeration: float | str = "auto"
    early_exaggeration_iter: int | None = None
    exaggeration: float | None = None
    dof: float = 1.0
    learning_rate: float | str = "auto"
    max_iter: int | None = None
    metric: Metric = "euclidean"
    init: str | ArrayLike = "auto"
    method: str = "auto"
    if TYPE_CHECKING:  # openTSNE's names, which type checkers are to know too
        n_iter: int | None = None
        initialization: str | ArrayLike = "auto"
        negative_gradient_method: str = "auto"

    @property
    def kl_divergence_(self) -> float:
        """The objective at the map."""
        return self.objective_

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that are searched."""
        return max(1, int(3 * positive("perplexity", self.perplexity)))

    def _objective(self) -> Objective:
        attraction = 1.0 if self.exaggeration is None else positive("exaggeration", self.exaggeration)
        dof = positive("dof", self.dof)
        kernel: Any = {} if dof == 1 else {"kernel_y": "student", "dof": dof}
        return Divergence(perplexity=self.perplexity, attraction=attraction, **kernel)

    def _settings(self, n: int) -> Settings:
        objective = self._objective()
        rate: Any = self.learning_rate
        rate = None if isinstance(rate, str) and rate == "auto" else positive("learning_rate", rate)
        early: Any = self.early_exaggeration
        plan = objective.plan(
            solver="auto" if rate is None else "gains",
            learning_rate=None if rate is None else 4 * rate / n,
            exaggeration=None if isinstance(early, str) and early == "auto" else early,
            exaggeration_iter=self.early_exaggeration_iter,
            max_iter=optional(integer, "max_iter", self.max_iter, 0),
        )
        return self._settings_of(
            objective, plan, objective.check_pairs(_PAIRS[choice("method", self.method, _PAIRS)])
        )
