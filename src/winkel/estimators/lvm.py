"""`LVM`, the latent variable model as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import choice, flag, integer, number, positions
from ..data import Table
from ..errors import ModelFileError
from ..graph import Graph
from ..graph.knn import count_items, usable_neighbors
from ..graph.metrics import takes_sparse
from ..methods.lvm.coarsening import DEEPEST
from ..methods.lvm.fit import COMPONENTS, STARTS, Settings, fit, forecast
from ..methods.lvm.place import FittedItems, Surroundings, place
from ..typing import FloatArray
from .base import GraphEmbedder
from .registry import estimator
from .schema import Part, check_number


@estimator("lvm", "latent variable model: a mean and a variance for each row")
class LVM(GraphEmbedder):
    """A map with a variance for every row, by the latent variable model of Saul (2020).

    Each row has a mean, which is its place on the map, and a variance, which says how uncertain that place is. In the model, neighbours
    coincide within their distance, and all other rows do not. EM needs no learning rate.

    `transform` places each new row on its own, by EM with the fitted rows fixed; a row that equals a fitted row gets that row's
    place and variance.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map. Many more than 3 work well; time grows linearly with the number.
    n_neighbors : int, default=9
        Size of neighbourhoods; larger ones make tighter clusters.
    metric : str or callable, default="euclidean"
        How rows are compared, as in `winkel.graph.knn`; "precomputed" takes distances, and a function takes any items.
    n_steps : int, default=1
        A neighbour is kept if a path along neighbours leads back from it in at most this many steps. Use 1 for pictures, 2 or 3 for more
        dimensions.
    levels : int or "auto", default="auto"
        Rounds of coarse-graining of the dissimilar pairs: 0 uses all pairs (thousands of rows), 1 is for up to about 100 000 rows, 2
        for more; "auto" decides by the number of rows.
    tied_variance : bool, default=False
        Whether all rows share one variance, which makes worse maps.
    momentum : float, default=0.9
        Share of the last step that is added to the next. With 0, the likelihood rises at every iteration.
    m_step_tol : float, default=0.1
        How precisely the linear system of each step of the means (eq 20) is solved: the remaining residual, relative to the
        gradient. The likelihood rises for any value; a smaller value makes steps longer and more expensive.
    max_iter : int, default=400
        Number of iterations; all of them are made.
    init : {"spectral", "random"} or array of shape (n_samples, n_components), default="spectral"
        Where the means start.
    components : {"place", "error"}, default="place"
        What to do with rows outside the largest component of the neighbour graph: "place" places them too, with a warning; "error"
        refuses the data.

    Attributes
    ----------
    variance_ : ndarray of shape (n_samples,)
        Variance of each row, in squared units of the data.
    outlier_score_ : ndarray of shape (n_samples,)
        log10 of the variances, minus their median; a row with a large score fits its neighbourhood badly.
    log_likelihood_ : ndarray of shape (n_iter + 1,)
        The log-likelihood at the start and after every iteration; `objective_` is minus the last one.
    component_ : ndarray of shape (n_samples,)
        For each row, its component of the neighbour graph; 0 is the largest.
    n_levels_ : int
        Levels of coarse-graining.
    n_similar_ : int
        Number of ordered similar pairs: arcs of the neighbourhood graph, and links to landmarks.
    n_dissimilar_ : int
        Number of ordered dissimilar pairs that were modelled.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> lvm = wk.LVM(max_iter=50, random_state=0).fit(digits.X[:400])
    >>> lvm.embedding_.shape, lvm.variance_.shape
    ((400, 2), (400,))
    >>> Y, variance = lvm.place(digits.X[400:405])
    >>> Y.shape, variance.shape
    ((5, 2), (5,))
    """

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = 9
    n_steps: int = 1
    levels: int | str = "auto"
    tied_variance: bool = False
    momentum: float = 0.9
    m_step_tol: float = 0.1
    max_iter: int = 400
    init: str | ArrayLike = "spectral"
    components: str = "place"

    # The fitted rows, or None where the map was made from something else; and Surroundings, taken apart.
    _fitted: ClassVar[tuple[str, ...]] = ("_rows", "_surroundings")
    _schema: ClassVar[dict[str, Part]] = {
        "_rows": Part(("n", "m"), optional=True),
        "variance": Part(("n",), least=0.0),
        "component": Part(("n",), below="n", least=0),
    }

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for name in ("levels", "n_similar", "n_dissimilar"):
            check_number(name, self._result.settings[name], "LVM")
        if self.variance_.dtype != np.float64:
            raise ModelFileError("The variances of the file are not in double precision.")
        if self._rows is not None and (self.graph_ is None or self.graph_.knn_indices is None):
            raise ModelFileError("The file lacks the neighbour lists that a fitted LVM has.")
        Surroundings.from_arrays(self._surroundings).check(len(self.embedding_))

    def _forecast(self, data: Any) -> float:
        return forecast(
            data, self.n_neighbors, self.n_components, self.n_steps, self.metric, self._run().n_jobs
        )

    def fit(self, X: Any, y: Any = None) -> LVM:
        """Find means and variances of the rows of X; y is ignored."""
        data = self._items(X)
        settings = self._settings(data)
        with self._working(data) as run:
            found = fit(data, settings, run)
            self._rows = data.values if self._has_rows(X) else None
            self._surroundings = found.surroundings.to_arrays()
            self.result_ = found.embedding
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        return self.place(X)[0]

    def place(self, X: Any) -> tuple[FloatArray, NDArray[np.float64]]:
        """Positions and variances of new rows among the fitted ones, which stay where they are."""
        self._check_rows(getattr(self, "_rows", None))
        rows, made = self._read_new(X), self._at_order_one()
        fitted = FittedItems(
            Table(made._rows, validated=True),
            made.graph_,
            str(self.metric),
            integer("n_steps", self.n_steps, 1),
            made.embedding_,
            made.variance_,
            Surroundings.from_arrays(made._surroundings),
        )
        Y, variance = place(rows, fitted, self._placing_run())
        return self._in_unit(Y), self._in_unit(variance, "variance")

    def _powers(self) -> dict[str, int]:
        return {"Y": (unit := self._metric_power), "variance": 2 * unit, "graph": unit, "_rows": 1}

    def _multiply_fitted(self, exponent: int) -> None:
        super()._multiply_fitted(exponent)
        unit = float(np.ldexp(self._surroundings["unit"], exponent * self._metric_power))
        self._surroundings = {**self._surroundings, "unit": unit}

    @property
    def variance_(self) -> NDArray[np.float64]:
        """Variance of each row."""
        return self._result.blocks["variance"]

    @property
    def outlier_score_(self) -> NDArray[np.float64]:
        """log10 of the variances, minus their median."""
        score = np.log10(self.variance_)
        return np.asarray(score - np.median(score))

    @property
    def log_likelihood_(self) -> NDArray[np.float64]:
        """The log-likelihood at the start and after every iteration."""
        return -self._result.history.objective

    @property
    def component_(self) -> NDArray[np.int32]:
        """For each row, its component of the neighbour graph; 0 is the largest."""
        return self._result.blocks["component"]

    @property
    def n_levels_(self) -> int:
        """Levels of coarse-graining."""
        return int(self._result.settings["levels"])

    @property
    def n_similar_(self) -> int:
        """Number of ordered similar pairs: arcs of the neighbourhood graph, and links to landmarks."""
        return int(self._result.settings["n_similar"])

    @property
    def n_dissimilar_(self) -> int:
        """Number of ordered dissimilar pairs."""
        return int(self._result.settings["n_dissimilar"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.metric)
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _settings(self, data: Any) -> Settings:
        """The parameters, checked, for data of this size."""
        auto = isinstance(self.levels, str) and self.levels == "auto"
        n_neighbors = integer("n_neighbors", self.n_neighbors, 1)
        return Settings(
            n_components=integer("n_components", self.n_components, 1),
            n_neighbors=n_neighbors
            if isinstance(data, Graph)
            else usable_neighbors(n_neighbors, count_items(data)),
            metric=self.metric,
            n_steps=integer("n_steps", self.n_steps, 1),
            levels=None if auto else integer("levels", self.levels, 0, DEEPEST, also="'auto'"),
            tied_variance=flag("tied_variance", self.tied_variance),
            momentum=number("momentum", self.momentum, 0.0, 1.0, high_open=True),
            m_step_tol=number("m_step_tol", self.m_step_tol, 0.0, 1.0, high_open=True),
            max_iter=integer("max_iter", self.max_iter, 0),
            init=choice("init", self.init, STARTS, also="an array")
            if isinstance(self.init, str)
            else positions("init", self.init, (None, None)),
            components=choice("components", self.components, COMPONENTS),
        )
