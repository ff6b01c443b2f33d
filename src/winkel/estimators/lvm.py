"""`LVM`, the latent variable model as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from ..errors import DataWarning, InvalidInputError, InvalidParameterError
from ..graph import Graph
from ..graph.precomputed import as_distances, function_distances
from ..methods.lvm.fitting import Settings, fit_latent
from ..methods.lvm.landmarks import ByMatrix, ByPaths, ByRows, Nearest
from ..methods.lvm.placement import Among, Places, place
from ..resources import parse_memory, resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .base import GraphEmbedder


class LVM(GraphEmbedder):
    """A map with a variance for every row, by the latent variable model of Saul (2020).

    Each row has a mean, its place on the map, and a variance: how far it may lie from there. Neighbours should
    coincide within their distance, all others should not. EM needs no learning rate.

    Parameters
    ----------
    n_components : dimension of the map; far more than 3 is fine, time grows linearly with it.
    n_neighbors, metric : the neighbour graph, as in `winkel.graph.knn`; metric="precomputed" takes distances, a
        function takes any items. X may also be a `winkel.Graph`.
    n_steps : a neighbour is kept when it leads back in at most so many steps; 1 for pictures, 2 or 3 for more
        dimensions.
    levels : rounds of coarse-graining of the dissimilar pairs: 0 for all pairs (thousands of rows), 1 up to about
        100 000, 2 beyond; "auto" by the number of rows.
    tied_variance : one variance for all rows, which makes worse maps.
    momentum : part of the last step added to the next; 0 makes the likelihood rise at every iteration.
    max_iter : iterations.
    init : "spectral", "random", or an array of positions.
    components : "place" gives rows outside the largest component of the neighbour graph a place too, and warns;
        "error" refuses them.
    keep_frames : how many iterates to keep on the way, in `embedding_.frames`.

    Attributes
    ----------
    variance_ : variance of each row, in squared units of the data.
    outlier_score_ : log10 of the variance, less the median of those; a row with a large one fits its
        neighbourhood badly.
    log_likelihood_ : one value an iteration, the start first.
    component_ : the component of the neighbour graph of each row, 0 for the largest.
    n_levels_, n_similar_, n_dissimilar_ : levels of coarse-graining, and the ordered pairs that were modelled.
    embedding_ : the Embedding; also `graph_`, `objective_` (minus the likelihood), `history_`, `status_`, `n_iter_`.

    The same `random_state` gives the same bytes for any `n_jobs`. `transform` places each new row by itself, by EM
    with the fitted rows held, and gives a row that equals a fitted one that row's place and variance.
    """

    component_: NDArray[np.int32]
    _rows: Any  # the fitted rows, or None where the map was made from something else
    _places: Any  # what new rows meet: Places, taken apart
    _fitted = ("n_features_in_", "feature_names_in_", "component_", "_rows", "_places")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 9,
        n_steps: int = 1,
        levels: int | str = "auto",
        tied_variance: bool = False,
        momentum: float = 0.9,
        max_iter: int = 400,
        metric: Metric = "euclidean",
        init: str | ArrayLike = "spectral",
        components: str = "place",
        keep_frames: int = 0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.levels = levels
        self.tied_variance = tied_variance
        self.momentum = momentum
        self.max_iter = max_iter
        self.metric = metric
        self.init = init
        self.components = components
        self.keep_frames = keep_frames
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> LVM:
        """Find means and variances of the rows of X; y is ignored."""
        seed, limit = resolve_seed(self.random_state), parse_memory(self.max_memory)
        self._check_components()
        data, metric = self._items(X), self.metric
        if callable(metric) and not isinstance(data, Graph):
            # All distances once: landmarks need more of them than the neighbour lists hold.
            data, metric = function_distances(data, metric, limit, _quietly), "precomputed"
        graph = self._neighbor_graph(data, metric, seed)
        self.component_ = self._components(graph)
        fit = fit_latent(
            graph,
            self._nearest(data, metric, graph),
            Settings(
                self.n_components,
                self.n_steps,
                self.levels,
                self.tied_variance,
                self.momentum,
                self.max_iter,
                self.keep_frames,
            ),
            init=self.init,
            single=_is_single(data),
            seed=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            callbacks=self.callbacks or (),
            max_memory=limit,
        )
        self._rows = data if self._has_rows(X) else None
        self._places = Places.of(fit.model, fit.near).to_arrays()
        self.embedding_ = fit.embedding
        self._say_faithfulness(data)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        return self.place(X)[0]

    def place(self, X: Any) -> tuple[FloatArray, NDArray[np.float64]]:
        """Positions and variances of new rows among the fitted ones, which stay where they are."""
        check_is_fitted(self, "embedding_")
        if self._rows is None:
            raise InvalidInputError(
                "This map was made from a graph, from precomputed distances or by a function, so there are no rows to "
                "compare new ones with. Fit on rows."
            )
        among = Among(
            self._rows, self.graph_, str(self.metric), self.n_steps, self.embedding_.Y, self.variance_
        )
        places = Places.from_arrays(self._places)
        return place(self._read_new(X), among, places, self.n_jobs, resolve_n_jobs(self.n_jobs))

    @property
    def variance_(self) -> NDArray[np.float64]:
        """Variance of each row."""
        return self._result.blocks["variance"]

    @property
    def outlier_score_(self) -> NDArray[np.float64]:
        """log10 of each variance, less the median of those."""
        score = np.log10(self.variance_)
        return np.asarray(score - np.median(score))

    @property
    def log_likelihood_(self) -> NDArray[np.float64]:
        """The log-likelihood at the start and after every iteration."""
        return -self._result.history.objective

    @property
    def n_levels_(self) -> int:
        """Levels of coarse-graining."""
        return int(self._result.settings["levels"])

    @property
    def n_similar_(self) -> int:
        """Ordered similar pairs: arcs of the neighbourhood graph, and ties to landmarks."""
        return int(self._result.settings["n_similar"])

    @property
    def n_dissimilar_(self) -> int:
        """Ordered dissimilar pairs."""
        return int(self._result.settings["n_dissimilar"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric in ("euclidean", "l2", "cosine")
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _check_components(self) -> None:
        if self.components not in ("place", "error"):
            raise InvalidParameterError(
                f"components must be one of 'place', 'error'; got {self.components!r}."
            )

    def _components(self, graph: Graph) -> NDArray[np.int32]:
        """The component of each item; says so when there are several."""
        count, labels = graph.components()
        if count > 1:
            outside = int((labels > 0).sum())
            what = f"The neighbour graph has {count} components; {outside} of {graph.n} items are outside the largest"
            if self.components == "error":
                raise InvalidInputError(f'{what}. Raise n_neighbors, drop them, or give components="place".')
            warnings.warn(
                f"{what}. They are placed too, but how far the components lie from one another means little "
                "(component_ tells them apart). A larger n_neighbors may join them.",
                DataWarning,
                stacklevel=3,
            )
        return labels

    def _nearest(self, data: Any, metric: Metric, graph: Graph) -> Nearest:
        """How landmarks are found: paths where only some distances are known."""
        if metric != "precomputed" and not isinstance(data, Graph):
            return ByRows(data, str(metric), self.n_jobs)
        if isinstance(data, tuple | Graph) or issparse(data):
            return ByPaths(graph)
        return ByMatrix(as_distances(data))


def _is_single(data: Any) -> bool:
    """Whether rows, or the distances of neighbour lists made from rows, are in single precision."""
    source = data.knn_distances if isinstance(data, Graph) else data
    return getattr(source, "dtype", None) == np.float32


def _quietly(steps: Any, what: str) -> Any:
    return steps
