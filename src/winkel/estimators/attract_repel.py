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

    PCA, LLE, t-SNE and UMAP are losses over pairs with a kernel on the data and one on the map. What is particular to each
    of them stands in `winkel.objectives`; here stands what they share. A parameter that the objective has no use for is
    refused.

    X may also be a neighbour graph of `winkel.graph.knn`, where the objective needs no rows. `transform` places each new row
    by itself where the forces of the fitted rows on it balance, by the kernels of the fit, and gives a row that equals a
    fitted one that row's place (of equal fitted rows that of the first).

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    objective : str or object of `winkel.objectives`, default="lle"
        "lle" (locally linear embedding with a kernel on the map too), "tsne", "umap", "two_kernel_pca" or "pca" stand for
        the defaults of `LLE`, `TSNE`, `UMAP`, `TwoKernelPCA` and `PCA`.
    pairs : {"auto", "exact", "field", "sampled"}, default="auto"
        How all pairs are summed: "exact", by a "field" in two and three dimensions, or "sampled". "auto" is exact up to
        2 000 rows, and then a field; where the kernel has no field, exact up to 20 000 rows, and then sampled.
    metric : str or callable, default="euclidean"
        By which neighbours are found, as in `winkel.graph.knn`; "precomputed" takes X as a matrix of distances.
    init : {"auto", "pca", "spectral", "random"} or array, default="auto"
        The start. "auto" is random for "pca" and for given similarities, the graph's spectral embedding for "umap" and where
        there are no rows, and else the principal components.
    solver : {"auto", "lbfgs", "gains", "adam", "momentum"}, default="auto"
        "lbfgs" makes quasi-Newton steps, in stages of less and less exaggeration. The others make many small steps, as the
        methods' authors did: "gains" (t-SNE's, also for "lle") is momentum with a gain for every coordinate, "adam" is for
        "umap" and "two_kernel_pca". "auto" is "lbfgs", and where pairs are sampled that of the others which suits the
        objective; "pca" has a solver of its own.
    learning_rate : float or None, default=None
        Size of small steps; None is what suits the objective and solver. L-BFGS has none.
    exaggeration : float or None, default=None
        How many times as strong attractions are at first; None is what suits the objective.
    exaggeration_iter : int or None, default=None
        For how many iterations; None is what suits the objective: a share of `max_iter`.
    max_iter : int or None, default=None
        Number of iterations; None is what suits objective and solver: 180 for "tsne", 200 for "lle" and "umap", 300 for
        "two_kernel_pca" and 500 for "pca"; with small steps 750, 500, 300 and 300.
    tol : float or None, default=None
        Size of the forces at which the fit ends; None is 1e-6 of the similarities for "pca", and 0, which makes all
        iterations, for others.

    Attributes
    ----------
    graph_ : Graph
        The neighbour graph, where the objective needs one.

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
        """Neighbours that the objective looks at, where it says so."""
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
