"""What every estimator shares: its parameters of a run, its results, its features, saving and loading."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..data import Table, as_table
from ..data.archive import Archive, write_archive
from ..data.serialize import Packer, unpack
from ..data.table import looks_like_distances
from ..embedding import Embedding, History, Status, from_arrays, to_arrays
from ..errors import DataWarning, InvalidInputError, InvalidParameterError, ModelFileError
from ..graph import Graph
from ..graph.metrics import metric_name
from ..measures.faithfulness import Faithfulness, measure
from ..run import CHECKPOINT_SECONDS, Run, telling_of_memory
from ..solvers.base import digest
from ..typing import FloatArray, Metric, RandomState
from . import magnitudes, registry
from .decoding import Decoder, new_row_factor
from .portable import from_portable, to_portable
from .schema import Part, check_number, check_parts

KIND = "estimator"
_SUMMARY_ROWS = 500  # measured for the line that `verbose` shows
# Metrics whose distances have the unit of the data, and those that take the data in a unit of their own (radians, shares).
_LENGTHS = (
    "euclidean",
    "l2",
    "manhattan",
    "l1",
    "cityblock",
    "chebyshev",
    "linf",
    "minkowski",
    "precomputed",
)
_OWN_UNITS = ("haversine", "hellinger")
_LARGEST_EXPONENT = 1100
_UNFINISHED = (
    "interrupted",
    "failed",
    "time_limit",
)  # states of a fit after which its checkpoint is kept, to continue from


@dataclass(eq=False, repr=False, kw_only=True)
class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` sets `result_`, an Embedding; everything else is read from there.

    A subclass is decorated with `winkel.estimators.estimator`; its annotated fields are its parameters.
    """

    random_state: RandomState = None
    n_jobs: int | None = None
    max_memory: int | float | str | None = None
    verbose: bool | int = False
    callbacks: Sequence[object] | None = None
    time_limit: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    keep_frames: int = 0

    accepts_table: ClassVar[bool] = True  # `fit` takes a Table, and does not validate it again
    uses_labels: ClassVar[bool] = False  # whether the y of `fit` has a part in the map
    # Parameters that name an object with parameters of its own, and the kind under which its class is registered.
    _named_objects: ClassVar[dict[str, str]] = {}
    # The attributes that a model file keeps in addition to parameters and the result.
    _fitted: ClassVar[tuple[str, ...]] = ()
    _schema: ClassVar[Mapping[str, Part]] = {}  # what those, and the blocks of the result, must be
    _checkpoint_every: ClassVar[float] = CHECKPOINT_SECONDS  # the command line sets it for one fit
    _SHARED_PARAMETERS: ClassVar[dict[str, str]] = {
        "random_state": """\
random_state : int, numpy Generator or None, default=None
    The seed. The same seed gives the same bytes for any `n_jobs`. None draws a new seed, which is kept in `result_.seed`.""",
        "n_jobs": """\
n_jobs : int or None, default=None
    Number of threads; None or -1 uses all cores available to this process.""",
        "max_memory": """\
max_memory : int, str or None, default=None
    Largest amount of memory to use, in bytes or as text such as "4GB". Work that is forecast to need more is refused before it starts.""",
        "verbose": """\
verbose : bool, default=False
    Whether to show progress and, at the end, a line on how faithful the map is.""",
        "callbacks": """\
callbacks : list of callables or None, default=None
    Each is called after every iteration with an `IterationInfo`; it can stop the fit by returning True.""",
        "time_limit": """\
time_limit : float or None, default=None
    Seconds after which the fit stops and returns the best map so far.""",
        "checkpoint": """\
checkpoint : path or None, default=None
    A file that keeps the state of an unfinished fit. The next fit with the same data and parameters continues from it and ends with
    the same bytes. The file is removed when the fit is complete.""",
        "keep_frames": """\
keep_frames : int, default=0
    How many intermediate maps to keep in `result_.frames`, for `winkel.animate`.""",
    }
    _SHARED_ATTRIBUTES: ClassVar[dict[str, str]] = {
        "embedding_": """\
embedding_ : ndarray of shape (n_samples, n_components)
    The map.""",
        "result_": """\
result_ : Embedding
    The map with its objective, history, status, seed, settings, graph and frames.""",
        "n_features_in_": """\
n_features_in_ : int
    Number of columns seen by `fit`.""",
    }

    @property
    def embedding_(self) -> FloatArray:
        """The map, one row for each row of the data; read-only."""
        return self._result.Y

    @property
    def graph_(self) -> Graph:
        """The neighbour graph that was embedded."""
        return self._result.graph

    @property
    def n_iter_(self) -> int:
        """Number of iterations made."""
        return self._result.history.n_rows - 1

    @property
    def objective_(self) -> float:
        """The objective at the map."""
        return self._result.objective

    @property
    def history_(self) -> History:
        """Objective, residual and seconds of each iteration."""
        return self._result.history

    @property
    def status_(self) -> Status:
        """How the fit ended: a word and a sentence."""
        return self._result.status

    @property
    def _result(self) -> Embedding:
        check_is_fitted(self, "result_")
        result: Embedding = self.result_
        return result

    @property
    def _n_features_out(self) -> int:
        return int(self._result.Y.shape[1])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit to X and return the map of its rows."""
        return np.array(self.fit(X, y, **fit_params).embedding_)

    def fitted_rows(self) -> Table | None:
        """The rows of the data, in the order of the map, if the estimator keeps them; otherwise None."""
        rows = getattr(self, "_rows", None)
        return None if rows is None else Table(rows, validated=True)

    def faithfulness(
        self,
        X: Any,
        *,
        scores: Sequence[str | Callable[[Any], Any]] | None = None,
        labels: ArrayLike | None = None,
        n_neighbors: int | None = None,
        sample: str | int | None = "auto",
        random_state: RandomState = 0,
    ) -> Faithfulness:
        """How faithful the map is to X, the data that it was fitted to: `winkel.measure` with this estimator's metric.

        `n_neighbors` defaults to 15, or to fewer if there are too few rows.
        """
        Y = self._result.Y
        k = min(15, max(1, (len(Y) - 1) // 2)) if n_neighbors is None else n_neighbors
        return measure(
            X,
            Y,
            scores=scores,
            labels=labels,
            n_neighbors=k,
            metric=getattr(self, "metric", "euclidean"),
            sample=sample,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters and the fitted state to one file, without pickle; `winkel.load` opens it."""
        result = self._result
        packer = Packer()
        parameters = {}
        for name, given in self.get_params(deep=False).items():
            value = to_portable(given)
            if isinstance(value, np.random.Generator | np.random.RandomState):
                value = result.seed  # what it gave, so that the fit can be repeated
            if name == "checkpoint" and value is not None:
                value = os.fspath(value)
            if callable(value) or (name == "callbacks" and value):
                raise InvalidParameterError(
                    f"{name}={value!r} cannot be saved, because a model file contains no code. "
                    f"Save a copy with set_params({name}=...) that names something built in."
                )
            parameters[name] = packer.pack(value, f"parameter {name}")
        meta: dict[str, Any] = {"class": type(self).__name__, "winkel": __version__, "parameters": parameters}
        fitted = {name: getattr(self, name) for name in self._kept_names() if hasattr(self, name)}
        if "feature_names_in_" in fitted:  # an array of objects, which no file holds
            fitted["feature_names_in_"] = [str(name) for name in fitted["feature_names_in_"]]
        meta["fitted"] = {name: packer.pack(to_portable(value), name) for name, value in fitted.items()}
        inner_meta, inner = to_arrays(result)
        meta["result"] = {"meta": inner_meta, "arrays": packer.pack(inner, "result")}
        write_archive(path, KIND, meta, packer.arrays)

    def _check_loaded(self) -> None:
        """Raise ModelFileError if the loaded parts cannot be a fit of this class."""
        what, Y, schema = type(self).__name__, self._result.Y, self._schema
        lengths = {"n": Y.shape[0], "d": Y.shape[1]}
        if hasattr(self, "n_features_in_"):
            check_number("n_features_in_", self.n_features_in_, what)
            lengths["m"] = int(self.n_features_in_)
        exponent = getattr(self, "_exponent", 0)
        if not isinstance(exponent, int) or abs(exponent) > _LARGEST_EXPONENT:
            raise ModelFileError(f"The part '_exponent' of the file cannot be that of a fitted {what}.")
        parts = {**self.__dict__, **self._result.blocks}
        if "m" not in lengths and any("m" in schema[k].shape and parts.get(k) is not None for k in schema):
            raise ModelFileError(f"The file lacks 'n_features_in_', which a fitted {what} has.")
        check_parts(parts, schema, lengths, what)
        graph = self._result.graph
        if graph is not None and graph.n != len(Y):
            raise ModelFileError(f"The graph in the file has {graph.n} items, but the map has {len(Y)} rows.")

    @classmethod
    def _kept_names(cls) -> tuple[str, ...]:
        return ("n_features_in_", "feature_names_in_", "_exponent", *cls._fitted)

    # ---------------------------------------------------------------------------------------------- units

    def _powers(self) -> magnitudes.Powers:
        """For parts of a fit, their power of the data's unit: Y, the graph, blocks, settings, kept attributes."""
        return {}

    def _in_unit_of_data(self) -> str | None:
        """The parameter, in words, that is in the unit of the data, so that the data cannot be scaled to order one; None if there is none."""
        given = not isinstance(getattr(self, "init", ""), str)
        return "init" if given and self._powers().get("Y", 0) else None

    def _at_order_one(self) -> Self:
        """This estimator in the scale of the fit, of order one, in which new rows are compared with it."""
        if not getattr(self, "_exponent", 0):
            return self
        other = copy.copy(self)
        other._multiply_fitted(-self._exponent)
        return other

    def _multiply_fitted(self, exponent: int) -> None:
        """Multiply every fitted part by its power of 2**exponent."""
        powers = self._powers()
        for name in powers.keys() & self.__dict__.keys():
            setattr(self, name, magnitudes.divided(getattr(self, name), -exponent * powers[name]))
        self.result_ = magnitudes.multiplied(self._result, exponent, powers)

    def _in_unit(self, found: Any, part: str = "Y") -> Any:
        """Places, or another part, found at order one, converted to the unit of the data."""
        return magnitudes.divided(found, -getattr(self, "_exponent", 0) * self._powers().get(part, 0))

    def _run(self) -> Run:
        """The Run for the parameters."""
        return Run.of(
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            max_memory=self.max_memory,
            verbose=self.verbose,
            callbacks=self.callbacks,
            time_limit=self.time_limit,
            checkpoint=self.checkpoint,
            checkpoint_every=self._checkpoint_every,
            keep_frames=self.keep_frames,
        )

    def _placing_run(self) -> Run:
        """The Run of a `transform`: with the seed of the fit, without progress or callbacks."""
        return Run.of(random_state=self._result.seed or 0, n_jobs=self.n_jobs, max_memory=self.max_memory)

    @property
    def _leaner(self) -> str:
        """A sentence that says how to use less memory."""
        return "Use fewer rows, or raise max_memory."

    def _forecast(self, data: Any) -> float:
        """Forecast of the largest number of bytes that a fit to `data` takes in addition to the data; 0 if unknown."""
        return 0.0

    @contextmanager
    def _working(self, data: Any) -> Iterator[Run]:
        """The Run of a fit to `data`. Afterwards the map is checked and converted to the unit of the data, and checkpoints of a finished fit are removed."""
        run = self._run()
        if run.max_memory is not None:
            run.check_memory(self._forecast(data), type(self).__name__, self._leaner)
        if run.checkpoint is not None:
            run = replace(run, fingerprint=self._fingerprint(data))
        advice = "Use fewer rows or dimensions, or a machine with more; max_memory refuses such work before it begins."
        with telling_of_memory(type(self).__name__, advice):
            yield run
        self.result_ = magnitudes.judged(self.result_, data, bool(self._powers().get("Y", 0)))
        if self.verbose:
            self._show_faithfulness(data)
        if getattr(self, "_exponent", 0):
            self._multiply_fitted(self._exponent)
        if self.status_.word not in _UNFINISHED:
            run.remove_checkpoints()

    def _fingerprint(self, data: Any) -> dict[str, object]:
        """What distinguishes this fit from others: the class, its parameters and the data."""
        ignored = {"callbacks", "verbose", "n_jobs", "max_memory", "time_limit", "checkpoint", "keep_frames"}
        ignored.add("max_iter")  # a resumed fit may be longer than the first
        given = {k: repr(v) for k, v in self.get_params(deep=False).items() if k not in ignored}
        return {"class": type(self).__name__, "parameters": given, "data": _data_digest(data)}

    def _show_faithfulness(self, data: Any) -> None:
        """One line on standard error says how faithful the map is, on a sample of rows."""
        metric = getattr(self, "metric", "euclidean")
        rows = data.values if isinstance(data, Table) else data
        # Rows or a matrix of distances: neighbour lists hold too little, and a function would be called too often.
        usable = isinstance(rows, np.ndarray) or (hasattr(rows, "toarray") and metric != "precomputed")
        if callable(metric) or not usable or len(self._result.Y) < 5:
            return
        report = self.faithfulness(data, sample=min(_SUMMARY_ROWS, len(self._result.Y)))
        print(f"{type(self).__name__}: {report.summary}", file=sys.stderr, flush=True)

    def _read(self, X: Any, *, allow_sparse: bool = True, min_rows: int = 2) -> Table:
        """Validated X, scaled to order one; sets the features and the unit."""
        table = as_table(X, allow_sparse=allow_sparse, min_rows=min_rows)
        self._exponent: int = magnitudes.unit_exponent(table, owner=self._in_unit_of_data())
        self.n_features_in_ = table.shape[1]
        if table.columns is not None:
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        scaled: Table = magnitudes.divided(table, self._exponent)
        return scaled

    def _read_new(self, X: Any, *, allow_sparse: bool = True) -> Table:
        """Validated new rows with the features of the fitted rows, scaled in the same way."""
        check_is_fitted(self, "result_")
        table = as_table(X, min_rows=1, allow_sparse=allow_sparse)
        if table.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        names = getattr(self, "feature_names_in_", None)
        if names is not None and table.columns is not None and list(table.columns) != list(names):
            k = next(i for i, (new, old) in enumerate(zip(table.columns, names)) if new != old)
            raise InvalidInputError(
                "The feature names should match those that were passed during fit, in the same order; "
                f"column {k} is {table.columns[k]!r}, and was {names[k]!r}."
            )
        exponent = getattr(self, "_exponent", 0)
        scaled: Table = magnitudes.divided(table, exponent)
        if exponent < 0:
            magnitudes.check_beside_fitted(scaled.values, exponent)
        return scaled


