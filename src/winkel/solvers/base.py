"""What a solver is, what it hands to the loop, and what the loop writes down."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..algebra import matmul, svd
from ..errors import InvalidParameterError
from ..typing import FloatArray

_COLUMNS = ("iteration", "objective", "residual", "seconds")
STATUS_WORDS = ("converged", "max_iter", "time_limit", "interrupted", "stopped", "failed")


@dataclass(frozen=True)
class Status:
    """How a run ended: a word that code can test and a sentence that a person can read.

    Attributes
    ----------
    word : str
        "converged", "max_iter", "time_limit", "interrupted", "stopped" or "failed".
    sentence : str
        The same in words, with numbers.
    """

    word: str
    sentence: str

    def __post_init__(self) -> None:
        if self.word not in STATUS_WORDS:
            raise InvalidParameterError(
                f"The word of a Status must be one of {', '.join(STATUS_WORDS)}; got {self.word!r}."
            )

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance."""
        return self.word == "converged"

    def __str__(self) -> str:
        return f"{self.word}: {self.sentence}"


@dataclass(frozen=True)
class SolverState:
    """Where a solver stands after so many steps; a solver adds its own fields in a frozen subclass.

    Every field is an array, a CSR matrix, a number, a string, None, or a list, tuple or dict of those: the
    loop writes them to checkpoints.

    Attributes
    ----------
    iteration : int
        The steps made.
    Y : ndarray
        The iterate.
    objective : float
        What is made small (a likelihood enters with a minus sign); NaN before the first step, if it is not yet known.
    residual : float
        What `tol` is compared with, or NaN.
    phase : int
        Counts stages whose objectives must not be compared, such as the levels of a coarse-to-fine fit.
    """

    iteration: int
    Y: FloatArray
    objective: float
    residual: float
    phase: int = field(default=0, kw_only=True)

    def extras(self) -> Mapping[str, float]:
        """Further numbers for the history, one column each; a subclass may override this."""
        return {}


ProblemT = TypeVar("ProblemT", contravariant=True)
StateT = TypeVar("StateT", bound=SolverState)


class Solver(Protocol[ProblemT, StateT]):
    """What the loop needs of a solver: `init`, `step` and `done`.

    `step` returns a new state with `iteration` one higher and never writes into the arrays of the state it
    was given (`dataclasses.replace` shares what did not change). The loop marks them read-only, so that the
    last complete iterate survives an interruption at any moment without a copy. A solver keeps nothing that
    matters outside its state: its own fields are settings. A solver whose runs have a fixed length sets
    `expects_convergence = False` and is not warned about at `max_iter`; without that attribute it is.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.solvers import SolverState, iterate
    >>> class Halving:
    ...     name = "halving"
    ...     expects_convergence = False
    ...     def init(self, problem, Y0):
    ...         return SolverState(0, Y0, float(np.sum(Y0**2)), np.nan)
    ...     def step(self, problem, state):
    ...         Y = state.Y / 2
    ...         return SolverState(state.iteration + 1, Y, float(np.sum(Y**2)), np.nan)
    ...     def done(self, state):
    ...         return None
    >>> iterate(Halving(), None, np.ones((2, 2)), max_iter=3).state.Y[0]
    array([0.125, 0.125])
    """

    @property
    def name(self) -> str:
        """The name that progress, warnings and checkpoints show."""

    def init(self, problem: ProblemT, Y0: FloatArray, /) -> StateT:
        """The state before the first step."""

    def step(self, problem: ProblemT, state: StateT, /) -> StateT:
        """The state after one more step."""

    def done(self, state: StateT, /) -> Status | None:
        """The status to stop with, or None to go on."""


