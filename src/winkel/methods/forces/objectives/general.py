"""Objectives of the user's own: any F of two kernels (Draganov and Dohn 2023, eq 3), and any kernel on the map."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....checks import choice, refuse
from ....graph import Graph
from ....problem.constraints import Centered
from ....run import Run
from ....typing import FloatArray
from ...starts import weighted_mean
from ..data_kernels import NewRows, Source
from ..schedule import Schedule
from .base import Forces, Matrix, Objective, Sums

_BLOCK = 2**22  # pairs at a time
_PLACE_ITER = 200


@dataclass(frozen=True)
class PairLoss(Objective, named=False):
    """Σ_{i≠j} F(k_x, k_y) over all pairs, for an F and a k_y of your own: the base of objectives that are written as formulas.

    A subclass is a frozen dataclass with a field `kernel_x` (and fields for its parameters), and defines `pair_loss`; `map_kernel` is
    Cauchy's unless the subclass defines it too. NumPy sums over every pair, so this is for a few thousand rows. `transform` places
    each new row where its own part of the loss is smallest.

    Parameters
    ----------
    kernel_x : str
        The kernel on the data, such as "rbf", "fuzzy" or "perplexity".

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import winkel as wk
    >>> @dataclass(frozen=True)
    ... class Absolute(wk.objectives.PairLoss):
    ...     kernel_x: str = "rbf"
    ...     gamma: float | None = None
    ...     def pair_loss(self, kx, ky):
    ...         miss = ky - kx
    ...         return np.sqrt(miss**2 + 1e-4), miss / np.sqrt(miss**2 + 1e-4)
    >>> digits = wk.datasets.load_digits()
    >>> wk.AttractRepel(objective="absolute", max_iter=20, random_state=0).fit_transform(digits.X[:100]).shape
    (100, 2)
    """

    kernel_x: str

    schedule: ClassVar[Schedule] = Schedule("lbfgs", 200)
    steps: ClassVar[Schedule] = Schedule("adam", 300, 0.1)

    @abstractmethod
    def pair_loss(self, kx: Matrix, ky: Matrix) -> tuple[Matrix, Matrix]:
        """F and its derivative with respect to k_y, for arrays of similarities."""

    def map_kernel(self, s: Matrix) -> tuple[Matrix, Matrix]:
        """k_y and its derivative with respect to s, for squared distances s on the map."""
        k = 1 / (1 + s)
        return k, -np.square(k)

    @property
    def width(self) -> float:
        """The length on the map over which k_y varies; L-BFGS moves no row by more than a few times this length at once."""
        return 1.0

    def weights(self, source: Source, run: Run) -> Matrix:
        """k_x of all pairs, n × n."""
        return self.data_kernel.gram(source, run)

    def problem(self, weights: Matrix, sums: Sums, run: Run) -> PairLossProblem:
        """The loss, every pair summed."""
        return PairLossProblem(self, weights, run.n_jobs)

    def plan(
        self,
        *,
        solver: str = "auto",
        learning_rate: float | None = None,
        exaggeration: float | None = None,
        exaggeration_iter: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
    ) -> Schedule:
        """The schedule, with the given parameters; for a general F it is not known what attracts, so nothing is exaggerated."""
        for name, value in (("exaggeration", exaggeration), ("exaggeration_iter", exaggeration_iter)):
            if value is not None:
                refuse(name, f"None with objective {self.name!r}, whose attractions are not known", value)
        return super().plan(solver=solver, learning_rate=learning_rate, max_iter=max_iter, tol=tol)

    def check_pairs(self, pairs: str) -> str:
        """Sums are exact, and there is no choice."""
        return choice("pairs", pairs, ("auto", "exact"))

    def usual_start(self, source: Source) -> str:
        """Principal components; for similarities or a graph, where there are no rows, a random start."""
        return "pca" if source.table is not None else "random"

    def forces(self, problem: PairLossProblem, weights: Matrix, Y: Matrix) -> Forces:
        """A and R are the positive and negative parts of −∂F/∂k_y."""
        value, gradient = problem.gradient(Y)
        attractive = problem.gradient_of(Y, lambda slope: np.minimum(slope, 0.0))

        def rule(i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
            k, slope = self.map_kernel(np.sum(np.square(Y[i] - Y[j]), axis=1))
            by_kernel = self.pair_loss(weights[i, j], k)[1]
            return np.maximum(-by_kernel, 0.0), np.maximum(by_kernel, 0.0), slope

        return Forces(self, value, gradient, attractive, gradient - attractive, 4.0, len(Y), rule)

    def listed(self, n: int, graph: Graph | None) -> int:
        """All fitted rows."""
        return n

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Each new row where Σⱼ F over the fitted rows is smallest, starting from the mean of the closest rows."""
        from scipy.optimize import minimize

        points, similar = np.asarray(Y, dtype=np.float64), self.data_kernel.to_fitted(new, run)
        k = min(15, new.index.shape[1])
        starts = weighted_mean(points, new.index[:, :k], new.distance[:, :k])
        placed = np.empty_like(starts)
        for q, start in enumerate(starts):
            others, kx = points[new.index[q]], similar[q]

            def loss(y: Matrix, others: Matrix = others, kx: Matrix = kx) -> tuple[float, Matrix]:
                apart = y - others
                ky, slope = self.map_kernel(np.sum(np.square(apart), axis=1))
                value, by_kernel = self.pair_loss(kx, ky)
                return float(np.sum(value)), np.sum(2 * (by_kernel * slope)[:, None] * apart, axis=0)

            placed[q] = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _PLACE_ITER}).x
        return placed


