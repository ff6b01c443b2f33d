"""Atoms and codes found together (objective 6): alternating, by mini-batches, or by the gradient with respect to the atoms.

Rows come as an array, or in batches: from an array or memory map, or from any iterable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...data import as_matrix
from ...embedding import Frames, History, Status
from ...errors import InvalidInputError
from ...run import Run
from ...solvers import iterate
from ...solvers.alternating import Alternating, AlternatingState
from ...solvers.base import SolverState
from ...solvers.gradient import Adam
from ...typing import FloatArray
from ..rows import Rows, column_sums, stacked
from .coding import Coder, Codes, encode
from .dictionary import Sums, dictionary_gradient, reseed, start_atoms

TRAININGS = ("alternating", "minibatch", "gradient")
_FIRST_ROWS = 4096  # of batches, from which the start is taken; at least 8 for each atom
_ADAM_STEP = 0.05  # of the spread of the data

BatchSource = Callable[[], Iterable[Any]] | Iterable[Any]
Drawing = Callable[[sp.csr_array], FloatArray]  # the map that codes give


# ----------------------------------------------------------------------------------------------- batches


@dataclass(frozen=True, eq=False)
class ArrayBatches:
    """Batches of an array's rows, in a new random order each time; a memory map is read batch by batch."""

    rows: Rows
    size: int
    run: Run

    def epoch(self, number: int) -> Iterator[FloatArray]:
        """All rows once. The rows of a batch keep their order, so that files are read forwards."""
        n = self.rows.shape[0]
        order = self.run.stream("kds batches").permutation(n, start=number * n)
        for first in range(0, n, self.size):
            yield self.rows[np.sort(order[first : first + self.size])]

    def in_order(self) -> Iterator[FloatArray]:
        """All rows once, as they stand."""
        for first in range(0, self.rows.shape[0], self.size):
            yield self.rows[first : first + self.size]


@dataclass(frozen=True, eq=False)
class StreamBatches:
    """Batches from an iterable that can be iterated repeatedly, or from a function that returns an iterator."""

    source: BatchSource

    def __post_init__(self) -> None:
        if not callable(self.source) and iter(self.source) is self.source:
            raise InvalidInputError(
                "batches can only be iterated once (it is an iterator), but training needs several passes. Pass a list, "
                "or a function that returns a new iterator each time."
            )

    def epoch(self, number: int) -> Iterator[FloatArray]:
        """All batches once, in their own order, whatever the number."""
        return self.in_order()

    def in_order(self) -> Iterator[FloatArray]:
        """All batches once, each validated."""
        width: int | None = None
        for number, batch in enumerate(self.source() if callable(self.source) else self.source):
            rows = as_matrix(batch, name=f"batch {number}", min_rows=1)
            if width is not None and rows.shape[1] != width:
                raise InvalidInputError(
                    f"batch {number} has {rows.shape[1]} features, but those before it have {width}."
                )
            width = rows.shape[1]
            yield rows
        if width is None:
            raise InvalidInputError("batches contains no batch; at least one is needed.")


Batches = ArrayBatches | StreamBatches


def first_rows(batches: Batches, least: int) -> Rows:
    """Rows of the first batches, at least so many if there are."""
    parts: list[Rows] = []
    for batch in batches.epoch(0):
        parts.append(batch)
        if sum(part.shape[0] for part in parts) >= least:
            break
    return stacked(parts)


def encode_batches(batches: Batches, atoms: FloatArray, coder: Coder, run: Run, dtype: Any = None) -> Codes:
    """The Codes of all rows in their order, coded in the precision `dtype`, or in their own."""
    return Codes.of(
        [
            encode(batch if dtype is None else batch.astype(dtype, copy=False), atoms, coder, run)
            for batch in batches.in_order()
        ]
    )


# ---------------------------------------------------------------------------------------------- problems


