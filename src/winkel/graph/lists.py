"""Checks of neighbour lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInputError
from ..resources import resolve_n_jobs
from ..typing import FloatArray

_FAULTS = {
    1: "an index is outside [0, n) (-1 marks a missing neighbour)",
    2: "the row is listed as its own neighbour",
    3: "distances are not in ascending order",
    4: "missing neighbours must come last, with index -1 and distance inf",
    5: "a distance is negative or not finite",
    6: "a neighbour is listed twice",
}


def check_neighbor_lists(
    indices: ArrayLike, distances: ArrayLike, copy: bool
) -> tuple[NDArray[np.int32], FloatArray]:
    """The lists as int32 and float32 or float64, C-contiguous; their own memory if `copy`."""
    idx, far = np.asarray(indices), np.asarray(distances)
    if idx.ndim != 2 or idx.shape != far.shape or idx.shape[0] == 0:
        raise InvalidInputError(
            "neighbour indices and distances must have the same shape (n, k) with n at least 1; "
            f"got {idx.shape} and {far.shape}."
        )
    if not np.issubdtype(idx.dtype, np.integer):
        raise InvalidInputError(f"neighbour indices must be integers; got dtype {idx.dtype}.")
    if not np.issubdtype(far.dtype, np.number) or np.iscomplexobj(far):
        raise InvalidInputError(f"neighbour distances must be real numbers; got dtype {far.dtype}.")
    if idx.size and (idx.min() < -1 or idx.max() >= len(idx)):
        raise InvalidInputError(
            f"neighbour indices must lie in [0, {len(idx)}), or be -1 for a missing neighbour; "
            f"got values from {idx.min()} to {idx.max()}."
        )
    near = np.array(idx, dtype=np.int32, order="C") if copy else np.ascontiguousarray(idx, dtype=np.int32)
    kind = np.float32 if far.dtype == np.float32 else np.float64
    far = np.array(far, dtype=kind, order="C") if copy else np.ascontiguousarray(far, dtype=kind)
    fault, row = _core.check_knn(near, far, resolve_n_jobs(None))
    if fault:
        raise InvalidInputError(
            f"neighbour lists are not valid at row {row}: {_FAULTS[fault]}; "
            f"got indices {near[row, :8].tolist()}… and distances {far[row, :8].tolist()}…."
        )
    return near, far
