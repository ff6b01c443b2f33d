"""The semidefinite program of maximum variance unfolding, by a primal-dual interior-point method.

    primal   maximise tr G            subject to  G ⪰ 0, G1 = 0, b_eᵀ G b_e (=, ≤) δ_e²,   b_e = e_i − e_j
    dual     minimise Σ w_e δ_e²      subject to  S = Σ w_e b_e b_eᵀ − I ⪰ 0 beside 1  (w ≥ 0 for ≤)

Directions are those of Helmberg, Kojima and Monteiro with Mehrotra's predictor and corrector. Since every
constraint is b_e b_eᵀ, their linear system in w is an elementwise product of two p × p matrices,
M_ef = (b_eᵀ G b_f)(b_eᵀ S⁻¹ b_f), gathered from the n × n ones.

With "equal" the program is max tr G − (1/2γ) Σ (b_eᵀ G b_e − δ_e²)², whose dual has γ/2 ‖w‖² added: it has a
solution also where the equations leave G no interior (a clique of neighbours in few dimensions). At the
solution a squared distance is off by γ w_e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

RELATIONS = ("equal", "at_most")
_SLACK_PRICE = 1e-6  # squared distances are off by about this, where tensions are as they are on average
_TO_BOUNDARY = 0.95
_NUDGE = 1e-14  # of the diagonal of M, against rounding


@dataclass(frozen=True)
class MaxVariance:
    """The best Gram matrix, the dual variables, and how good they are."""

    gram: Matrix
    tensions: Matrix
    violation: float
    gap: float
    n_iter: int


@dataclass(frozen=True)
class _Point:
    """Primal X (the Gram matrix in coordinates beside 1), dual w with its S, and slacks of ≤."""

    X: Matrix
    w: Matrix
    S: Matrix
    slack: Matrix | None


class _Program:
    """The constraints, in coordinates of the space beside the constant vector."""

    def __init__(self, edges: NDArray[np.integer], squares: Matrix, n: int, relation: str) -> None:
        self.i, self.j = np.asarray(edges, np.int64).T
        self.squares, self.n = squares, n
        self.upper = relation == "at_most"
        self.basis = np.ascontiguousarray(scipy.linalg.helmert(n).T)
        lowest = float(np.linalg.eigvalsh(self.laplacian(np.ones(len(squares))))[0])
        self.start = 2 / lowest  # equal tensions that hold everything together twice as firmly as needed
        self.gamma = 0.0 if self.upper else _SLACK_PRICE / self.start

    def laplacian(self, w: Matrix) -> Matrix:
        """Σ w_e b_e b_eᵀ beside 1."""
        L = np.zeros((self.n, self.n))
        L[self.i, self.j] = L[self.j, self.i] = -w
        L[np.diag_indices(self.n)] = -L.sum(axis=1)
        return np.asarray(self.basis.T @ L @ self.basis)

    def full(self, A: Matrix) -> Matrix:
        """A matrix in coordinates beside 1, as n × n."""
        return np.asarray(self.basis @ A @ self.basis.T)

    def pairs(self, A: Matrix) -> Matrix:
        """b_eᵀ A b_f for all e, f."""
        F = self.full(A)
        F = F[self.i] - F[self.j]
        return np.asarray(F[:, self.i] - F[:, self.j])

    def squared(self, A: Matrix) -> Matrix:
        """b_eᵀ A b_e for all e."""
        F, i, j = self.full(A), self.i, self.j
        return np.asarray(F[i, i] - F[i, j] - F[j, i] + F[j, j])

    def first(self) -> _Point:
        """A point inside the cones, feasible for the dual."""
        w = np.full(len(self.squares), self.start)
        X = np.eye(self.n - 1) * (self.squares @ w / (self.n - 1))
        slack = np.full(len(w), float(self.squares.mean())) if self.upper else None
        return _Point(X, w, self.slackness(w), slack)

    def slackness(self, w: Matrix) -> Matrix:
        """S of the tensions w."""
        return self.laplacian(w) - np.eye(self.n - 1)

    def quality(self, at: _Point) -> tuple[float, float]:
        """Largest violation of a squared distance, and how far the dual value lies above the primal one.

        For ≤ the primal value is that of the point made feasible at the price of its violations.
        """
        off = self.squared(at.X) - self.squares
        trace, bound = float(np.trace(at.X)), float(self.squares @ at.w)
        if self.upper:
            off = np.maximum(off, 0.0)
            lack = bound - trace + float(at.w @ off)
        else:
            lack = bound - trace + self.gamma / 2 * float(at.w @ at.w) + float(off @ off) / (2 * self.gamma)
        return float(np.abs(off).max()), abs(lack) / trace


def _symmetric(A: Matrix) -> Matrix:
    return (A + A.T) / 2


def _longest(A: Matrix, step: Matrix) -> float:
    """The step, at most 1, that keeps A positive definite."""
    factor = np.linalg.cholesky(A)
    half = scipy.linalg.solve_triangular(factor, step, lower=True)
    lowest = float(
        np.linalg.eigvalsh(_symmetric(scipy.linalg.solve_triangular(factor, half.T, lower=True)))[0]
    )
    return min(1.0, -_TO_BOUNDARY / lowest) if lowest < 0 else 1.0


def _longest_vector(x: Matrix, step: Matrix) -> float:
    shrink = float((step / x).min())
    return min(1.0, -_TO_BOUNDARY / shrink) if shrink < 0 else 1.0


@dataclass(frozen=True)
class _Step:
    X: Matrix
    w: Matrix
    S: Matrix
    slack: Matrix | None

    def lengths(self, at: _Point) -> tuple[float, float]:
        """Primal and dual step lengths that stay inside the cones."""
        primal, dual = _longest(at.X, self.X), _longest(at.S, self.S)
        if at.slack is not None and self.slack is not None:
            primal = min(primal, _longest_vector(at.slack, self.slack))
            dual = min(dual, _longest_vector(at.w, self.w))
        return primal, dual


def _complementarity(at: _Point, step: _Step | None = None, primal: float = 0.0, dual: float = 0.0) -> float:
    """Mean product of what should be complementary, at the point or a step from it."""
    X, S, w, slack = at.X, at.S, at.w, at.slack
    if step is not None:
        X, S, w = X + primal * step.X, S + dual * step.S, w + dual * step.w
        slack = None if slack is None or step.slack is None else slack + primal * step.slack
    total, count = float((X * S).sum()), len(X)
    if slack is not None:
        total, count = total + float(slack @ w), count + len(w)
    return total / count


class _Newton:
    """The linear system at one point, factored once for predictor and corrector."""

    def __init__(self, program: _Program, at: _Point) -> None:
        self.program, self.at = program, at
        identity = np.eye(len(at.S))
        self.inverse = _symmetric(scipy.linalg.cho_solve(scipy.linalg.cho_factor(at.S), identity))
        inverse_pairs = program.pairs(self.inverse)
        self.pull = np.diagonal(inverse_pairs).copy()
        M = inverse_pairs
        M *= program.pairs(at.X)
        diagonal = np.diagonal(M) * (1 + _NUDGE) + program.gamma
        if at.slack is not None:
            diagonal = diagonal + at.slack / at.w
        M[np.diag_indices(len(M))] = diagonal
        self.factor = scipy.linalg.cho_factor(M, overwrite_a=True, check_finite=False)

    def step(self, target: float, before: _Step | None) -> _Step:
        """The direction to complementarity `target`, with second-order terms of the step found before."""
        program, at = self.program, self.at
        right = target * self.pull - program.squares - program.gamma * at.w
        bend: Matrix | float = 0.0
        bow: Matrix | float = 0.0
        if before is not None:
            bend = _symmetric(before.X @ before.S @ self.inverse)
            right -= program.squared(bend)
        if at.slack is not None:
            if before is not None and before.slack is not None:
                bow = before.slack * before.w / at.w
            right += target / at.w - bow
        w = scipy.linalg.cho_solve(self.factor, right, check_finite=False)
        S = program.laplacian(w)
        X = target * self.inverse - at.X - _symmetric(at.X @ S @ self.inverse) - bend
        slack = None if at.slack is None else target / at.w - at.slack - at.slack / at.w * w - bow
        return _Step(X, w, S, slack)


def _advance(program: _Program, at: _Point) -> _Point:
    """One predictor-corrector step."""
    newton = _Newton(program, at)
    now = _complementarity(at)
    predictor = newton.step(0.0, None)
    primal, dual = predictor.lengths(at)
    ahead = max(_complementarity(at, predictor, primal, dual) / now, 0.0)
    share = min(max(ahead**2, 1e-4), 0.9) if max(primal, dual) > 0.1 else 0.5
    step = newton.step(share * now, predictor)
    primal, dual = step.lengths(at)
    w = at.w + dual * step.w
    slack = None if at.slack is None or step.slack is None else at.slack + primal * step.slack
    return _Point(at.X + primal * step.X, w, program.slackness(w), slack)


def solve_max_variance(
    edges: NDArray[np.integer], squares: Matrix, n: int, relation: str, tol: float, max_iter: int
) -> MaxVariance:
    """The centred Gram matrix of largest trace with squared edge lengths equal to, or at most, `squares`.

    Squares should be about 1. The point of smallest gap is returned, also when rounding ends the work early.
    """
    program = _Program(edges, squares, n, relation)
    at = best = program.first()
    violation, gap = program.quality(at)
    done = 0
    while gap > tol and done < max_iter:
        try:
            at = _advance(program, at)
        except np.linalg.LinAlgError:
            break  # a matrix at the edge of its cone: rounding allows no further step
        done += 1
        quality = program.quality(at)
        if quality[1] < gap:
            best, (violation, gap) = at, quality
    return MaxVariance(program.full(best.X), best.w, violation, gap, done)
