"""What every estimator shares: its results, its features, saving and loading."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..data import Table, as_table
from ..data.archive import Archive, write_archive
from ..data.packing import Packer, unpack
from ..embedding import Embedding, from_arrays, to_arrays
from ..errors import DataWarning, InvalidInputError, InvalidParameterError, ModelFileError
from ..graph import Graph, knn
from ..graph.metrics import metric_name
from ..measures.trust import Faithfulness, measure
from ..solvers.base import History, Status
from ..typing import FloatArray, Metric, RandomState
from .portable import from_portable, to_portable

KIND = "estimator"
_SUMMARY_ROWS = 500  # measured for the line that `verbose` shows


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` sets `embedding_`, an Embedding; everything else is read from there."""

    embedding_: Embedding
    n_features_in_: int
    feature_names_in_: Any

    # What a model file keeps beside parameters and the embedding.
    _fitted: tuple[str, ...] = ()

    @property
    def graph_(self) -> Graph:
        """The neighbour graph that was embedded."""
        return self._result.graph

    @property
    def n_iter_(self) -> int:
        """Iterations made."""
        return self._result.history.n_rows - 1

    @property
    def objective_(self) -> float:
        """The objective at the map."""
        return self._result.objective

    @property
    def history_(self) -> History:
        """Objective, residual and seconds, one entry an iteration."""
        return self._result.history

    @property
    def status_(self) -> Status:
        """How the work ended: a word and a sentence."""
        return self._result.status

    @property
    def _result(self) -> Embedding:
        check_is_fitted(self, "embedding_")
        return self.embedding_

    @property
    def _n_features_out(self) -> int:
        return int(self._result.Y.shape[1])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit to X and return the map of its rows."""
        return np.array(self.fit(X, y, **fit_params).embedding_.Y)

    def faithfulness(
        self,
        X: Any,
        *,
        labels: ArrayLike | None = None,
        n_neighbors: int | None = None,
        sample: str | int | None = "auto",
        random_state: RandomState = 0,
    ) -> Faithfulness:
        """How faithful the map is to X, the data that it was fitted to: `winkel.measure` with this estimator's metric.

        `n_neighbors` defaults to 15, or to what few rows allow.
        """
        Y = self._result.Y
        k = min(15, max(1, (len(Y) - 1) // 2)) if n_neighbors is None else n_neighbors
        return measure(
            X,
            Y,
            labels=labels,
            n_neighbors=k,
            metric=getattr(self, "metric", "euclidean"),
            sample=sample,
            random_state=random_state,
            n_jobs=getattr(self, "n_jobs", None),
        )

    def _say_faithfulness(self, X: Any) -> None:
        """With `verbose` one line on standard error says how faithful the map is, on some rows of the data."""
        metric = getattr(self, "metric", "euclidean")
        # Rows or a matrix of distances: neighbour lists hold too little, and a function would be called too often.
        usable = isinstance(X, np.ndarray) or (issparse(X) and metric != "precomputed")
        if not getattr(self, "verbose", False) or callable(metric) or not usable or len(self._result.Y) < 5:
            return
        report = self.faithfulness(X, sample=min(_SUMMARY_ROWS, len(self._result.Y)))
        print(f"{type(self).__name__}: {report.summary}", file=sys.stderr, flush=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and fitted state to one file without pickle, which `winkel.load` opens."""
        check_is_fitted(self, "embedding_")
        packer = Packer()
        parameters = {}
        for name, given in self.get_params(deep=False).items():
            value = to_portable(given)
            if isinstance(value, np.random.Generator | np.random.RandomState):
                value = self.embedding_.seed  # what it gave, so that the fit can be repeated
            if callable(value) or (name == "callbacks" and value):
                raise InvalidParameterError(
                    f"{name}={value!r} cannot be saved, since a model file holds no code. "
                    f"Save a copy with set_params({name}=...) that names something built in."
                )
            parameters[name] = packer.pack(value, f"parameter {name}")
        meta: dict[str, Any] = {"class": type(self).__name__, "winkel": __version__, "parameters": parameters}
        fitted = {name: getattr(self, name) for name in self._fitted if hasattr(self, name)}
        if "feature_names_in_" in fitted:  # an array of objects, which no file holds
            fitted["feature_names_in_"] = [str(name) for name in fitted["feature_names_in_"]]
        meta["fitted"] = {name: packer.pack(value, name) for name, value in fitted.items()}
        inner_meta, inner = to_arrays(self.embedding_)
        meta["embedding"] = {"meta": inner_meta, "arrays": packer.pack(inner, "embedding")}
        write_archive(path, KIND, meta, packer.arrays)

    def _read(self, X: Any, *, allow_sparse: bool = True, min_rows: int = 2) -> Table:
        """Validated X; sets or checks the features."""
        table = as_table(X, allow_sparse=allow_sparse, min_rows=min_rows)
        self.n_features_in_ = table.shape[1]
        if table.columns is not None:
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return table

    def _read_new(self, X: Any) -> Any:
        """Validated new rows with the features of the fitted ones."""
        check_is_fitted(self, "embedding_")
        table = as_table(X, min_rows=1)
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
        return table.values


