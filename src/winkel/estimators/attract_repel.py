"""`AttractRepel`: PCA, LLE, t-SNE and UMAP by attractions and repulsions, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from numpy.typing import ArrayLike

from ..checks import choice, integer
from ..methods.forces.fit import INITS, Settings
from ..methods.forces.objectives.base import Objective, as_objective
from ..typing import Metric
from .forces import ForceEmbedder
from .registry import estimator


@estimator("attract-repel", "attraction and repulsion with two kernels")
class AttractRepel(ForceEmbedder):
    """A map by attractions and repulsions between all pairs of rows (Draganov and Dohn 2023).

    PCA, LLE, t-SNE and UMAP are losses over pairs, with one kernel on the data and one on the map. The parameters of each objective are
    in `winkel.objectives`; the parameters here are those that all objectives share. A parameter that the objective does not use is
    refused.

    X may also be a neighbour graph of `winkel.graph.knn`, if the objective needs no rows. `transform` places each new row
    on its own, where the forces of the fitted rows on it balance; a row that equals a fitted row gets that row's place (among equal
    fitted rows, that of the first).

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    objective : str or object of `winkel.objectives`, default="lle"
        "lle" (locally linear embedding with a kernel on the map too), "tsne", "umap", "two_kernel_pca" and "pca" stand for
        `LLE`, `TSNE`, `UMAP`, `TwoKernelPCA` and `PCA` with their defaults.
    pairs : {"auto", "exact", "field", "sampled"}, default="auto"
        How the sum over all pairs is computed: "exact", by a "field" in two and three dimensions, or "sampled". "auto" is exact up to
        2 000 rows and a field beyond; for a kernel without a field, it is exact up to 20 000 rows and sampled beyond.
    metric : str or callable, default="euclidean"
        The metric for finding neighbours, as in `winkel.graph.knn`; "precomputed" takes X as a matrix of distances.
    init : {"auto", "pca", "spectral", "random"} or array, default="auto"
        The start. "auto" is random for "pca" and for given similarities, the graph's spectral embedding for "umap" and for data without
        rows, and otherwise the principal components.
    solver : {"auto", "lbfgs", "gains", "adam", "momentum"}, default="auto"
        "lbfgs" makes quasi-Newton steps, in stages of decreasing exaggeration. The others make many small steps, as the
        methods' authors did: "gains" (t-SNE's, also for "lle") is momentum with a gain for every coordinate; "adam" is for
        "umap" and "two_kernel_pca". "auto" is "lbfgs" or, if pairs are sampled, the small-step solver that suits the
        objective. "pca" has its own solver.
    learning_rate : float or None, default=None
        Size of small steps; None chooses it by objective and solver. L-BFGS has none.
    exaggeration : float or None, default=None
        Factor by which attractions are stronger at first; None chooses it by the objective.
    exaggeration_iter : int or None, default=None
        Number of iterations with exaggeration; None chooses it by the objective, as a share of `max_iter`.
    max_iter : int or None, default=None
        Number of iterations. None chooses it by objective and solver: 180 for "tsne", 200 for "lle" and "umap", 300 for
        "two_kernel_pca" and 500 for "pca"; with small steps 750, 500, 300 and 300.
    tol : float or None, default=None
        Size of the forces at which the fit ends. None is 1e-6 of the similarities for "pca"; for others it is 0, which makes all
        iterations.

    Attributes
    ----------
    graph_ : Graph
        The neighbour graph, if the objective needs one.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> lle = wk.AttractRepel(max_iter=50, random_state=0).fit(digits.X[:200])
    >>> lle.embedding_.shape
    (200, 2)
    >>> tsne = wk.objectives.TSNE(perplexity=10)
    >>> wk.AttractRepel(objective=tsne, max_iter=50, random_state=0).fit(digits.X[:200]).transform(digits.X[200:203]).shape
    (3, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    objective: str | Objective = "lle"
    pairs: str = "auto"
    metric: Metric = "euclidean"
    init: str | ArrayLike = "auto"
    solver: str = "auto"
    learning_rate: float | None = None
    exaggeration: float | None = None
    exaggeration_iter: int | None = None
    max_iter: int | None = None
    tol: float | None = None

    _named_objects: ClassVar[dict[str, str]] = {"objective": "objectives"}

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that the objective uses, if it has one; otherwise 15."""
        return int(getattr(as_objective(self.objective), "n_neighbors", 15))

    @property
    def _takes_similarities(self) -> bool:
        return isinstance(self.objective, Objective) and self.objective.kernel_x == "precomputed"

    def _objective(self) -> Objective:
        return as_objective(self.objective)

    def _settings(self, n: int) -> Settings:
        objective = self._objective()
        if isinstance(self.init, str):
            choice("init", self.init, INITS, also="an array")
        plan = objective.plan(
            solver=self.solver,
            learning_rate=self.learning_rate,
            exaggeration=self.exaggeration,
            exaggeration_iter=self.exaggeration_iter,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return Settings(
            n_components=integer("n_components", self.n_components, 1),
            objective=objective,
            plan=plan,
            pairs=objective.check_pairs(self.pairs),
            metric=self.metric,
            init=self.init,
        )
