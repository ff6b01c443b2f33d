"""`MDE`, minimum-distortion embedding as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..checks import number
from ..data import Table
from ..data.table import labelled
from ..errors import InvalidParameterError, ModelFileError, WinkelError
from ..graph.knn import count_items
from ..graph.metrics import takes_sparse
from ..methods.mde.fit import Model, extend, fit, place
from ..methods.mde.fit import fit_along as fit_models
from ..methods.mde.leanings import Leanings
from ..methods.mde.lengths import MAX_DISTANCES
from ..methods.mde.plan import Settings, check_focus, forecast
from ..problem import Constraint, Problem, Standardized
from ..problem.distortions import Distortion
from ..typing import FloatArray, IntArray, MaybeNone
from .base import GraphEmbedder
from .registry import estimator
from .schema import Part, check_number

# Losses that ask for the same map in any unit; others have a scale of their own, as Huber's threshold is.
_UNIT_FREE = (
    "absolute",
    "quadratic",
    "cubic",
    "power",
    "fractional",
    "weighted_quadratic",
    "weightedquadratic",
)


# Models of fitted estimators, with their preparations for placing rows; kept outside the estimators, so that copies and files stay small.
_MODELS: WeakKeyDictionary[Any, tuple[tuple[Any, str], Model]] = WeakKeyDictionary()


@estimator("mde", "minimum-distortion embedding")
class MDE(GraphEmbedder):
    """A map that shows which rows are neighbours, by minimum-distortion embedding (Agrawal, Ali and Boyd 2021).

    Neighbours attract each other and all other pairs repel. With preserve="distances", the map instead tries to give every pair
    the distance that it has in the data. `docs/mde.md` says when to use which, and how the map is computed.

    X may be rows (dense, or sparse for euclidean and cosine), a `winkel.Graph`, a matrix of distances or neighbour lists
    (metric="precomputed"), or any items with a function as metric. Equal rows share one place and count as one row with the
    sum of their weights. `transform` places each new row on its own; a row that equals a fitted row gets that row's place (if
    several equal fitted rows have different places, the place of the first).

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    preserve : {"neighbors", "distances"}, default="neighbors"
        What the map keeps: which rows are neighbours, or how far apart all rows are.
    n_neighbors : int, default=15
        Number of neighbours that attract each row. With the Cauchy penalty, the strength depends on their distances, and a wider
        neighbourhood of about four times as many rows attracts too.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`; "precomputed" takes distances.
    attractive : str, class or penalty, default="auto"
        The penalty of similar pairs: a name, one of `winkel.penalties`, or an object with `value` and `derivative`. "auto" is
        Log1p(exponent=2) together with the Cauchy penalty, and Log1p(exponent=1.3) with other repulsive penalties.
    repulsive : str, class, penalty or None, default="auto"
        The penalty of dissimilar pairs. "auto" is "cauchy" for a centred map in two or three dimensions with
        attractive="auto", which keeps neighbours as well as t-SNE does, and otherwise "log". With None there are no dissimilar pairs;
        combine it with constraint="standardized".
    repulsive_fraction : float, default=1.0
        How many dissimilar pairs are drawn for each similar pair. If all pairs repel, the strength of their repulsion.
    repulsive_pairs : {"auto", "sampled", "all"}, default="auto"
        Which pairs repel. With "all", every pair repels, without the noise of sampling: in two and three dimensions by a
        field, in others by the exact sum. "auto" is "all" for the Cauchy penalty, otherwise "sampled".
    focus : {"auto", "flat", "shape", "neighbors"} or float, default="auto"
        What to keep when a map cannot keep everything. At 0, "shape", connected data stays in one piece; at 1, "neighbors", each
        row has its nearest rows around it; numbers between are compromises. "flat" keeps the lengths of paths, which unrolls a bent sheet.
        "auto" is "flat" for a surface that can be laid flat in this way, "shape" for other connected data of at most two dimensions,
        and otherwise "neighbors"; `result_.settings["focus_reason"]` gives the reason. Only for the default penalties.
    loss : str or callable, default="absolute"
        For preserve="distances": a name of `winkel.losses`, or a function that makes a distortion from the original distances.
    max_distances : int, default=50000000
        For preserve="distances": the largest number of pairs to use; if there are more, this many are drawn at random.
    constraint : {"centered", "standardized"} or Constraint, default="centered"
        Which maps are allowed.
    anchors : tuple (indices, positions) or None, default=None
        Rows that stay in known places. Equal rows are then not merged.
    init : {"auto", "pca", "spectral", "random"} or array of shape (n_samples, n_components), default="auto"
        Where to start. "pca" starts from principal components, which keep distant parts of the data apart. "spectral" is the spectral
        embedding of the graph; with the Cauchy penalty and at least 1 000 rows, that of groups of neighbours, which are mapped first; with
        preserve="distances", classical scaling. "auto" is "pca" for rows with the Cauchy penalty, otherwise "spectral".
    label_weight : float, default=0.0
        How strongly the labels of `fit(X, y)` draw rows together, from 0 (not at all: y is ignored) to 1 (neighbours of different classes
        do not attract each other). Such a map separates classes more than the data does; the score "label_excess" says by how much.
    density : float, default=0.0
        How much the map shows sparse regions of the data as sparse, from 0 (all regions alike) to 1. The score
        "density_correlation" says how well it does.
    solver : {"auto", "lbfgs", "stochastic"}, default="auto"
        As in `winkel.Problem.solve`. "stochastic" uses a tenth of the pairs at a time; with repulsive_pairs="auto" it samples the
        dissimilar pairs.
    max_iter : int or None, default=None
        Largest number of iterations. None is 350 with the Cauchy penalty over all pairs (down to 150 for more than 20 000 rows), and 300
        otherwise.
    tol : float, default=1e-5
        Residual at which to stop.
    memory_size : int, default=10
        Number of steps that L-BFGS remembers.

    Attributes
    ----------
    graph_ : Graph or None
        The neighbour graph. Each row lists its nearest rows, not counting rows that are equal to it.
    problem_ : Problem
        The problem that was solved, for its diagnostics; not kept in model files, and None if all rows are equal.
    items_ : ndarray
        For each item of `problem_`, the row that it stands for. These are all rows, unless some are equal or have weight zero. Use it as in
        `problem_.distortions(embedding_[items_])`.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> mde = wk.MDE(random_state=0).fit(digits.X[:500])
    >>> mde.embedding_.shape
    (500, 2)
    >>> mde.result_.settings["focus_reason"]
    'focus "neighbors": the data have about 5.1 dimensions, more than a map can show whole.'
    >>> mde.transform(digits.X[500:503]).shape
    (3, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    preserve: str = "neighbors"
    attractive: str | type[Distortion] | Distortion = "auto"
    repulsive: str | type[Distortion] | Distortion | None = "auto"
    repulsive_fraction: float = 1.0
    repulsive_pairs: str = "auto"
    focus: str | float = "auto"
    loss: str | Callable[[FloatArray], Distortion] = "absolute"
    max_distances: int = MAX_DISTANCES
    constraint: str | Constraint = "centered"
    anchors: tuple[ArrayLike, ArrayLike] | None = None
    init: str | ArrayLike = "auto"
    label_weight: float = 0.0
    density: float = 0.0
    solver: str = "auto"
    max_iter: int | None = None
    tol: float = 1e-5
    memory_size: int = 10

    uses_labels: ClassVar[bool] = True
    _fitted: ClassVar[tuple[str, ...]] = ("_rows", "_item_of", "_repulsion")
    _schema: ClassVar[dict[str, Part]] = {
        "_rows": Part(("items", "m"), optional=True),
        "_item_of": Part(("n",), below="items", optional=True),
    }

    def _check_loaded(self) -> None:
        super()._check_loaded()
        check_number("_repulsion", self._repulsion, "MDE")
        made = self._result.settings
        check_number("distance_scale", made.get("distance_scale", 1.0), "MDE", above=0.0)
        try:
            check_focus(made.get("focus", "auto"))
        except WinkelError as error:
            raise ModelFileError(
                f"The part 'focus' of the file cannot be that of a fitted MDE. {error}"
            ) from None
        if self._rows is not None and self._item_of is None and self._rows.shape[0] != len(self.embedding_):
            raise ModelFileError("The numbers of rows and of places in the file differ.")
        items = self._item_of
        if (
            self._rows is not None
            and items is not None
            and len(np.unique(items[items >= 0])) != self._rows.shape[0]
        ):
            raise ModelFileError("The file contains rows without a place.")

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> MDE:
        """Find the map of the rows of X.

        Parameters
        ----------
        X : array, data frame, sparse matrix, AnnData, Graph, distances or items
            What to map; see the class. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
        y : array of shape (n_samples,) or None, default=None
            Labels, used if `label_weight` is above 0. Either classes (text or whole numbers; −1, None or "" if unknown), or floating
            point numbers (NaN if unknown), which draw rows together more the less they differ. May also be the
            name of a column: of an AnnData object's `obs`, of a data frame (the column is then not a feature), or one that a table keeps.
        sample_weight : array of shape (n_samples,) or None, default=None
            How much each row counts. The attraction of two neighbours is multiplied by the square root of the product of their weights;
            with preserve="distances", the loss of a pair is multiplied by the product. A row of weight zero takes no part in the fit
            and is placed afterwards like a new row. A row of weight two counts as two equal rows.

        Returns
        -------
        MDE
            This estimator, fitted.
        """
        settings = Settings.of(self)
        X, y = labelled(X, y, "y")
        if hasattr(X, "fit_map"):
            return self._fit_by_shards(X, settings, y, sample_weight)
        data = self._items(X, allow_sparse=self.preserve == "neighbors")
        with self._working(data) as run:
            leanings = None
            asked = (
                number("label_weight", self.label_weight, 0.0, 1.0),
                number("density", self.density, 0.0, 1.0),
            )
            if any(asked):
                leanings = Leanings.of(self.label_weight, self.density, y, count_items(data), self.preserve)
            self._keep(fit(data, settings, run, sample_weight, leanings))
        return self

    def _fit_by_shards(self, source: Any, settings: Settings, y: Any, sample_weight: Any) -> MDE:
        """The map of a source of rows that may not fit into memory, by the source's `fit_map` (`winkel.scale`)."""
        if sample_weight is not None or (y is not None and self.label_weight) or self.density:
            raise InvalidParameterError(
                "A fit by shards takes no sample_weight, labels or density; leave them out, or fit a sample of the rows in memory."
            )
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_, self._exponent = int(source.shape[1]), 0
        with self._working(source) as run:
            self._keep(Model(settings, source.fit_map(settings, run), None))
        return self

    def _forecast(self, data: Any) -> float:
        if hasattr(data, "fit_map"):  # shards keep to the limit themselves
            return 0.0
        return forecast(data, Settings.of(self), self._run().n_jobs)

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        model = self._model()
        return self._in_unit(place(model, self._read_new(X), self._placing_run()))

    def extend(self, X: Any) -> FloatArray:
        """Positions of new rows, which become fitted rows; they are arranged together while all old rows stay in place.

        In this way a map grows with its data: `embedding_` then contains all rows, the new ones last, and `transform` compares with all of them.
        The objective is the sum over the pairs that contain a new row.
        """
        model, rows = self._model(), self._read_new(X)
        run = replace(self._run(), seed=self._placing_run().seed, checkpoint=None)
        self._keep(extend(model, rows, run))
        if self._exponent:
            self._multiply_fitted(self._exponent)
        return np.array(self.embedding_[-rows.shape[0] :])

    def _rows_and_places(self) -> tuple[Any, FloatArray]:
        rows = getattr(self, "_rows", None)
        return rows, self._result.Y if rows is None else self._result.Y[self.items_]

    def fitted_rows(self) -> Table | None:
        """The rows of the data, in the order of the map; None if the map was not made from rows, or if some rows were not fitted."""
        rows, item_of = super().fitted_rows(), getattr(self, "_item_of", None)
        if rows is None or item_of is None:
            return rows
        return None if (item_of < 0).any() else rows.rows(item_of)

    @property
    def items_(self) -> IntArray:
        """The rows that the items of `problem_` stand for."""
        return self._model().items

    @property
    def accepts_graph(self) -> bool:
        """True for preserve="neighbors". Otherwise the edges of a graph are roads, and distances are lengths of paths along them."""
        return self.preserve == "neighbors"

    @property
    def graph_suffices(self) -> bool:
        """False for the default, which starts from the rows and uses more neighbours than `n_neighbors`."""
        return self.accepts_graph and not Settings.of(self).forces.cauchy

    def _keep(self, model: Model) -> None:
        self.result_, self._item_of, self._repulsion = model.result, model.item_of, model.repulsion
        self._rows = None if model.rows is None else model.rows.values
        self.problem_: Problem | MaybeNone = model.problem

    def _model(self) -> Model:
        """The fitted model, kept with its preparations for placing rows as long as neither map nor parameters change."""
        self._check_rows(getattr(self, "_rows", None))
        key = (self.result_, repr(self.get_params()))
        kept = _MODELS.get(self)
        if kept is not None and kept[0][0] is key[0] and kept[0][1] == key[1]:
            return kept[1]
        made = self._at_order_one()
        rows = Table(made._rows, validated=True)
        model = Model(Settings.of(self), made.result_, rows, self._item_of, self._repulsion)
        _MODELS[self] = (key, model)
        return model

    def _powers(self) -> dict[str, int]:
        in_unit = self.preserve == "distances" and not self._standardized
        return {
            "Y": self._metric_power * int(in_unit),
            "distance_scale": -self._metric_power * int(self._standardized or self.preserve == "neighbors"),
            "graph": self._metric_power,
            "_rows": 1,
        }

    @property
    def _standardized(self) -> bool:
        """Whether the constraint determines the size of the map, independently of the unit of the data."""
        named = isinstance(self.constraint, str) and self.constraint == "standardized"
        return named or isinstance(self.constraint, Standardized)

    def _in_unit_of_data(self) -> str | None:
        if self.preserve != "distances" or self._standardized:
            return super()._in_unit_of_data()
        if self.anchors is not None:
            return "anchors"
        name = self.loss if isinstance(self.loss, str) else getattr(self.loss, "__name__", "")
        return super()._in_unit_of_data() if name.lower() in _UNIT_FREE else "loss"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.preserve == "neighbors" and takes_sparse(self.metric)
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def fit_along(model: MDE, X: Any, places: Sequence[float], **changes: Any) -> list[MDE]:
    """Fitted copies of an estimator, with parameters changed, one for each value of `focus`.

    Neighbours are searched once, and each map but the first starts from the one before it.
    """
    copies = [clone(model).set_params(**changes, focus=place) for place in places]
    data: Any = X
    fits: Iterator[Model] | None = None
    for copy in copies:
        settings = Settings.of(copy)
        data = copy._items(X)
        with copy._working(data) as run:
            if fits is None:
                leanings = Leanings.of(
                    copy.label_weight, copy.density, None, count_items(data), copy.preserve
                )
                fits = fit_models(data, settings, places, replace(run, checkpoint=None), leanings=leanings)
            copy._keep(next(fits))
    return copies