@dataclass(frozen=True, eq=False)
class AtomsAndCodes:
    """The mean of objective (6) over rows, as a problem for `Alternating` and for `Adam`; Y are the atoms."""

    rows: Rows
    coder: Coder
    run: Run
    drawing: Drawing | None = None

    def best_other(
        self, Y: FloatArray, start: tuple[sp.csr_array, FloatArray] | None
    ) -> tuple[tuple[sp.csr_array, FloatArray], float]:
        """The codes by the atoms Y with each row's objective, and the mean of those."""
        codes = encode(self.rows, Y, self.coder, self.run, start=None if start is None else start[0])
        return (codes.matrix, codes.objective), float(codes.objective.mean())

    def best_first(self, other: tuple[sp.csr_array, FloatArray], Y: FloatArray) -> FloatArray:
        """The best atoms for the codes; unused atoms are moved to the rows that are coded worst."""
        codes, objective = other
        center = Y.mean(axis=0)
        sums = Sums.of(codes, self.rows, center, self.run)
        atoms = sums.best_atoms(self.coder.locality, Y - center) + center
        return reseed(atoms, np.flatnonzero(sums.usage <= 0), self.rows, objective)

    def gradient(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The mean objective and its gradient in the atoms, each row with its best code."""
        codes = encode(self.rows, Y, self.coder, self.run)
        center = Y.mean(axis=0)
        sums = Sums.of(codes.matrix, self.rows, center, self.run)
        slope = dictionary_gradient(sums, Y - center, self.coder.locality)
        return float(codes.objective.mean()), slope / self.rows.shape[0]

    def map_of(self, state: SolverState) -> FloatArray:
        """The map of the rows by the atoms of a state."""
        if isinstance(state, AlternatingState):
            return _drawn(self.drawing, state.other[0], state.Y)
        return _drawn(self.drawing, encode(self.rows, state.Y, self.coder, self.run).matrix, state.Y)


@dataclass(frozen=True, eq=False)
class BatchedRows:
    """Batches and how they are coded; `center` is the origin of all sums."""

    batches: Batches
    coder: Coder
    center: NDArray[np.float64]
    run: Run
    drawing: Drawing | None = None

    def map_of(self, state: SolverState) -> FloatArray:
        """The map of all rows by the atoms of a state."""
        codes = encode_batches(self.batches, state.Y, self.coder, self.run).matrix
        return _drawn(self.drawing, codes, state.Y)


def _drawn(drawing: Drawing | None, codes: sp.csr_array, atoms: FloatArray) -> FloatArray:
    return atoms if drawing is None else drawing(codes)


# -------------------------------------------------------------------------------------------- mini-batches


@dataclass(frozen=True)
class MinibatchState(SolverState):
    """Atoms, and the accumulated sums of the codes so far. The objective is measured during the pass, before each update."""

    products: NDArray[np.float64]
    usage: NDArray[np.float64]
    sums: NDArray[np.float64]
    seen: int


@dataclass(frozen=True)
class Minibatch:
    """Online dictionary learning: after each batch, the atoms are the best for the accumulated codes.

    A step is one pass over all batches. Older codes fade, so that the accumulated weight equals that of one pass. It has
    converged when a pass lowers the mean objective by at most `tol` times its value.
    """

    tol: float = 1e-4
    name: str = "mini-batches"
    expects_convergence = False

    def init(self, problem: BatchedRows, Y0: FloatArray) -> MinibatchState:
        """The start, nothing remembered."""
        m, d = Y0.shape
        return MinibatchState(0, Y0, np.nan, np.nan, np.zeros((m, m)), np.zeros(m), np.zeros((m, d)), 0)

    def step(self, problem: BatchedRows, state: MinibatchState) -> MinibatchState:
        """One walk."""
        memory = Sums(state.products, state.usage, state.sums)
        Y, coder, before = state.Y, problem.coder, state.seen
        total, walked = 0.0, 0
        used = np.zeros(len(Y))
        for batch in problem.batches.epoch(state.iteration):
            codes = encode(batch, Y, coder, problem.run)
            size = batch.shape[0]
            walked += size
            total += float(codes.objective.sum())
            new = Sums.of(codes.matrix, batch, problem.center, problem.run)
            # Each batch fades as rows come in: all of them weigh as one walk, the latest most.
            keep = 1.0 - size / max(size, before or walked)
            memory = memory.blended(new, keep)
            used += new.usage
            Y = memory.best_atoms(coder.locality, Y - problem.center) + problem.center
        unused = np.flatnonzero(used <= 0)
        Y = reseed(Y, unused, batch, codes.objective)
        memory = _forget(memory, unused)
        objective = total / walked
        residual = (state.objective - objective) / objective if objective else 0.0
        return MinibatchState(
            state.iteration + 1, Y, objective, residual, memory.products, memory.usage, memory.rows, walked
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


# ------------------------------------------------------------------------------------------------ training


@dataclass(frozen=True, eq=False)
class Training:
    """How atoms are found; `batch_size` is the number of rows in a mini-batch."""

    n_atoms: int
    coder: Coder
    method: str
    init: str | FloatArray
    batch_size: int
    max_iter: int
    tol: float


@dataclass(frozen=True, eq=False)
class Trained:
    """Atoms, the mean objective with them, and how they were found."""

    atoms: NDArray[np.float64]
    objective: float
    residual: float
    history: History
    status: Status
    frames: Frames | None


def _variances(rows: Rows) -> FloatArray:
    """The variance of each column."""
    if not sp.issparse(rows):
        return np.var(rows, axis=0, dtype=np.float64)
    n = rows.shape[0]
    squares = np.bincount(rows.indices, np.square(rows.data, dtype=np.float64), rows.shape[1])
    return np.maximum(squares / n - np.square(column_sums(rows) / n), 0.0)


def train(data: Rows | Batches, training: Training, run: Run, drawing: Drawing | None = None) -> Trained:
    """The atoms that `training` finds for rows, or for batches (then by mini-batches).

    Frames hold the maps that `drawing` makes of the codes, or the atoms.
    """
    if not isinstance(data, Batches) and training.method == "minibatch":
        data = ArrayBatches(data, training.batch_size, run)
    coder = training.coder
    solver: Any
    problem: Any
    if not isinstance(data, Batches):
        start = start_atoms(data, training.n_atoms, training.init, run)
        problem, solver = AtomsAndCodes(data, coder, run, drawing), Alternating(training.tol)
        if training.method == "gradient":
            spread = float(np.sqrt(np.mean(_variances(data))))
            solver = Adam(_ADAM_STEP * spread or 1.0, tol=0.0)
    else:
        first = first_rows(data, max(_FIRST_ROWS, 8 * training.n_atoms))
        start = start_atoms(first, training.n_atoms, training.init, run)
        problem, solver = BatchedRows(data, coder, start.mean(axis=0), run, drawing), Minibatch(training.tol)
    found = iterate(solver, problem, start, run, max_iter=training.max_iter)
    state = found.state
    return Trained(
        np.array(state.Y), state.objective, state.residual, found.history, found.status, found.frames
    )
