"""PCA as an objective of attractions and repulsions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....algebra import matmul, pinv
from ....checks import choice, refuse
from ....graph import Graph
from ....run import Run
from ....typing import FloatArray
from ..data_kernels import ALL_PAIRS, NewRows, Source, dense
from ..pca_problem import DenseGram, ExactDescent, FactoredGram, Gram, PcaProblem
from ..schedule import Schedule
from .base import Forces, Matrix, Objective, Sums


@dataclass(frozen=True)
class PCA(Objective):
    """Principal components: ‖C(K_X − YYᵀ)C‖², C the centring matrix.

    Steps have the optimal length, so that the loss never rises (Theorem 1); there are no rates to choose.

    Parameters
    ----------
    rank : int or None, default=None
        Rank of an approximation of the similarities, from which the forces are then computed. `history_` then contains the two sides of
        Lemma 3, "error" and "lemma3" (the condition is that the first is larger), and the cosine between the approximate
        and the exact gradient, "agreement". This serves to study the lemma, and takes longer, because the exact gradient is also computed.
        None uses the exact similarities.
    kernel_x : {"centered_linear", "linear", "rbf", "precomputed"}, default="centered_linear"
        Kernel on the data. "precomputed" takes X as a symmetric matrix of similarities.
    gamma : float or None, default=None
        γ of exp(−γ d²), for kernel_x="rbf"; None is 1 divided by the mean squared distance of two rows.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> pca = wk.AttractRepel(objective=wk.objectives.PCA(rank=20), max_iter=30, tol=0, random_state=0).fit(digits.X[:200])
    >>> bool(pca.history_["error"][0] > pca.history_["lemma3"][0])
    True
    """

    rank: int | None = None
    _: KW_ONLY
    kernel_x: str = "centered_linear"
    gamma: float | None = None

    any_scale: ClassVar[bool] = True
    schedule: ClassVar[Schedule] = Schedule("exact", 500, tol=1e-6)
    allowed_kernels: ClassVar[tuple[str, ...]] = ALL_PAIRS

    @property
    def keeps_unit(self) -> bool:
        """Inner products of rows become those of places."""
        return self.kernel_x in ("linear", "centered_linear")

    def usual_start(self, source: Source) -> str:
        """A random start, as in the paper's figure 2."""
        return "random"

    def memory(self, n: int, columns: int, itemsize: int, listed_together: float) -> float:
        """Centred rows in double precision, of a linear kernel; else all similarities. With a rank its factors too."""
        low = 40.0 * n * (self.rank or 0)
        if self.kernel_x not in ("linear", "centered_linear"):
            return 40.0 * n * n + low
        return (8.0 if itemsize == 8 else 16.0) * n * columns + 16.0 * min(n, columns) ** 2 + low

    def weights(self, source: Source, run: Run) -> Gram:
        """The centred similarities; of a linear kernel by a factor, without an n × n matrix."""
        factor = self.data_kernel.centred_factor(source)
        return DenseGram.of(self.data_kernel.gram(source, run)) if factor is None else FactoredGram(factor)

    def problem(self, weights: Gram, sums: Sums, run: Run) -> PcaProblem:
        """‖G − YYᵀ‖² of the centred similarities G."""
        return PcaProblem.of(weights, self.rank, run)

    def check_pairs(self, pairs: str) -> str:
        """Sums are exact, and there is no choice."""
        return choice("pairs", pairs, ("auto", "exact"))

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
        """The schedule, with the given parameters; solver and rates cannot be chosen."""
        why = 'with objective "pca", whose steps have the optimal length'
        if not (isinstance(solver, str) and solver == "auto"):
            refuse("solver", f'"auto" {why}', solver)
        for name, value in (
            ("learning_rate", learning_rate),
            ("exaggeration", exaggeration),
            ("exaggeration_iter", exaggeration_iter),
        ):
            if value is not None:
                refuse(name, f"None {why}", value)
        return self.schedule.changed(max_iter=max_iter, tol=tol)

    def solver(self, plan: Schedule, problem: PcaProblem) -> ExactDescent:
        """Conjugate gradients with steps of optimal length."""
        return ExactDescent(tol=plan.tol)

    def forces(self, problem: PcaProblem, weights: Gram, Y: Matrix) -> Forces:
        """Lemma 2: A and R are the centred similarities of data and map; k_y' is −½."""
        Z = Y - Y.mean(axis=0)
        value, gradient = problem.gradient(Y)

        def rule(i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
            return weights.entries(i, j), np.sum(Z[i] * Z[j], axis=1), np.full(len(i), -0.5)

        attractive, repulsive = -4 * weights.times(Z), 4 * matmul(Z, matmul(Z.T, Z))
        return Forces(self, value, gradient, attractive, repulsive, 8.0, len(Y), rule)

    def listed(self, n: int, graph: Graph | None) -> int:
        """One, to recognise a fitted row."""
        return 1

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """The y for which y·yⱼ is as close as possible to the new row's centred similarities gⱼ: (YᵀY)⁻¹Yᵀg, row by row."""
        points = np.asarray(Y, dtype=np.float64)
        points = points - points.mean(axis=0)
        solve = pinv(points)
        similar = self.data_kernel.centred_similarities(dense(new.fitted))
        return np.array([np.sum(solve * similar(row), axis=1) for row in new.own()])
