"""Labels of rows, for fits that use them: classes or numbers, some of which may be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..algebra import exp
from ..errors import InvalidInputError

_APART = 2.5  # umap-learn's: how far a class is from others at target_weight=0, as a logarithm
_UNKNOWN = 1.0  # and from a row whose label is unknown


def read_labels(y: Any, n: int) -> NDArray[Any]:
    """Labels as numbers with NaN for unknown (if they are floats), or as classes 0, 1, … with −1 for unknown."""
    values = np.asarray(y)
    if values.shape != (n,):
        raise InvalidInputError(f"y must hold one label for each of the {n} rows; got shape {values.shape}.")
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if values.dtype.kind in "iub":
        return (
            np.where(values < 0, -1, values.astype(np.int64))
            if values.dtype.kind == "i"
            else values.astype(np.int64)
        )
    missing = np.array(
        [value is None or value != value or str(value) in ("", "nan") for value in values.tolist()]
    )
    codes = np.unique(values.astype(str), return_inverse=True)[1].astype(np.int64)
    codes[missing] = -1
    return codes


def known_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels of `read_labels` are known."""
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def unknown_label(labels: NDArray[Any]) -> Any:
    """The mark of an unknown label among these labels."""
    return np.nan if labels.dtype.kind == "f" else -1


def memberships_by_class(P: sp.csr_array, labels: NDArray[Any], weight: float) -> sp.csr_array:
    """UMAP's memberships with less of those between classes, as umap-learn does for `target_weight`.

    Between two classes exp(−2.5/(1 − weight)) of a membership is left, and 1/e where a label is unknown; then each row is
    divided by its largest and joined with its column as p + pᵀ − p∘pᵀ.
    """
    far = float(exp(-_APART / (1 - weight))) if weight < 1 else 0.0
    known = known_labels(labels)
    i, j = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), P.indices
    factor = np.where(labels[i] == labels[j], 1.0, far)
    factor[~(known[i] & known[j])] = float(exp(-_UNKNOWN))
    kept = P.data * factor.astype(P.dtype)
    largest = np.zeros(P.shape[0], P.dtype)
    np.maximum.at(largest, i, kept)
    own = sp.csr_array((kept / np.where(largest > 0, largest, 1)[i], P.indices, P.indptr), shape=P.shape)
    joined = sp.csr_array(own + own.T - own.multiply(own.T))
    joined.eliminate_zeros()
    return joined