@dataclass(eq=False, repr=False, kw_only=True)
class ItemsEmbedder(Embedder):
    """An estimator that takes rows, precomputed distances, items that a function compares, or a neighbour graph."""

    metric: Metric = "euclidean"

    @property
    def accepts_graph(self) -> bool:
        """Whether `fit` takes a neighbour graph."""
        return True

    @property
    def graph_suffices(self) -> bool:
        """Whether a graph with `n_neighbors` gives the same map as the rows that the graph was made from."""
        return self.accepts_graph

    @property
    def _metric_power(self) -> int:
        """The power of the data's unit that distances have."""
        return int(self.metric in _LENGTHS)

    def _in_unit_of_data(self) -> str | None:
        fixed = isinstance(self.metric, str) and self.metric in _OWN_UNITS
        return f"metric={self.metric!r}" if fixed else super()._in_unit_of_data()

    def _has_rows(self, X: Any) -> bool:
        """Whether X is a table of rows, with which new rows can be compared."""
        metric: Any = self.metric
        if not (isinstance(metric, str) or callable(metric)):
            metric_name(metric)  # says what is allowed
        return not (isinstance(X, Graph) or callable(metric) or metric == "precomputed")

    def _items(self, X: Any, *, allow_sparse: bool = True) -> Any:
        """The Table of rows, or the graph, distances or items, which are used as they are."""
        if self._has_rows(X):
            metric_name(str(self.metric))
            table = self._read(X, allow_sparse=allow_sparse)
            if looks_like_distances(table.values):
                warnings.warn(
                    f"X looks like a matrix of distances (square, with an empty diagonal), but its rows are compared "
                    f'by metric={self.metric!r}. Use metric="precomputed" if these are distances, or pass '
                    "winkel.Graph.from_adjacency(X) if they are weights of a graph.",
                    DataWarning,
                    stacklevel=3,
                )
            return table
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        self._exponent = 0
        if getattr(X, "ndim", 0) != 2:
            return X
        self.n_features_in_ = int(X.shape[1])
        if self.metric == "precomputed" and getattr(X, "dtype", None) in (np.float32, np.float64):
            self._exponent = magnitudes.unit_exponent(X, owner=self._in_unit_of_data())
        return magnitudes.divided(X, self._exponent)

    def inverse_transform(self, Y: Any, *, return_error: bool = False) -> Any:
        """The data that places on the map stand for: means of the ten nearest fitted rows, weighted by the inverse square of distance.

        The place of a fitted row gives exactly that row. With `return_error`, the result is a pair: the data, and for each place the
        expected error for a new row there, as the length of the difference. The expected error is estimated by leaving out each of the
        fitted rows around the place, and by how much those rows differ. It is then calibrated: on a map of at most 800 of the rows, which
        is fitted for this purpose, other rows are placed and their true errors compared with the estimate. The expected error is right on
        average over many rows; for a single row it may be off by half. If the fitted rows are sparse, so is the result.
        """
        rows, places = self._rows_and_places()
        self._check_rows(rows)
        wanted = as_table(Y, name="Y", min_rows=1, allow_sparse=False).values
        if wanted.shape[1] != places.shape[1]:
            raise InvalidInputError(
                f"Y has {wanted.shape[1]} columns, but the map has {places.shape[1]} dimensions."
            )
        if len(places) < 2:
            raise InvalidInputError(
                "inverse_transform needs at least two fitted rows with different places; this map has one."
            )
        found, error = Decoder.of(rows, places).decode(wanted)
        return (found, error * new_row_factor(self, rows)) if return_error else found

    def _rows_and_places(self) -> tuple[Any, FloatArray]:
        """Fitted rows, None if there are none, and their places."""
        return getattr(self, "_rows", None), self._result.Y

    def _check_rows(self, rows: Any) -> None:
        """Raise unless there are fitted rows with which new rows can be compared."""
        check_is_fitted(self, "result_")
        if rows is None:
            raise InvalidInputError(
                "This map was made from a graph, from precomputed distances or similarities, by a function or by shards, so there "
                "are no rows to compare new ones with. Fit on rows, on a graph that also contains the new items, or with "
                "winkel.scale.fit_landmarks."
            )


