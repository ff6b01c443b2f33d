"""Checks that turn what users call edges into sorted unique pairs i < j."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError, InvalidParameterError
from ..typing import FloatArray

Combine = Literal["error", "sum", "mean", "max", "min"]
_COMBINE = ("error", "sum", "mean", "max", "min")
MAX_NODES = 2**31 - 1
MAX_EDGES = 2**30 - 1


class EdgeArrays(NamedTuple):
    """Sorted unique pairs with their weights and, where given, distances."""

    edges: NDArray[np.int32]
    weights: FloatArray
    distances: FloatArray | None


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of `array` (C-contiguous) that cannot be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_n(n: Any) -> int:
    """The number of nodes as an int."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MAX_NODES:
        raise InvalidParameterError(
            f"n, the number of nodes, must be an integer from 1 to {MAX_NODES}; got {n!r}."
        )
    return int(n)


def _check_pairs(edges: ArrayLike, n: int | None) -> tuple[NDArray[np.int64], int]:
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInputError(
            f"edges must be an array of shape (p, 2), a pair of node numbers a row; got shape {pairs.shape}."
        )
    if not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidInputError(
            f"edges must be integers (node numbers counted from 0); got dtype {pairs.dtype}. "
            "Convert with edges.astype(int) if the values are whole numbers."
        )
    if len(pairs) > MAX_EDGES:
        raise InvalidInputError(f"at most {MAX_EDGES} edges are supported; got {len(pairs)}.")
    if n is None and len(pairs) == 0:
        raise InvalidParameterError("n, the number of nodes, must be given when there are no edges.")
    if len(pairs) and pairs.min() < 0:
        row = int(np.flatnonzero((pairs < 0).any(axis=1))[0])
        raise InvalidInputError(
            f"node numbers must not be negative; edge {row} is {tuple(pairs[row].tolist())}."
        )
    size = check_n(int(pairs.max()) + 1 if n is None else n)
    if len(pairs) and pairs.max() >= size:
        row = int(np.flatnonzero((pairs >= size).any(axis=1))[0])
        raise InvalidInputError(
            f"node numbers must be less than n={size}; edge {row} is {tuple(pairs[row].tolist())}. "
            "Node numbers count from 0; give a larger n if there are more nodes."
        )
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        raise InvalidInputError(
            f"edges must join two different nodes; {len(loops)} of {len(pairs)} join a node to itself, "
            f"first edge {int(loops[0])}: {tuple(pairs[loops[0]].tolist())}. "
            "Drop them: edges[edges[:, 0] != edges[:, 1]]."
        )
    return pairs.astype(np.int64, copy=False), size


def _check_values(values: ArrayLike | None, p: int, name: str, *, signed: bool) -> FloatArray | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (p,):
        raise InvalidInputError(
            f"{name} must hold one number an edge, shape ({p},); got shape {array.shape}."
        )
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise InvalidInputError(f"{name} must be real numbers; got dtype {array.dtype}.")
    # A copy, even of the right type: the graph must not change when the caller's array does.
    array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    bad = ~np.isfinite(array)
    if not signed:
        bad |= array < 0
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        kind = "finite" if signed else "finite and not negative"
        raise InvalidInputError(
            f"{name} must be {kind}; {int(bad.sum())} of {p} are not, first {array[first]} at edge {first}."
        )
    return array


def _merge(values: FloatArray, starts: NDArray[np.int64], combine: str) -> FloatArray:
    if combine == "sum":
        merged = np.add.reduceat(values, starts, dtype=np.float64)
    elif combine == "mean":
        counts = np.diff(np.append(starts, len(values)))
        merged = np.add.reduceat(values, starts, dtype=np.float64) / counts
    else:
        merged = (np.maximum if combine == "max" else np.minimum).reduceat(values, starts)
    return np.asarray(merged, dtype=values.dtype)


def _require_equal(
    edges: NDArray[np.int64], starts: NDArray[np.int64], values: FloatArray, name: str
) -> None:
    low = np.minimum.reduceat(values, starts)
    high = np.maximum.reduceat(values, starts)
    if (low != high).any():
        first = int(np.flatnonzero(low != high)[0])
        pair = tuple(edges[starts[first]].tolist())
        raise InvalidInputError(
            f"the pair {pair} is given more than once with different {name}, {low[first]} and {high[first]}. "
            'Give each pair once, or say how to merge weights: combine="sum", "mean", "max" or "min" '
            "(of distances the smallest is then kept)."
        )


def canonical_edges(
    edges: ArrayLike,
    weights: ArrayLike | None,
    distances: ArrayLike | None,
    n: int | None,
    combine: Combine,
) -> tuple[EdgeArrays, int]:
    """Sorted unique pairs i < j with weights (1 if not given) and distances, and the number of nodes."""
    if combine not in _COMBINE:
        raise InvalidParameterError(
            f"combine must be one of {', '.join(map(repr, _COMBINE))}; got {combine!r}."
        )
    pairs, size = _check_pairs(edges, n)
    p = len(pairs)
    given = _check_values(weights, p, "weights", signed=True)
    w = np.ones(p, np.float32) if given is None else given
    d = _check_values(distances, p, "distances", signed=False)
    pairs = np.stack([pairs.min(axis=1), pairs.max(axis=1)], axis=1) if p else pairs
    key = pairs[:, 0] * size + pairs[:, 1]
    if (np.diff(key) <= 0).any():
        order = np.argsort(key, kind="stable")
        key, pairs, w = key[order], pairs[order], w[order]
        d = None if d is None else d[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if len(starts) < p:
        if combine == "error":
            _require_equal(pairs, starts, w, "weights")
            if d is not None:
                _require_equal(pairs, starts, d, "distances")
        # Without weights of their own, pairs given twice are one edge, unless asked to be counted.
        w = _merge(w, starts, combine)
        d = None if d is None else _merge(d, starts, "min")
        pairs = pairs[starts]
    return EdgeArrays(pairs.astype(np.int32), w, d), size
