"""The one loop that drives every solver."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, optional
from ..embedding import HISTORY_COLUMNS, Frames, History, Status
from ..errors import InvalidInputError, NotConvergedWarning, WinkelError
from ..run import Run
from ..typing import FloatArray
from .base import Solver, SolverState, StateT
from .checkpoint import Checkpoint, Mark, identity
from .progress import IterationInfo, Listener, listeners

AnyProblem = TypeVar("AnyProblem")


@dataclass(frozen=True, eq=False)
class Outcome(Generic[StateT]):
    """The result of the loop.

    Attributes
    ----------
    state : SolverState
        The state to use: the last one or, after an interruption or failure, the best one.
    history : History
        Objective, residual and seconds of every iteration.
    status : Status
        How it ended.
    frames : Frames or None
        Intermediate iterates, if requested.
    """

    state: StateT
    history: History
    status: Status
    frames: Frames | None

    @property
    def n_iter(self) -> int:
        """Number of iterations made, even if `state` is the best of them and not the last."""
        return int(self.history.iteration[-1])


def iterate(
    solver: Solver[AnyProblem, StateT],
    problem: AnyProblem,
    Y0: FloatArray,
    run: Run | None = None,
    *,
    max_iter: int,
    checkpoint_iterations: int | None = None,
    fingerprint: Mapping[str, object] | None = None,
) -> Outcome[StateT]:
    """The Outcome of `solver` on `problem` from `Y0`, with the callbacks and limits of `run`.

    The loop ends when the solver is done, after `max_iter` iterations in all, when the time limit of `run` has passed,
    or when a callback returns True; the last iterate is then the result. Ctrl-C, or an iterate that is
    not finite, ends it with the best iterate so far (lowest objective within the current phase) and a
    NotConvergedWarning; a second Ctrl-C, while that result is being assembled, is not caught. An exception
    from a step or a callback ends it with that exception.

    The checkpoint file of `run` is written at the start, then every `checkpoint_every` seconds, and when the loop ends for
    any reason except failure; also before an exception is passed on. If a checkpoint exists, the run continues from it and
    ends with the same bytes as a run that was never stopped.

    Parameters
    ----------
    solver : Solver
        The solver that makes the steps.
    problem : object
        The problem of the solver.
    Y0 : array of shape (n, n_components)
        The start.
    run : Run or None, default=None
        Callbacks, limits, checkpoint and the number of iterates to keep; None has none of these.
    max_iter : int
        Largest number of iterations, including those before a checkpoint.
    checkpoint_iterations : int or None, default=None
        Also write a checkpoint after each of this number of iterations.
    fingerprint : mapping or None, default=None
        Identifies the problem and everything that matters: a checkpoint of another solver, start or fingerprint is refused.

    Returns
    -------
    Outcome
        The state to use, the history, how it ended, and kept iterates.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.solvers import GradientDescent, iterate
    >>> class Bowl:
    ...     def gradient(self, Y):
    ...         return float(np.sum(Y**2)), 2 * Y
    >>> outcome = iterate(GradientDescent(0.25), Bowl(), np.ones((3, 2)), max_iter=100)
    >>> bool(outcome.state.objective < 1e-9)
    True
    """
    run = Run() if run is None else run
    max_iter = integer("max_iter", max_iter, 0)
    checkpoint_iterations = optional(integer, "checkpoint_iterations", checkpoint_iterations, 1)
    start = _checked_start(Y0)
    audience = listeners(run.callbacks, run.verbose) if run.callbacks or run.verbose else []
    store = None
    if run.checkpoint is not None:
        whole_fingerprint = {**(fingerprint or {}), **run.fingerprint}
        store = Checkpoint(run.checkpoint, identity(solver, problem, start, whole_fingerprint))
    loop = _Loop(solver, problem, max_iter, run)
    loop.begin(start, store)
    loop.save_every(run.checkpoint_every, checkpoint_iterations)
    return loop.finish(loop.drive(audience))


class Recorder:
    """A history that grows by one row at a time."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, float, float, float, dict[str, float]]] = []

    @classmethod
    def restored(cls, history: History) -> Recorder:
        """A recorder that goes on where `history` ends."""
        recorder = cls()
        extra = [name for name in history if name not in HISTORY_COLUMNS]
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


