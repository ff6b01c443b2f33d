"""`align`: one map turned onto another, so that the two can be looked at or compared side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..errors import InvalidInputError
from ..typing import FloatArray


def align(Y: ArrayLike, target: ArrayLike, *, shift: bool = True, scale: bool = False) -> FloatArray:
    """Y turned (rotated or reflected) to lie as near to `target` as can be, row to row, in squares.

    This is the orthogonal Procrustes problem (Agrawal et al. 2021, section 2.4.5): Q = VUᵀ for the singular value
    decomposition UΣVᵀ of targetᵀY. With `shift` the turn is about the means and Y is moved onto the mean of `target`, which
    changes nothing for two centred maps; with `scale` Y is also stretched by the best factor. Both have the same shape;
    the result has the precision of Y.
    """
    source, goal = _checked("Y", Y), _checked("target", target)
    if source.shape != goal.shape:
        raise InvalidInputError(
            "Y and target must be maps of the same rows in as many dimensions; "
            f"got shapes {source.shape} and {goal.shape}."
        )
    middle, there = _mean(source, shift), _mean(goal, shift)
    moved = source - middle
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        U, singular, Vt = np.linalg.svd((goal - there).T @ moved)
        turned = moved @ (Vt.T @ U.T)
    if scale:
        square = float(np.sum(moved * moved))
        turned *= float(singular.sum()) / square if square > 0 else 1.0
    return (turned + there).astype(_precision(Y))


def _mean(Y: NDArray[np.float64], shift: bool) -> NDArray[np.float64]:
    return Y.mean(axis=0) if shift else np.zeros(Y.shape[1])


def _checked(name: str, Y: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(Y, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(f"{name} must be a map, rows by dimensions; got shape {array.shape}.")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InvalidInputError(f"{name} must be finite; row {row} is {array[row]}.")
    return array


def _precision(Y: ArrayLike) -> type[np.float32] | type[np.float64]:
    return np.float32 if np.asarray(Y).dtype == np.float32 else np.float64