@dataclass(eq=False, repr=False, kw_only=True)
class GraphEmbedder(ItemsEmbedder):
    """An estimator that starts from the neighbour graph of what it takes."""

    n_neighbors: int = 15


def _data_digest(data: Any) -> str:
    values = data.values if isinstance(data, Table) else data
    if isinstance(values, np.ndarray):
        return digest(values)
    if hasattr(values, "indptr"):
        return digest(values.data, values.indices, values.indptr)
    if isinstance(values, Graph):
        return digest(values.edges, values.weights)
    return repr(values)[:1000]


def from_archive(archive: Archive) -> Embedder:
    """The fitted estimator in an archive of kind "estimator"."""
    meta, arrays = archive.meta, archive.arrays
    try:
        try:
            cls = registry.entry(meta["class"]).cls
        except KeyError:
            known = ", ".join(registry.names())
            raise ModelFileError(
                f"The file holds a {meta['class']!r}; this version knows {known}. If it is an estimator of your own, "
                "import the file that defines it first."
            ) from None
        parameters = {
            name: from_portable(unpack(value, arrays)) for name, value in meta["parameters"].items()
        }
        estimator: Embedder = cls(**parameters)
        for name, value in meta["fitted"].items():
            if name not in estimator._kept_names():
                raise ModelFileError(f"The file sets {name!r}, which {meta['class']} does not have.")
            setattr(estimator, name, from_portable(unpack(value, arrays)))
        if "feature_names_in_" in meta["fitted"]:
            estimator.feature_names_in_ = np.array(estimator.feature_names_in_, dtype=object)
        inner = meta["result"]
        estimator.result_ = from_arrays(inner["meta"], unpack(inner["arrays"], arrays))
        estimator._check_loaded()
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"The file does not contain a complete estimator ({error}).") from None
    return estimator
