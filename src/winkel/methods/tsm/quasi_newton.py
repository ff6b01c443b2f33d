"""A quasi-Newton method on the matrices of rank d: the same objective as the alternating updates, in fewer passes.

‖L − Z(L)‖² has the gradient 2 (L − Z); one product of Z with the basis of L gives its part in the tangent space
at L. So a step of L-BFGS costs as much as an alternating update, and with an empty memory it equals that update.

A tangent vector at L = Q diag(λ) Qᵀ is Q M Qᵀ + U Qᵀ + Q Uᵀ with M symmetric and Qᵀ U = 0; it is held as (M, U).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...algebra import dot, matmul, qr, svd
from ...embedding import Status
from ...solvers.base import SolverState
from ...typing import FloatArray
from .factors import Factors, Matrix, best_of_rank, relative_change, start_factors
from .matching import Matching

Tangent = tuple[Matrix, Matrix]

_ENOUGH = 1e-4  # of the fall that the slope promises, to take a step
_SHORTEST = 1e-8  # step below which the memory is dropped, and without memory the end is reached
_CURVED = 1e-10  # least ⟨s, y⟩ / ⟨y, y⟩ with which a pair is kept


@dataclass(frozen=True)
class QuasiNewtonState(SolverState):
    """Y is the basis of L, `values` its eigenvalues; from there `length` times `direction` is tried next."""

    values: Matrix
    gradient: Tangent
    pairs: tuple[tuple[Tangent, Tangent], ...]
    direction: Tangent
    length: float
    delta: float

    def extras(self) -> dict[str, float]:
        """δ (eq 21), and the step that is tried next: below 1 when the last one was not taken."""
        return {"delta": self.delta, "length": self.length}


@dataclass(frozen=True)
class QuasiNewton:
    """L-BFGS on the matrices of rank d, every trial one product with Z; the objective never rises.

    A trial is taken when the objective falls enough, otherwise a shorter one is made. Going along a tangent vector means
    taking the best approximation of rank d. The latest step and gradient are projected to become vectors at the new place;
    older ones, of which less depends, are only turned with the basis, which takes a quarter of the work. The matrix
    y_i·y_j − τ‖y_i‖‖y_j‖ of a map has at most one negative eigenvalue, so no L with more is visited.
    """

    memory_size: int = 5
    tol: float = 0.0
    name = "TSM"
    expects_convergence = False

    def init(self, problem: Matching, Y0: FloatArray) -> QuasiNewtonState:
        """The best approximation of rank d of the start L = Y0 · diag(1, …, 1, −1) · Y0ᵀ."""
        L = start_factors(Y0)
        objective, gradient, delta = _evaluated(problem, L)
        return QuasiNewtonState(
            0, L.basis, objective, np.nan, L.values, gradient, (), _scaled(-1.0, gradient), 1.0, delta
        )

    def step(self, problem: Matching, state: QuasiNewtonState) -> QuasiNewtonState:
        """One trial: the next L, or a shorter step from the same one."""
        L = Factors(np.asarray(state.Y, np.float64), state.values)
        slope = 2.0 * inner(state.gradient, state.direction)
        tried = along(L, state.direction, state.length)
        objective, gradient, delta = _evaluated(problem, tried)
        if not objective <= state.objective + _ENOUGH * state.length * slope:
            return _shorter(state, objective, slope)
        cross = matmul(tried.basis.T, L.basis)
        pairs = self._pairs(state, L, tried, gradient)
        return QuasiNewtonState(
            state.iteration + 1,
            tried.basis,
            objective,
            relative_change(tried.values, state.values, cross),
            tried.values,
            gradient,
            pairs,
            _direction(gradient, pairs, tried.basis),
            1.0,
            delta,
        )

    def done(self, state: QuasiNewtonState) -> Status | None:
        """Converged when a step changes L by no more than `tol` of its norm, or no step makes the objective smaller."""
        if state.length < _SHORTEST:
            return Status("converged", "No step along the gradient makes the objective smaller.")
        if state.length < 1.0 or not state.residual <= self.tol:
            return None
        return Status(
            "converged", f"The last step changed L by {state.residual:.2g} of its norm, tol={self.tol:g}."
        )

    def _pairs(
        self, state: QuasiNewtonState, old: Factors, new: Factors, gradient: Tangent
    ) -> tuple[tuple[Tangent, Tangent], ...]:
        """Steps and changes of the gradient, as tangent vectors at the new place, the latest last."""
        step = carried(_scaled(state.length, state.direction), old.basis, new.basis)
        change = _sum(gradient, -1.0, carried(state.gradient, old.basis, new.basis))
        kept = state.pairs[-(self.memory_size - 1) :] if self.memory_size > 1 else ()
        turn = _rotation(old.basis, new.basis)
        turned = [(_turned(s, turn), _turned(y, turn)) for s, y in kept]
        return tuple((s, y) for s, y in (*turned, (step, change)) if inner(s, y) > _CURVED * inner(y, y))


def inner(a: Tangent, b: Tangent) -> float:
    """The inner product of tangent vectors, which is that of the matrices."""
    return dot(a[0], b[0]) + 2.0 * dot(a[1], b[1])


def along(L: Factors, direction: Tangent, length: float) -> Factors:
    """The best approximation of L + length · direction of rank d and with at most one negative eigenvalue."""
    M, U = _scaled(length, direction)
    d = len(L.values)
    axes, R = qr(U)
    size = np.abs(np.diag(R))
    if len(U) < 2 * d or size.min() <= 1e-6 * size.max():
        # Columns of `axes` may not be orthogonal to the basis where U has less than full rank.
        axes, R = qr(np.concatenate([L.basis, U], axis=1))
        A, B = R[:, :d], R[:, d:]
        return best_of_rank(
            axes,
            matmul(matmul(A, np.diag(L.values) + M), A.T) + matmul(A, B.T) + matmul(B, A.T),
            d,
            negatives=1,
        )
    middle = np.block([[np.diag(L.values) + M, R.T], [R, np.zeros((d, d))]])
    return best_of_rank(np.concatenate([L.basis, axes], axis=1), middle, d, negatives=1)


def carried(vector: Tangent, old: Matrix, new: Matrix) -> Tangent:
    """The projection of a tangent vector at one place on the tangent space at another."""
    M, U = vector
    cross, outer = matmul(old.T, new), matmul(U.T, new)
    product = matmul(M, cross) + outer
    middle = matmul(cross.T, product) + matmul(outer.T, cross)
    return (middle + middle.T) / 2.0, matmul(old, product) + matmul(U, cross) - matmul(new, middle)


def _rotation(old: Matrix, new: Matrix) -> Matrix:
    """The orthogonal matrix that rotates the old basis as close as possible to the new one."""
    left, _, right = svd(matmul(old.T, new))
    return np.asarray(matmul(left, right))


def _turned(vector: Tangent, turn: Matrix) -> Tangent:
    return matmul(matmul(turn.T, vector[0]), turn), matmul(vector[1], turn)


def _tangent(product: Matrix, basis: Matrix) -> Tangent:
    """The part in the tangent space of a symmetric matrix, given by its product with the basis."""
    M = matmul(basis.T, product)
    return (M + M.T) / 2.0, product - matmul(basis, M)


def _evaluated(problem: Matching, L: Factors) -> tuple[float, Tangent, float]:
    """‖L − Z‖², the tangent part of half its gradient, and δ."""
    found = problem.product(L, L.basis)
    return found.objective, _tangent(found.slope, L.basis), found.delta


def _direction(gradient: Tangent, pairs: tuple[tuple[Tangent, Tangent], ...], basis: Matrix) -> Tangent:
    """Minus the gradient times the inverse Hessian of the pairs (Nocedal 1980); downhill, and a tangent vector."""
    weights = []
    v = gradient
    for s, y in reversed(pairs):
        weights.append(inner(s, v) / inner(s, y))
        v = _sum(v, -weights[-1], y)
    if pairs:
        s, y = pairs[-1]
        v = _scaled(inner(s, y) / inner(y, y), v)
    for (s, y), weight in zip(pairs, reversed(weights)):
        v = _sum(v, weight - inner(y, v) / inner(s, y), s)
    v = v[0], v[1] - matmul(basis, matmul(basis.T, v[1]))
    return _scaled(-1.0, v) if inner(v, gradient) > 0 else _scaled(-1.0, gradient)


def _shorter(state: QuasiNewtonState, objective: float, slope: float) -> QuasiNewtonState:
    """The same place with a shorter step, to the minimum of a parabola through the known values; or without memory."""
    rise = objective - state.objective - slope * state.length
    best = -0.5 * slope * state.length**2 / rise if rise > 0 else 0.0
    length = float(np.clip(best, 0.1 * state.length, 0.5 * state.length))
    if length < _SHORTEST and state.pairs:
        return replace(
            state,
            iteration=state.iteration + 1,
            pairs=(),
            direction=_scaled(-1.0, state.gradient),
            length=1.0,
        )
    return replace(state, iteration=state.iteration + 1, length=length)


def _scaled(factor: float, a: Tangent) -> Tangent:
    return factor * a[0], factor * a[1]


def _sum(a: Tangent, factor: float, b: Tangent) -> Tangent:
    return a[0] + factor * b[0], a[1] + factor * b[1]