class _Loop(Generic[AnyProblem, StateT]):
    """One run. Its complete state is in `self._mark`, which is replaced by a single assignment."""

    _mark: Mark[StateT]

    def __init__(
        self,
        solver: Solver[AnyProblem, StateT],
        problem: AnyProblem,
        max_iter: int,
        run: Run,
    ) -> None:
        self._solver = solver
        self._problem = problem
        self._max_iter = max_iter
        self._run = run
        self._recorder = Recorder()
        self._started = time.perf_counter()
        self._seconds_before = 0.0

    # ---------------------------------------------------------------------------------------- start and end

    def begin(self, Y0: FloatArray, store: Checkpoint | None) -> None:
        """Set the first mark: from the checkpoint, or from the solver's start."""
        self._store = store
        first = self._solver.init(self._problem, Y0)
        if store is not None and store.path.exists():
            self._mark, history, self._seconds_before = store.load(type(first))
            self._recorder = Recorder.restored(history)
            return
        bad = _bad_row(first.Y)
        if bad is not None:
            raise InvalidInputError(f"{self._solver.name}: the start is not finite, first at row {bad}.")
        self._commit(first)
        if store is not None:
            # At once, so that a missing folder or a state that cannot be saved shows before the work.
            store.save(self._mark, self._history(), self._seconds())

    def save_every(self, seconds: float, iterations: int | None) -> None:
        """Set when checkpoints are written, counted from now."""
        self._every = (seconds, iterations)
        self._saved = (time.perf_counter(), self._mark.state.iteration)

    def drive(self, audience: list[Listener]) -> Status:
        """How the iterations ended."""
        self._status: Status | None = None
        with ExitStack() as closing:
            try:
                for listener in audience:
                    closing.callback(self._close, listener)
                    listener.open(self._solver.name, self._mark.state.iteration, self._max_iter)
                self._status = self._iterate(audience)
            except KeyboardInterrupt:
                iteration = self._mark.state.iteration + 1
                self._status = Status("interrupted", f"Interrupted by Ctrl-C in iteration {iteration}.")
            except BaseException:
                self._save()
                raise
        return self._status

    def _close(self, listener: Listener) -> None:
        listener.close(self._status)

    def finish(self, status: Status) -> Outcome[StateT]:
        """The result that belongs to `status`, with the warning that is due."""
        mark = self._mark
        state = mark.state
        if status.word in ("interrupted", "failed"):
            state = mark.best
            kept = f"iteration {state.iteration} with objective {state.objective:.6g}"
            status = Status(status.word, f"{status.sentence} The best iterate, that of {kept}, is kept.")
        if status.word != "failed":
            self._save()
        expects = getattr(self._solver, "expects_convergence", True)
        if status.word in ("interrupted", "failed", "time_limit") or (status.word == "max_iter" and expects):
            warnings.warn(f"{self._solver.name}: {status.sentence}", NotConvergedWarning, stacklevel=3)
        return Outcome(state, self._history(), status, _stacked(mark.frames))

    # ---------------------------------------------------------------------------------------- between

    def _iterate(self, audience: list[Listener]) -> Status:
        stop = False
        while True:
            status = self._verdict(stop)
            if status is not None:
                return status
            for listener in audience:
                listener.begin()
            failure = self._advance()
            if failure is not None:
                return failure
            info = self._info()
            stop = False
            for listener in audience:
                stop |= listener.end(info)  # all listeners are notified, even after one asked to stop
            if self._save_is_due():
                self._save()

    def _verdict(self, stop: bool) -> Status | None:
        """The status to end with now, or None."""
        state = self._mark.state
        status = self._solver.done(state)
        if status is not None:
            return status
        if stop:
            return Status("stopped", f"A callback stopped the run after iteration {state.iteration}.")
        if state.iteration >= self._max_iter:
            reached = "" if math.isnan(state.residual) else f" with residual {state.residual:.3g}"
            return Status("max_iter", f"All max_iter={self._max_iter} iterations were made{reached}.")
        if self._run.out_of_time:
            return Status(
                "time_limit",
                f"The time limit of {self._run.time_limit:g} s was reached after {state.iteration} iterations.",
            )
        return None

    def _advance(self) -> Status | None:
        """Make one step and commit it, or say why it cannot be used."""
        before = self._mark.state.iteration
        state = self._solver.step(self._problem, self._mark.state)
        if state.iteration != before + 1:
            raise WinkelError(
                f"The solver {self._solver.name!r} went from iteration {before} to {state.iteration}; "
                "a step must add one."
            )
        bad = _bad_row(state.Y)
        if bad is None and math.isfinite(state.objective):
            self._commit(state)
            return None
        what = f"the objective became {state.objective}" if bad is None else f"row {bad} of Y is not finite"
        return Status(
            "failed",
            f"Iteration {state.iteration} failed: {what}. "
            "Smaller steps, another start or rescaled data may help.",
        )

    def _commit(self, state: StateT) -> None:
        for name in state.__dataclass_fields__:
            _freeze(getattr(state, name))
        self._recorder.append(state, self._seconds())
        old = getattr(self, "_mark", None)
        best = state if old is None or not _stays_best(old.best, state) else old.best
        frames, stride = ((), 1) if old is None else (old.frames, old.stride)
        map_of = getattr(self._problem, "map_of", _iterate_of)
        frames, stride = _keep_frame(frames, stride, state, self._run.keep_frames, map_of)
        self._mark = Mark(state, best, len(self._recorder), frames, stride)

    def _seconds(self) -> float:
        return self._seconds_before + time.perf_counter() - self._started

    def _history(self) -> History:
        return self._recorder.history(self._mark.n_rows)

    def _info(self) -> IterationInfo:
        state = self._mark.state
        return IterationInfo(
            iteration=state.iteration,
            max_iter=self._max_iter,
            Y=state.Y,
            objective=state.objective,
            residual=state.residual,
            seconds=self._seconds(),
            state=state,
        )

    def _save_is_due(self) -> bool:
        seconds, iterations = self._every
        when, iteration = self._saved
        if iterations is not None and self._mark.state.iteration - iteration >= iterations:
            return True
        return time.perf_counter() - when >= seconds

    def _save(self) -> None:
        """Write the checkpoint. If the disk fails, the run continues: it is worth more than its checkpoint."""
        if self._store is None:
            return
        try:
            self._store.save(self._mark, self._history(), self._seconds())
        except OSError as error:
            warnings.warn(
                f"The checkpoint {str(self._store.path)!r} could not be written ({error}); "
                "the run continues without it.",
                RuntimeWarning,
                stacklevel=2,
            )
        self._saved = (time.perf_counter(), self._mark.state.iteration)


