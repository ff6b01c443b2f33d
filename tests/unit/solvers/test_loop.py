"""The loop: how runs end, and what they return when they do."""

from __future__ import annotations

import signal
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from winkel.errors import InvalidInputError, InvalidParameterError, NotConvergedWarning, WinkelError
from winkel.solvers import SolverState, iterate

from .walk import START, Bowl, Countdown, Walk, run


def test_a_converged_run_returns_its_last_state_and_whole_history():
    result = run(Countdown(5), Bowl(), START, max_iter=10)
    assert result.status.word == "converged"
    assert result.status.converged
    assert result.state.iteration == result.n_iter == 5
    assert np.array_equal(result.state.Y, START / 2**5)
    assert np.array_equal(result.history.iteration, np.arange(6))
    assert np.array_equal(result.history.objective, 1 / (1 + np.arange(6.0)))
    assert np.all(np.diff(result.history.seconds) >= 0)
    assert result.frames is None


def test_a_start_that_is_already_good_needs_no_step():
    result = run(Countdown(0), Bowl(), START, max_iter=10)
    assert result.status.converged
    assert result.n_iter == 0


def test_max_iter_is_a_status_and_a_warning_for_solvers_that_expect_to_converge():
    with pytest.warns(NotConvergedWarning, match="countdown: All max_iter=3 iterations"):
        result = run(Countdown(5), Bowl(), START, max_iter=3)
    assert result.status.word == "max_iter"
    assert result.n_iter == 3


def test_max_iter_is_no_warning_for_solvers_of_fixed_length():
    assert run(Walk(), Bowl(), START, max_iter=3).status.word == "max_iter"  # warnings are errors here


def test_the_warning_points_at_the_caller():
    with pytest.warns(NotConvergedWarning) as caught:
        iterate(Countdown(5), Bowl(), START, max_iter=1)
    assert caught[0].filename == __file__


def test_extra_numbers_become_columns_of_the_history():
    history = run(Walk(), Bowl(), START, max_iter=4).history
    assert list(history) == ["iteration", "objective", "residual", "seconds", "rate"]
    assert np.allclose(history["rate"], 0.97 ** np.arange(5))
    assert np.isnan(history.residual[0])


def test_a_time_limit_of_zero_makes_no_step():
    with pytest.warns(NotConvergedWarning, match="time limit of 0 s"):
        result = run(Walk(), Bowl(), START, max_iter=10, time_limit=0)
    assert result.status.word == "time_limit"
    assert result.n_iter == 0