@dataclass(frozen=True, eq=False)
class PairLossProblem:
    """The value and gradient of a `PairLoss`, by blocks of rows."""

    objective: PairLoss
    similarities: Matrix
    n_threads: int = 1
    how: str = "exact"
    normalized: bool = False

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.similarities)

    @property
    def kernel(self) -> PairLoss:
        """What knows the width of the kernel on the map."""
        return self.objective

    def exaggerated(self, factor: float) -> PairLossProblem:
        """Itself, as nothing is ever exaggerated."""
        return self

    def at_round(self, number: int) -> PairLossProblem:
        """Itself: no pairs are sampled."""
        return self

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The value at Y and its gradient: 4 Σⱼ ∂F/∂k_y k_y' (yᵢ − yⱼ)."""
        return self._sums(Y, None)

    def gradient(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The same, under the name that solvers by small steps know."""
        return self._sums(Y, None)

    def gradient_of(self, Y: FloatArray, part: Any) -> FloatArray:
        """The gradient with ∂F/∂k_y replaced by a function of it."""
        return self._sums(Y, part)[1]

    def project(self, Y: FloatArray) -> FloatArray:
        """Y minus its mean; the loss does not depend on the mean."""
        return Centered().project(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """A direction minus its mean."""
        return Centered().project(G)

    def _sums(self, Y: FloatArray, part: Any) -> tuple[float, FloatArray]:
        points = np.asarray(Y, dtype=np.float64)
        total, gradient = 0.0, np.empty_like(points)
        step = max(1, _BLOCK // self.n)
        for first in range(0, self.n, step):
            rows = np.arange(first, min(first + step, self.n))
            apart = points[rows, None] - points[None, :]
            k, slope = self.objective.map_kernel(np.sum(np.square(apart), axis=2))
            value, by_kernel = self.objective.pair_loss(self.similarities[rows], k)
            factor = (by_kernel if part is None else part(by_kernel)) * slope
            itself = (np.arange(len(rows)), rows)
            total += float(np.sum(value) - np.sum(value[itself]))
            factor[itself] = 0.0
            gradient[rows] = 4 * np.sum(factor[:, :, None] * apart, axis=1)
        return total, gradient.astype(Y.dtype, copy=False)