def _checked_start(Y0: FloatArray) -> FloatArray:
    """A copy of Y0, which the run may keep and mark read-only."""
    start = np.array(Y0, order="C")
    if start.ndim != 2 or not np.issubdtype(start.dtype, np.floating):
        raise InvalidInputError(
            f"Y0 must be a two-dimensional array of floats; got shape {start.shape}, dtype {start.dtype}."
        )
    bad = _bad_row(start)
    if bad is not None:
        raise InvalidInputError(f"Y0 must be finite; row {bad} is not.")
    return start


def _bad_row(Y: FloatArray) -> int | None:
    """The first row with a NaN or an infinity, or None."""
    finite = np.isfinite(Y)
    if finite.all():
        return None
    return int(np.argmin(finite.reshape(len(Y), -1).all(axis=1)))


def _freeze(value: Any) -> None:
    """Mark every array in `value` read-only."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, list | tuple):
        for item in value:
            _freeze(item)
    elif isinstance(value, Mapping):
        _freeze(list(value.values()))


def _stays_best(best: SolverState, new: SolverState) -> bool:
    """Whether `best` is still better than `new`; if both are equal, the newer one counts as better."""
    return best.phase == new.phase and best.objective < new.objective


def _iterate_of(state: SolverState) -> FloatArray:
    return state.Y


def _keep_frame(
    frames: tuple[tuple[int, FloatArray], ...],
    stride: int,
    state: SolverState,
    most: int,
    map_of: Callable[[SolverState], FloatArray],
) -> tuple[tuple[tuple[int, FloatArray], ...], int]:
    """The frames together with that of `state`, if it is due; if there are too many frames, every second one is dropped."""
    if most == 0 or state.iteration % stride:
        return frames, stride
    Y = map_of(state)
    if frames and frames[-1][1].shape != Y.shape:
        frames = ()  # a coarser level had other points; its frames cannot be shown with these
    with np.errstate(over="ignore"):
        frames = (*frames, (state.iteration, Y.astype(np.float32)))
    while len(frames) > most:
        stride *= 2
        frames = tuple(frame for frame in frames if frame[0] % stride == 0)
    return frames, stride


def _stacked(frames: tuple[tuple[int, FloatArray], ...]) -> Frames | None:
    if not frames:
        return None
    iteration = np.array([number for number, _ in frames], dtype=np.int64)
    Y = np.stack([frame for _, frame in frames])
    _freeze([iteration, Y])
    return Frames(iteration, Y)