def test_a_time_limit_ends_a_long_run(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("winkel.solvers.loop.time.perf_counter", lambda: float(next(clock)))
    with pytest.warns(NotConvergedWarning, match="time limit"):
        result = run(Walk(), Bowl(), START, max_iter=10_000, time_limit=100)
    assert result.status.word == "time_limit"
    assert 0 < result.n_iter < 100


def test_the_start_is_copied_and_states_are_read_only():
    start = START.copy()
    result = run(Walk(), Bowl(), start, max_iter=2)
    assert start.flags.writeable
    assert np.array_equal(start, START)
    for array in (result.state.Y, result.state.gram, *result.state.memory):
        assert not array.flags.writeable


def test_a_solver_that_writes_into_the_old_state_is_found_out():
    class InPlace(Walk):
        def step(self, problem, state):
            Y = state.Y
            Y += 1.0
            return replace(state, iteration=state.iteration + 1, Y=Y)

    with pytest.raises(ValueError, match="read-only"):
        run(InPlace(), Bowl(), START, max_iter=2)


def test_a_solver_that_does_not_count_is_found_out():
    class Stuck(Countdown):
        def step(self, problem, state):
            return state

    with pytest.raises(WinkelError, match="'countdown' went from iteration 0 to 0"):
        run(Stuck(3), Bowl(), START, max_iter=2)


# ----------------------------------------------------------------------------------------------- interruption


def best_of(history, n_rows):
    """The iteration of the lowest objective among the first rows, the last of equals."""
    values = history.objective[:n_rows]
    return int(np.flatnonzero(values == values.min())[-1])


def test_an_interruption_keeps_the_best_iterate():
    whole = run(Walk(seed=3), Bowl(), START, max_iter=40, keep_frames=100)
    with pytest.warns(NotConvergedWarning, match=r"walk: Interrupted by Ctrl-C in iteration 31\. The best"):
        result = run(Walk(seed=3, interrupt_at=31), Bowl(), START, max_iter=40)
    best = best_of(whole.history, 31)
    assert 0 < best < 30  # otherwise best and last could not be told apart
    assert result.status.word == "interrupted"
    assert result.n_iter == 30
    assert result.state.iteration == best
    assert result.state.objective == whole.history.objective[best]
    assert np.array_equal(result.state.Y.astype(np.float32), whole.frames.Y[best])
    assert f"of iteration {best} with objective" in result.status.sentence


@pytest.fixture
def ctrl_c():
    """Python's own handler, which it does not set where the shell has the signal ignored (as in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_real_signal_interrupts():
    def press_ctrl_c(info):
        if info.iteration == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(NotConvergedWarning, match="Interrupted"):
        result = run(Walk(), Bowl(), START, max_iter=40, callbacks=[press_ctrl_c])
    assert result.n_iter == 4


def test_an_interruption_of_the_solvers_start_is_not_caught():
    class Slow(Walk):
        def init(self, problem, Y0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Slow(), Bowl(), START, max_iter=1)


def test_a_second_interruption_goes_on(tmp_path, monkeypatch):
    def press_again(*args, **options):
        raise KeyboardInterrupt

    def press(info):
        monkeypatch.setattr("winkel.solvers.checkpoint.write_archive", press_again)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Walk(), Bowl(), START, max_iter=9, callbacks=[press], checkpoint=tmp_path / "c.wk")


def test_an_interruption_at_any_line_of_the_loop_leaves_a_consistent_result():
    whole = run(Walk(seed=3), Bowl(), START, max_iter=4, keep_frames=2)
    outcomes = {"interrupted": 0, "raised": 0, "max_iter": 0}
    line = 0
    while outcomes["max_iter"] == 0:
        line += 1
        left = line

        def trace(frame, event, argument):
            nonlocal left
            if "solvers/loop.py" not in frame.f_code.co_filename.replace("\\", "/"):
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            result = run_quietly()
        except KeyboardInterrupt:
            outcomes["raised"] += 1
            continue
        finally:
            sys.settrace(before)
        outcomes[result.status.word] += 1
        n_rows = result.n_iter + 1
        assert np.array_equal(result.history.objective, whole.history.objective[:n_rows])
        if result.status.word == "interrupted":
            assert result.state.iteration == best_of(whole.history, n_rows)
        assert np.all(result.frames.iteration <= result.n_iter)
    # Lines before the first iterate and after the last are the only ones that may raise.
    assert outcomes["interrupted"] > 4 * 20


def run_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return run(Walk(seed=3), Bowl(), START, max_iter=4, keep_frames=2)


# ------------------------------------------------------------------------------------------------ not finite


def test_an_iterate_that_is_not_finite_ends_the_run_and_says_where():
    with pytest.warns(NotConvergedWarning, match="Iteration 7 failed: row 3 of Y is not finite"):
        result = run(Walk(seed=3, fail_at=7), Bowl(), START, max_iter=40)
    assert result.status.word == "failed"
    assert result.n_iter == 6
    assert np.isfinite(result.state.Y).all()
    assert result.state.iteration == best_of(result.history, 7)


def test_an_objective_that_is_not_finite_ends_the_run():
    class Overflow(Countdown):
        def step(self, problem, state):
            return SolverState(state.iteration + 1, state.Y, np.inf, 0.0)

    with pytest.warns(NotConvergedWarning, match="the objective became inf"):
        result = run(Overflow(9), Bowl(), START, max_iter=40)
    assert result.state.iteration == 0
    assert np.array_equal(result.state.Y, START)


def test_the_objective_may_be_unknown_at_the_start_only():
    class Late(Countdown):
        def init(self, problem, Y0):
            return SolverState(0, Y0, np.nan, np.nan)

    class Never(Late):
        def step(self, problem, state):
            return SolverState(state.iteration + 1, state.Y, np.nan, np.nan)

    assert run(Late(3), Bowl(), START, max_iter=5).status.converged
    with pytest.warns(NotConvergedWarning, match="Iteration 1 failed: the objective became nan"):
        run(Never(3), Bowl(), START, max_iter=5)


def test_objectives_of_another_phase_are_not_compared():
    @dataclass(frozen=True)
    class Levels(Countdown):
        def step(self, problem, state):
            t = state.iteration + 1
            if t == 6:
                raise KeyboardInterrupt
            # The second phase starts far above the first, and goes up at its end.
            objective = [0, 3.0, 1.0, 90.0, 50.0, 60.0][t]
            return SolverState(t, state.Y, objective, 0.0, phase=int(t > 2))

    with pytest.warns(NotConvergedWarning, match="of iteration 4 with objective 50"):
        assert run(Levels(9), Bowl(), START, max_iter=9).state.iteration == 4


# ------------------------------------------------------------------------------------------------ callbacks


def test_callbacks_are_told_of_every_iteration():
    seen = []
    result = run(Walk(), Bowl(), START, max_iter=5, callbacks=[seen.append])
    assert [info.iteration for info in seen] == [1, 2, 3, 4, 5]
    assert [info.objective for info in seen] == list(result.history.objective[1:])
    assert seen[-1].Y is result.state.Y
    assert seen[-1].state is result.state
    assert seen[0].max_iter == 5


def test_a_callback_that_returns_true_stops_the_run_after_all_were_told():
    seen = []
    result = run(Walk(), Bowl(), START, max_iter=9, callbacks=[lambda info: info.iteration == 3, seen.append])
    assert result.status.word == "stopped"
    assert result.n_iter == 3
    assert len(seen) == 3


def test_an_exception_of_a_callback_goes_on():
    def fail(info):
        raise RuntimeError("my own mistake")

    with pytest.raises(RuntimeError, match="my own mistake"):
        run(Walk(), Bowl(), START, max_iter=9, callbacks=[fail])


@pytest.mark.parametrize("callback", [3, "print", Walk, None])
def test_what_cannot_be_called_is_refused(callback):
    with pytest.raises(InvalidParameterError, match="callbacks"):
        run(Walk(), Bowl(), START, max_iter=9, callbacks=[callback])


# ------------------------------------------------------------------------------------------------ frames


@pytest.mark.parametrize(
    ("most", "max_iter", "kept"),
    [
        (100, 4, [0, 1, 2, 3, 4]),
        (5, 4, [0, 1, 2, 3, 4]),
        (4, 4, [0, 2, 4]),
        (4, 20, [0, 8, 16]),
        (3, 20, [0, 8, 16]),
        (1, 9, [0]),
        (10, 0, [0]),
    ],
)
def test_frames_are_thinned_evenly(most, max_iter, kept):
    frames = run(Walk(), Bowl(), START, max_iter=max_iter, keep_frames=most).frames
    assert list(frames.iteration) == kept
    assert len(frames) == len(kept)
    assert frames.Y.shape == (len(kept), *START.shape)
    assert frames.Y.dtype == np.float32
    assert np.array_equal(frames.Y[0], START.astype(np.float32))
    assert not frames.Y.flags.writeable


def test_frames_of_other_points_are_let_go():
    class Finer(Countdown):
        def step(self, problem, state):
            Y = state.Y if state.iteration != 3 else np.concatenate([state.Y, state.Y])
            return SolverState(state.iteration + 1, Y, 1.0, 1.0)

    frames = run(Finer(6), Bowl(), START, max_iter=9, keep_frames=10).frames
    assert list(frames.iteration) == [4, 5, 6]
    assert frames.Y.shape == (3, 12, 2)


# ------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_iter", -1),
        ("max_iter", 2.5),
        ("max_iter", True),
        ("time_limit", -1.0),
        ("time_limit", float("nan")),
        ("keep_frames", -1),
        ("checkpoint_every", -1.0),
        ("checkpoint_iterations", 0),
    ],
)
def test_limits_that_mean_nothing_are_refused(name, value):
    with pytest.raises(InvalidParameterError, match=name):
        run(Walk(), Bowl(), START, **({"max_iter": 1} | {name: value}))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones(3), "two-dimensional"),
        (np.ones((2, 2), dtype=int), "floats"),
        (np.array([[0.0, 1.0], [np.inf, 0.0]]), "row 1"),
    ],
)
def test_a_start_that_cannot_be_used_is_refused(start, message):
    with pytest.raises(InvalidInputError, match=message):
        run(Walk(), Bowl(), start, max_iter=1)


def test_a_solver_whose_start_is_not_finite_is_refused():
    class Bad(Countdown):
        def init(self, problem, Y0):
            return SolverState(0, Y0 * np.nan, 1.0, 1.0)

    with pytest.raises(InvalidInputError, match="countdown: the start is not finite, first at row 0"):
        run(Bad(3), Bowl(), START, max_iter=1)