class GraphEmbedder(Embedder):
    """An estimator that starts from the neighbour graph of rows, of precomputed distances, of any items, or a given one."""

    n_neighbors: int
    metric: Metric
    n_jobs: int | None
    verbose: bool | int
    max_memory: int | float | str | None

    @property
    def accepts_graph(self) -> bool:
        """Whether `fit` makes the same map of a neighbour graph as of the rows it was made from."""
        return True

    def _has_rows(self, X: Any) -> bool:
        """Whether X is a table of rows, with which new rows can be compared."""
        return not (isinstance(X, Graph) or callable(self.metric) or self.metric == "precomputed")

    def _items(self, X: Any, *, allow_sparse: bool = True) -> Any:
        """Validated rows, or the graph, distances or items that are to be used as they are."""
        if self._has_rows(X):
            metric_name(str(self.metric))
            return self._read(X, allow_sparse=allow_sparse).values
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        if getattr(X, "ndim", 0) == 2:
            self.n_features_in_ = int(X.shape[1])
        return X

    def _neighbor_graph(self, data: Any, metric: Metric, seed: int) -> Graph:
        """The neighbour graph of what `_items` returned."""
        if isinstance(data, Graph):
            return data
        first = data[0] if isinstance(data, tuple) else data
        n = first.shape[0] if hasattr(first, "shape") else len(first)
        return knn(
            data,
            usable_neighbors(self.n_neighbors, n),
            metric=metric,
            n_jobs=self.n_jobs,
            random_state=seed,
            max_memory=self.max_memory,
            verbose=bool(self.verbose),
        )


def usable_neighbors(n_neighbors: int, n: int) -> int:
    """`n_neighbors`, or what n rows allow, with a warning.

    When there are too few rows half of the others are taken, since a map of rows that are all neighbours of each other
    would show nothing.
    """
    if not isinstance(n_neighbors, int | np.integer) or isinstance(n_neighbors, bool) or n_neighbors < 1:
        raise InvalidParameterError(f"n_neighbors must be a positive integer; got {n_neighbors!r}.")
    if n_neighbors < n:
        return int(n_neighbors)
    usable = max(1, (n - 1) // 2)
    warnings.warn(
        f"n_neighbors={n_neighbors}, but there are only {n} rows; n_neighbors={usable} is used.",
        DataWarning,
        stacklevel=4,
    )
    return usable


def from_archive(archive: Archive) -> Embedder:
    """The fitted estimator in an archive of kind "estimator"."""
    estimators = importlib.import_module(__package__)
    known: list[str] = estimators.__all__
    meta, arrays = archive.meta, archive.arrays
    try:
        if meta["class"] not in known:
            raise ModelFileError(
                f"The file holds a {meta['class']!r}; this version knows {', '.join(known)}."
            )
        parameters = {
            name: from_portable(unpack(value, arrays)) for name, value in meta["parameters"].items()
        }
        estimator: Embedder = getattr(estimators, meta["class"])(**parameters)
        for name, value in meta["fitted"].items():
            if name not in estimator._fitted:
                raise ModelFileError(f"The file sets {name!r}, which {meta['class']} does not have.")
            setattr(estimator, name, unpack(value, arrays))
        if "feature_names_in_" in meta["fitted"]:
            estimator.feature_names_in_ = np.array(estimator.feature_names_in_, dtype=object)
        inner = meta["embedding"]
        estimator.embedding_ = from_arrays(inner["meta"], unpack(inner["arrays"], arrays))
    except (KeyError, TypeError, AttributeError, InvalidParameterError) as error:
        raise ModelFileError(f"The file does not hold a whole estimator ({error}).") from None
    return estimator
