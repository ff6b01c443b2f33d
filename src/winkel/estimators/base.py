"""What every estimator shares: its results, its features, saving and loading."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..data import Table, as_table
from ..data.archive import Archive, write_archive
from ..data.packing import Packer, unpack
from ..embedding import Embedding, from_arrays, to_arrays
from ..errors import DataWarning, InvalidInputError, InvalidParameterError, ModelFileError
from ..graph import Graph
from ..solvers.base import History, Status
from ..typing import FloatArray

KIND = "estimator"


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` sets `embedding_`, an Embedding; everything else is read from there."""

    embedding_: Embedding
    n_features_in_: int

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and fitted state to one file without pickle, which `winkel.load` opens."""
        check_is_fitted(self, "embedding_")
        packer = Packer()
        parameters = {}
        for name, value in self.get_params(deep=False).items():
            if callable(value) or (name == "callbacks" and value):
                raise InvalidParameterError(
                    f"{name}={value!r} cannot be saved, since a model file holds no code. "
                    f"Save a copy with set_params({name}=...) that names something built in."
                )
            parameters[name] = packer.pack(value, f"parameter {name}")
        meta: dict[str, Any] = {"class": type(self).__name__, "winkel": __version__, "parameters": parameters}
        meta["fitted"] = {
            name: packer.pack(getattr(self, name), name) for name in self._fitted if hasattr(self, name)
        }
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
        values = as_table(X, min_rows=1).values
        if values.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"X has {values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return values


def usable_neighbors(n_neighbors: int, n: int) -> int:
    """`n_neighbors`, or what n rows allow, with a warning."""
    if n_neighbors < n:
        return n_neighbors
    warnings.warn(
        f"n_neighbors={n_neighbors}, but there are only {n} rows; n_neighbors={n - 1} is used.",
        DataWarning,
        stacklevel=4,
    )
    return n - 1


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
        parameters = {name: unpack(value, arrays) for name, value in meta["parameters"].items()}
        estimator: Embedder = getattr(estimators, meta["class"])(**parameters)
        for name, value in meta["fitted"].items():
            if name not in estimator._fitted:
                raise ModelFileError(f"The file sets {name!r}, which {meta['class']} does not have.")
            setattr(estimator, name, unpack(value, arrays))
        inner = meta["embedding"]
        estimator.embedding_ = from_arrays(inner["meta"], unpack(inner["arrays"], arrays))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"The file does not hold a whole estimator ({error}).") from None
    return estimator
