"""How close an embedding is to being stationary, and the cost of its constraint: projected gradient and dual variables (chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algebra import matmul
from .constraints import Anchored, Standardized
from .problem import Problem


@dataclass(frozen=True, eq=False)
class Stationarity:
    """The optimality conditions of chapter 5 at an embedding.

    Attributes
    ----------
    residual : float
        Norm of the projected gradient G; zero if the embedding is stationary.
    gradient : ndarray of shape (n_items, n_components)
        ∇E: minus the forces that pairs exert.
    projected : ndarray of shape (n_items, n_components)
        G, the part of ∇E in directions in which the constraint lets the points move.
    multipliers : ndarray or None
        Dual variables. For Anchored, the force λᵢ = −∇Eᵢ that holds each anchor, one row per anchor (section 5.2.1). For
        Standardized, the symmetric matrix Λ = ½∇EᵀY (eq 5.13); its trace is the average of f'(d)d/2, and for quadratic
        problems its eigenvalues are n/p times eigenvalues of the Laplacian. None for other constraints.
    """

    residual: float
    gradient: NDArray[np.float64]
    projected: NDArray[np.float64]
    multipliers: NDArray[np.float64] | None


def stationarity(problem: Problem, Y: ArrayLike) -> Stationarity:
    """The Stationarity of an embedding under the constraint of a problem.

    Parameters
    ----------
    problem : Problem
        The problem.
    Y : array of shape (n_items, n_components)
        An embedding that the constraint allows.

    Returns
    -------
    Stationarity
        Gradient, projected gradient, its norm, and the constraint's dual variables.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.problem import stationarity
    >>> problem = wk.Problem([[0, 1], [1, 2], [2, 3]], wk.penalties.Quadratic(), n_components=1, constraint=wk.Standardized())
    >>> found = stationarity(problem, problem.solve().Y)
    >>> bool(found.residual < 1e-6), found.multipliers.round(3).tolist()
    (True, [[0.781]])
    """
    array = problem.check_embedding(Y)
    gradient = np.asarray(problem.evaluate(array)[1], dtype=np.float64)
    projected = np.asarray(problem.project_tangent(array, gradient.astype(array.dtype)), dtype=np.float64)
    constraint, multipliers = problem.constraint, None
    if isinstance(constraint, Anchored):
        multipliers = -gradient[np.asarray(constraint.indices)]
    elif isinstance(constraint, Standardized):
        product = 0.5 * matmul(gradient.T, array)
        multipliers = (product + product.T) / 2.0
    return Stationarity(float(np.linalg.norm(projected)), gradient, projected, multipliers)
