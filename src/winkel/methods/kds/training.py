"""Atoms and codes found together (objective 6): by turns, by mini-batches, or by the gradient in the atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import InvalidParameterError
from ...solvers import run
from ...solvers.alternating import Alternating
from ...solvers.base import History, SolverState, Status
from ...solvers.gradient import Adam
from ...typing import FloatArray
from .batches import ArrayBatches, Batches, first_rows
from .coding import Coder, encode
from .dictionary import Sums, dictionary_gradient, reseed, start_atoms

TRAININGS = ("alternating", "minibatch", "gradient")
BATCH_SIZE = 4096
_FIRST_ROWS = 4096  # of a stream, from which the start is taken; at least 8 for each atom
_ADAM_STEP = 0.05  # of the spread of the data


@dataclass(frozen=True, eq=False)
class AtomsAndCodes:
    """The mean of objective (6) over rows, as a problem for `Alternating` and for `Adam`; Y are the atoms."""

    rows: FloatArray
    coder: Coder

    def best_other(
        self, Y: FloatArray, start: tuple[sp.csr_array, FloatArray] | None
    ) -> tuple[tuple[sp.csr_array, FloatArray], float]:
        """The codes by the atoms Y with each row's objective, and the mean of those."""
        codes = encode(self.rows, Y, self.coder, None if start is None else start[0])
        return (codes.matrix, codes.objective), float(codes.objective.mean())

    def best_first(self, other: tuple[sp.csr_array, FloatArray], Y: FloatArray) -> FloatArray:
        """The best atoms for the codes; those that no row uses go where rows are coded worst."""
        codes, objective = other
        center = Y.mean(axis=0)
        sums = Sums.of(codes, self.rows, center, self.coder.n_jobs)
        atoms = sums.best_atoms(self.coder.locality, Y - center) + center
        return reseed(atoms, np.flatnonzero(sums.usage <= 0), self.rows, objective)

    def gradient(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The mean objective and its gradient in the atoms, each row with its best code."""
        codes = encode(self.rows, Y, self.coder)
        center = Y.mean(axis=0)
        sums = Sums.of(codes.matrix, self.rows, center, self.coder.n_jobs)
        slope = dictionary_gradient(sums, Y - center, self.coder.locality)
        return float(codes.objective.mean()), slope / len(self.rows)


@dataclass(frozen=True, eq=False)
class Stream:
    """Batches and how they are coded; `center` is the origin of all sums."""

    batches: Batches
    coder: Coder
    center: NDArray[np.float64]


@dataclass(frozen=True)
class MinibatchState(SolverState):
    """Atoms and what is remembered of the codes so far. The objective is that met on the way, before each update."""

    products: NDArray[np.float64]
    usage: NDArray[np.float64]
    sums: NDArray[np.float64]
    seen: int


@dataclass(frozen=True)
class Minibatch:
    """Online dictionary learning: after each batch the atoms are the best for the remembered codes.

    A step is one walk over all batches. Older codes fade, so that what is remembered weighs as one walk. It has
    converged when a walk lowers the mean objective by at most `tol` times its value.
    """

    tol: float = 1e-4
    name: str = "mini-batches"
    expects_convergence = False

    def init(self, problem: Stream, Y0: FloatArray) -> MinibatchState:
        """The start, nothing remembered."""
        m, d = Y0.shape
        return MinibatchState(0, Y0, np.nan, np.nan, np.zeros((m, m)), np.zeros(m), np.zeros((m, d)), 0)

    def step(self, problem: Stream, state: MinibatchState) -> MinibatchState:
        """One walk."""
        known = Sums(state.products, state.usage, state.sums)
        Y, coder, before = state.Y, problem.coder, state.seen
        total, walked = 0.0, 0
        used = np.zeros(len(Y))
        for batch in problem.batches.epoch(state.iteration):
            codes = encode(batch, Y, coder)
            walked += len(batch)
            total += float(codes.objective.sum())
            new = Sums.of(codes.matrix, batch, problem.center, coder.n_jobs)
            # Each batch fades as rows come in: all of them weigh as one walk, the latest most.
            keep = 1.0 - len(batch) / max(len(batch), before or walked)
            known = known.blended(new, keep)
            used += new.usage
            Y = known.best_atoms(coder.locality, Y - problem.center) + problem.center
        unused = np.flatnonzero(used <= 0)
        Y = reseed(Y, unused, batch, codes.objective)
        known = _forget(known, unused)
        objective = total / walked
        residual = (state.objective - objective) / objective if objective else 0.0
        return MinibatchState(
            state.iteration + 1, Y, objective, residual, known.products, known.usage, known.rows, walked
        )

    def done(self, state: MinibatchState) -> Status | None:
        """Converged when a walk changed little."""
        return Alternating.done(self, state)  # type: ignore[arg-type]


def _forget(sums: Sums, unused: NDArray[np.int64]) -> Sums:
    """The sums without what they hold of `unused` atoms."""
    if not len(unused):
        return sums
    products, usage, rows = sums.products.copy(), sums.usage.copy(), sums.rows.copy()
    products[unused] = 0.0
    products[:, unused] = 0.0
    usage[unused] = 0.0
    rows[unused] = 0.0
    return replace(sums, products=products, usage=usage, rows=rows)


@dataclass(frozen=True)
class Plan:
    """How atoms are to be found."""

    n_atoms: int
    training: str = "alternating"
    init: str | FloatArray = "kmeans++"
    max_iter: int = 50
    tol: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        if self.training not in TRAININGS:
            raise InvalidParameterError(
                f"training must be one of {', '.join(map(repr, TRAININGS))}; got {self.training!r}."
            )


@dataclass(frozen=True, eq=False)
class Trained:
    """Atoms, the mean objective with them, and how they were found."""

    atoms: NDArray[np.float64]
    objective: float
    residual: float
    history: History
    status: Status


def train(
    data: FloatArray | Batches,
    coder: Coder,
    plan: Plan,
    *,
    verbose: bool | int = False,
    callbacks: Sequence[object] = (),
    time_limit: float | None = None,
) -> Trained:
    """The atoms that `plan.training` finds for rows, or for batches (then by mini-batches)."""
    solver: Any
    problem: Any
    if isinstance(data, np.ndarray) and plan.training == "minibatch":
        data = ArrayBatches(data, BATCH_SIZE, plan.seed)
    if isinstance(data, np.ndarray):
        start = start_atoms(data, plan.n_atoms, plan.init, plan.seed)
        problem = AtomsAndCodes(data, coder)
        solver = Alternating(plan.tol)
        if plan.training == "gradient":
            spread = float(np.sqrt(np.mean(np.var(data, axis=0, dtype=np.float64))))
            solver = Adam(_ADAM_STEP * spread or 1.0, tol=0.0)
    else:
        some = first_rows(data, max(_FIRST_ROWS, 8 * plan.n_atoms))
        start = start_atoms(some, plan.n_atoms, plan.init, plan.seed)
        problem, solver = Stream(data, coder, start.mean(axis=0)), Minibatch(plan.tol)
    result = run(
        solver,
        problem,
        start,
        max_iter=plan.max_iter,
        verbose=verbose,
        callbacks=callbacks,
        time_limit=time_limit,
    )
    state = result.state
    return Trained(np.array(state.Y), state.objective, state.residual, result.history, result.status)
