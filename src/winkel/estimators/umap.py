"""`UMAP` under the parameter names of umap-learn."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from ..checks import integer, number, optional
from ..data.table import labelled
from ..methods.forces.fit import Settings
from ..methods.forces.objectives.base import Objective
from ..methods.forces.objectives.umap import UMAP as CrossEntropy
from ..typing import Metric
from .forces import ForceEmbedder, as_known_from
from .registry import estimator

_CLASSES = (
    "labels of fit(X, y) are classes; wk.MDE(label_weight=...).fit(X, y) draws rows together by numbers, too."
)
_SEARCH = "winkel.graph.knn chooses the search; pass its graph as X to search otherwise."
_DENSITY = "wk.MDE(density=...) keeps local densities."


@as_known_from(
    "umap-learn",
    {"n_epochs": "max_iter"},
    {
        "learning_rate": ((1.0,), "the solver chooses its steps."),
        "set_op_mix_ratio": ((1.0,), "memberships are joined by fuzzy union."),
        "local_connectivity": ((1.0, 1), "each row is connected to one nearest neighbour."),
        "a": ((None,), "set min_dist and spread, which determine a and b."),
        "b": ((None,), "set min_dist and spread, which determine a and b."),
        "metric_kwds": ((None,), 'write parameters of a metric into its name, as "minkowski(3)", or pass a function.'),
        "output_metric": (("euclidean",), "the map is flat; wk.Problem has constraints of other kinds."),
        "output_metric_kwds": ((None,), "the map is flat."),
        "low_memory": ((True, False), "max_memory caps the memory."),
        "transform_queue_size": ((4.0,), "new rows are placed exactly."),
        "transform_seed": ((42,), "placing a new row draws no random numbers."),
        "transform_mode": (("embedding",), "fit(X).graph_ is the neighbour graph."),
        "angular_rp_forest": ((False,), _SEARCH),
        "force_approximation_algorithm": ((False,), _SEARCH),
        "precomputed_knn": (((None, None, None), None), "pass a graph of winkel.graph.knn or Graph.from_knn as X."),
        "disconnection_distance": ((None,), "remove edges from a graph of winkel.graph.knn and pass it as X."),
        "unique": ((False,), "equal rows are not merged; wk.MDE gives them one place."),
        "tqdm_kwds": ((None,), "verbose shows progress."),
        "target_n_neighbors": ((-1,), _CLASSES),
        "target_metric": (("categorical",), _CLASSES),
        "target_metric_kwds": ((None,), _CLASSES),
        "densmap": ((False,), _DENSITY),
        "dens_lambda": ((2.0,), _DENSITY),
        "dens_frac": ((0.3,), _DENSITY),
        "dens_var_shift": ((0.1,), _DENSITY),
        "output_dens": ((False,), 'the score "density_correlation" of winkel.measure compares densities.'),
    },
)  # fmt: skip
@estimator("umap", "UMAP's loss over all pairs")
class UMAP(ForceEmbedder):
    """A map by UMAP's loss, with the parameter names of umap-learn.

    This is `winkel.AttractRepel(objective=winkel.objectives.UMAP(...))` under familiar names, so that only the import line has to
    change. Sums that umap-learn samples are taken over all pairs, and the same seed gives the same bytes for any
    number of threads. `n_epochs` is understood as `max_iter`. A parameter that has no counterpart here is refused with a reason, unless it
    has its default value in umap-learn. `transform` places each new row on its own; a row that equals a fitted row gets that row's
    place. `fit(X, y)` with classes draws each class together as umap-learn does, as strongly as `target_weight` says; the score
    "label_excess" of `winkel.measure` says how much of the separation then comes from the labels.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours that attract each row.
    n_components : int, default=2
        Dimension of the map.
    metric : str or callable, default="euclidean"
        The metric for finding neighbours, as in `winkel.graph.knn`; "precomputed" takes X as a matrix of distances.
    min_dist : float, default=0.1
        Distance up to which points on the map count as close.
    spread : float, default=1.0
        Distance over which closeness fades.
    max_iter : int or None, default=None
        Number of iterations; None chooses it by the solver.
    init : {"auto", "pca", "spectral", "random"} or array, default="auto"
        The start. "auto" is the graph's spectral embedding.
    negative_sample_rate : float, default=5.0
        In umap-learn, the number of repelling pairs drawn per attracting pair; here, the strength of the repulsion between all pairs.
    repulsion_strength : float, default=1.0
        Factor by which the repulsion is multiplied.
    target_weight : float, default=0.5
        How much labels count relative to the data, from 0 to 1, if `fit` is given labels.

    Attributes
    ----------
    graph_ : Graph
        The neighbour graph.

    See Also
    --------
    AttractRepel : All objectives, with all their parameters.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> wk.UMAP(n_neighbors=10, n_epochs=60, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    n_neighbors: int = 15
    n_components: int = 2
    _: KW_ONLY
    metric: Metric = "euclidean"
    min_dist: float = 0.1
    spread: float = 1.0
    max_iter: int | None = None
    init: str | ArrayLike = "auto"
    negative_sample_rate: float = 5.0
    repulsion_strength: float = 1.0
    target_weight: float = 0.5

    uses_labels: ClassVar[bool] = True
    if TYPE_CHECKING:  # umap-learn's name, which type checkers are to know too
        n_epochs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the map of the rows of X.

        Parameters
        ----------
        X : array, data frame, sparse matrix, AnnData, Graph, distances or items
            What to map. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
        y : array of shape (n_samples,), str or None, default=None
            The class of each row (−1, None, NaN or "" if unknown), or the name of a column: of an AnnData object's `obs`, of a
            data frame (the column is then not a feature), or one that a table keeps. Rows of different classes attract each other less.

        Returns
        -------
        UMAP
            This estimator, fitted.
        """
        X, y = labelled(X, y, "y")
        return self._fit(X, y, number("target_weight", self.target_weight, 0.0, 1.0))

    def _objective(self) -> Objective:
        rate = number("negative_sample_rate", self.negative_sample_rate, 0.0, low_open=True)
        strength = number("repulsion_strength", self.repulsion_strength, 0.0, low_open=True)
        return CrossEntropy(
            n_neighbors=self.n_neighbors,
            min_dist=self.min_dist,
            spread=self.spread,
            negative_sample_rate=rate * strength,
        )

    def _settings(self, n: int) -> Settings:
        objective: Any = self._objective()
        plan = objective.plan(max_iter=optional(integer, "max_iter", self.max_iter, 0))
        return self._settings_of(objective, plan, "auto")
