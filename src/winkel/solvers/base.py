"""The contract between a solver and the loop."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..embedding import Status
from ..typing import FloatArray


@dataclass(frozen=True)
class SolverState:
    """The state of a solver after a number of steps; a solver adds its own fields in a frozen subclass.

    Every field is an array, a CSR matrix, a number, a string, None, or a list, tuple or dict of those: the
    loop writes them to checkpoints.

    Attributes
    ----------
    iteration : int
        Number of steps made.
    Y : ndarray
        The iterate.
    objective : float
        The value that is minimized (a likelihood enters with a minus sign); NaN before the first step, if it is not yet known.
    residual : float
        The value that is compared with `tol`, or NaN.
    phase : int
        Number of the stage; objectives of different stages must not be compared, such as the levels of a coarse-to-fine fit.
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
    """The methods that the loop needs of a solver: `init`, `step` and `done`.

    `step` returns a new state with `iteration` one higher and never writes into the arrays of the state it
    was given (`dataclasses.replace` shares what did not change). The loop marks them read-only, so that the
    last complete iterate survives an interruption at any moment without a copy. A solver keeps nothing that
    matters outside its state: its own fields are settings. Reaching `max_iter` gives a warning, unless the solver sets
    `expects_convergence = False`, for runs of a fixed length.

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
        """The status with which to stop, or None to continue."""


def digest(*arrays: NDArray[Any]) -> str:
    """A fingerprint of the dtype, shape and bytes of arrays, by which checkpoints identify their problem.

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
