"""Who is notified during a run: the user's callbacks, scikit-learn's callbacks, and the screen."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ..embedding import Status
from ..errors import InvalidParameterError, MissingDependencyError
from ..run import bars, end_bar
from ..typing import FloatArray
from .base import SolverState

_HOOKS = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")
_SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True, eq=False)
class IterationInfo:
    """The information that a callback gets after every iteration.

    Attributes
    ----------
    iteration : int
        Number of iterations made.
    max_iter : int
        Largest number of iterations.
    Y : ndarray
        The iterate, read-only; copy it to keep and change it.
    objective : float
        The value that the solver minimizes.
    residual : float
        The value that is compared with `tol`, or NaN.
    seconds : float
        Time since the start.
    state : SolverState
        The complete state of the solver.
    """

    iteration: int
    max_iter: int
    Y: FloatArray
    objective: float
    residual: float
    seconds: float
    state: SolverState


Callback = Callable[[IterationInfo], bool | None]


class Listener:
    """An object that the loop notifies; subclasses override the methods they need."""

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        """The run of the solver called `name` starts after `iteration` iterations."""

    def begin(self) -> None:
        """An iteration starts."""

    def end(self, info: IterationInfo) -> bool:
        """An iteration ended; True asks the run to stop."""
        return False

    def close(self, status: Status | None) -> None:
        """The run ended with `status`, or with an exception (None). Called whenever `open` was."""


def listeners(callbacks: Sequence[object], verbose: bool | int) -> list[Listener]:
    """One listener for each plain callback, one for all callbacks of scikit-learn's kind, and one for the screen."""
    result: list[Listener] = []
    hooked: list[object] = []
    for callback in callbacks:
        if isinstance(callback, Listener):
            result.append(callback)
        elif all(hasattr(callback, hook) for hook in _HOOKS) and not isinstance(callback, type):
            hooked.append(callback)
        elif callable(callback) and not isinstance(callback, type):
            result.append(_Call(callback))
        else:
            raise InvalidParameterError(
                "Each of callbacks must be a function of one argument (an IterationInfo) that returns True "
                f"to stop, or an object of scikit-learn's callback protocol; got {callback!r}."
            )
    if hooked:
        result.append(_Hosted(hooked))
    if verbose:
        result.append(_display())
    return result


class _Call(Listener):
    """A plain function."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    def end(self, info: IterationInfo) -> bool:
        return bool(self._callback(info))


class TaskCallbacks(Listener):
    """Notifies the scikit-learn callbacks of an estimator; every iteration is one subtask of `context`.

    The estimator itself calls its hooks before and after the fit.

    Parameters
    ----------
    estimator : object
        The estimator that is being fitted.
    context : object
        The result of the estimator's `_init_callback_context(max_subtasks=max_iter)`.
    attributes : callable or None, default=None
        Returns, for an IterationInfo, the fitted attributes from which scikit-learn builds the `fitted_estimator` that some
        callbacks need.

    Examples
    --------
    >>> from winkel.solvers import TaskCallbacks
    >>> class Context:
    ...     "Stands in for scikit-learn's."
    ...     def subcontext(self, task_name):
    ...         print(task_name)
    ...         return self
    ...     def call_on_fit_task_begin(self, estimator):
    ...         pass
    >>> TaskCallbacks(object(), Context()).begin()
    iteration
    """

    def __init__(
        self,
        estimator: object,
        context: Any,
        attributes: Callable[[IterationInfo], Mapping[str, object]] | None = None,
    ) -> None:
        self._estimator = estimator
        self._context = context
        self._attributes = attributes
        self._task: Any = None

    def begin(self) -> None:
        self._task = self._context.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(estimator=self._estimator)

    def end(self, info: IterationInfo) -> bool:
        attributes = self._attributes
        lazy = None if attributes is None else lambda: dict(attributes(info))
        return bool(
            self._task.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=lazy)
        )


class _Hosted(Listener):
    """scikit-learn callbacks for a run outside any estimator; a small stand-in for an estimator holds them."""

    def __init__(self, callbacks: list[object]) -> None:
        self._callbacks = callbacks
        self._stack = ExitStack()
        self._context: Any = None

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        try:
            from sklearn.callback import CallbackSupportMixin
        except ImportError:
            raise MissingDependencyError(
                "Callbacks of scikit-learn's protocol need scikit-learn 1.9 or newer. "
                'Install it with: pip install --upgrade "scikit-learn>=1.9", or pass a plain function.'
            ) from None
        host_class = type(re.sub(r"\W", "", name.title()) or "Solver", (CallbackSupportMixin,), {})
        self._host = host_class()
        self._host.set_callbacks(*self._callbacks)
        try:
            self._context = self._host._init_callback_context(max_subtasks=max_iter - iteration)
        finally:
            # scikit-learn lists those whose setup has begun, in case one of them fails.
            for callback in getattr(self._host, "_skl_callbacks_to_teardown", ()):
                self._stack.callback(self._teardown, callback)
        self._tasks = TaskCallbacks(self._host, self._context, _fitted)
        self._context.call_on_fit_task_begin(estimator=self._host)

    def _teardown(self, callback: Any) -> None:
        callback.teardown(estimator=self._host, context=self._host._callback_fit_ctx)

    def begin(self) -> None:
        self._tasks.begin()

    def end(self, info: IterationInfo) -> bool:
        return self._tasks.end(info)

    def close(self, status: Status | None) -> None:
        with self._stack:
            if status is not None and self._context is not None:
                self._context.call_on_fit_task_end(estimator=self._host)


def _fitted(info: IterationInfo) -> dict[str, object]:
    return {"embedding_": info.Y, "objective_": info.objective, "n_iter_": info.iteration}


def _display() -> Listener:
    """A tqdm bar if one can be drawn and tqdm is installed, otherwise plain lines."""
    drawn = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    make = bars() if drawn else None
    return _Lines() if make is None else _Bar(make)


def _numbers(info: IterationInfo) -> str:
    return f"objective {info.objective:.6g}, residual {info.residual:.3g}"


class _Bar(Listener):
    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._bar: Any = None

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        self._bar = self._make(total=max_iter, initial=iteration, desc=name, unit="it", dynamic_ncols=True)

    def end(self, info: IterationInfo) -> bool:
        self._bar.set_postfix_str(_numbers(info), refresh=False)
        self._bar.update(1)
        return False

    def close(self, status: Status | None) -> None:
        if self._bar is None:
            return
        if status is None:  # an error: the bar stays where it stood
            self._bar.close()
            return
        self._bar.set_postfix_str(status.word, refresh=False)
        end_bar(self._bar)


class _Lines(Listener):
    """A line on standard error after the first iteration, every few seconds, and at the end."""

    def __init__(self) -> None:
        self._name = "solver"
        self._last = float("-inf")

    def open(self, name: str, iteration: int, max_iter: int) -> None:
        self._name = name

    def end(self, info: IterationInfo) -> bool:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self._write(
                f"iteration {info.iteration} of {info.max_iter}: {_numbers(info)}, {info.seconds:.1f} s"
            )
        return False

    def close(self, status: Status | None) -> None:
        if status is not None:
            self._write(str(status))

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)