@dataclass(frozen=True, eq=False)
class History(Mapping[str, NDArray[Any]]):
    """Read-only columns with one entry an iteration, the start included.

    It is a mapping from names to columns: the ones below, and whatever else the solver recorded.

    Attributes
    ----------
    iteration : ndarray
        Number of the iteration, from 0.
    objective : ndarray
        What the solver makes small.
    residual : ndarray
        What `tol` is compared with; NaN where it is not known.
    seconds : ndarray
        Time since the start, that before a checkpoint was continued included.
    """

    columns: Mapping[str, NDArray[Any]]

    def __post_init__(self) -> None:
        frozen = {}
        for name, column in self.columns.items():
            frozen[name] = np.array(column)
            frozen[name].flags.writeable = False
        if not {*_COLUMNS} <= frozen.keys() or {c.shape for c in frozen.values()} != {
            (len(frozen["iteration"]),)
        }:
            raise InvalidParameterError(
                f"A History needs columns of the same length, among them {', '.join(_COLUMNS)}."
            )
        object.__setattr__(self, "columns", MappingProxyType(frozen))

    @property
    def iteration(self) -> NDArray[np.int64]:
        return self.columns["iteration"]

    @property
    def objective(self) -> NDArray[np.float64]:
        return self.columns["objective"]

    @property
    def residual(self) -> NDArray[np.float64]:
        return self.columns["residual"]

    @property
    def seconds(self) -> NDArray[np.float64]:
        return self.columns["seconds"]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of recorded iterates: the iterations and the start."""
        return len(self.columns["iteration"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History) or list(self) != list(other):
            return False
        return all(np.array_equal(self[name], other[name], equal_nan=True) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({self.n_rows} rows: {', '.join(self.columns)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.columns),)


class Recorder:
    """A history that grows by one row at a time."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, float, float, float, dict[str, float]]] = []

    @classmethod
    def restored(cls, history: History) -> Recorder:
        """A recorder that goes on where `history` ends."""
        recorder = cls()
        extra = [name for name in history if name not in _COLUMNS]
        for row in range(history.n_rows):
            recorder._rows.append(
                (
                    int(history.iteration[row]),
                    float(history.objective[row]),
                    float(history.residual[row]),
                    float(history.seconds[row]),
                    {name: float(history[name][row]) for name in extra},
                )
            )
        return recorder

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, state: SolverState, seconds: float) -> None:
        """Add the row of `state`: one list append, so that an interruption cannot leave half a row."""
        extras = {name: float(value) for name, value in state.extras().items()}
        self._rows.append((state.iteration, float(state.objective), float(state.residual), seconds, extras))

    def history(self, n_rows: int | None = None) -> History:
        """The first `n_rows` rows as frozen columns; a number that a row lacks is NaN."""
        rows = self._rows[:n_rows]
        names = list(dict.fromkeys(name for row in rows for name in row[4]))
        columns: dict[str, NDArray[Any]] = {
            "iteration": np.array([row[0] for row in rows], dtype=np.int64),
            "objective": np.array([row[1] for row in rows], dtype=np.float64),
            "residual": np.array([row[2] for row in rows], dtype=np.float64),
            "seconds": np.array([row[3] for row in rows], dtype=np.float64),
        }
        for name in names:
            columns[name] = np.array([row[4].get(name, np.nan) for row in rows], dtype=np.float64)
        return History(columns)


@dataclass(frozen=True, eq=False)
class Frames:
    """Iterates kept on the way.

    Attributes
    ----------
    iteration : ndarray of shape (n_frames,)
        The steps after which each was kept.
    Y : ndarray of shape (n_frames, n, n_components)
        The maps, in single precision.
    """

    iteration: NDArray[np.int64]
    Y: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.iteration)

    def turned_to(self, Y: FloatArray) -> Frames:
        """The same frames, each turned or reflected about the origin to lie as near `Y` as it can.

        For maps that are found up to a rotation, which would otherwise jump from frame to frame.
        """
        turned = np.empty_like(self.Y)
        for frame, out in zip(self.Y, turned):
            left, _, right = svd(matmul(frame.astype(np.float64).T, Y))
            out[:] = matmul(frame, matmul(left, right))
        turned.flags.writeable = False
        return Frames(self.iteration, turned)


def digest(*arrays: NDArray[Any]) -> str:
    """A fingerprint of the dtype, shape and bytes of arrays, by which checkpoints know their problem.

    Parameters
    ----------
    *arrays : ndarray
        The arrays, in order.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.solvers import digest
    >>> digest(np.arange(3)) == digest(np.arange(3.0))
    False
    """
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        state.update(f"{array.dtype.str}{array.shape}".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()
