"""Who is told: bars, lines, and callbacks of scikit-learn's protocol."""

from __future__ import annotations

import io
import subprocess
import sys
import types

import numpy as np
import pytest

from winkel.errors import MissingDependencyError, NotConvergedWarning
from winkel.run import Run
from winkel.solvers import TaskCallbacks, progress

from .walk import START, Bowl, Countdown, Walk, run


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_unless_asked_for(capsys):
    run(Walk(), Bowl(), START, max_iter=3)
    assert capsys.readouterr() == ("", "")


def test_lines_are_shown_where_no_bar_can_be_drawn(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    run(Countdown(2), Bowl(), START, max_iter=3, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("countdown: iteration 1 of 3: objective 0.5, residual 0.5, ")
    assert lines[2] == "countdown: converged: Counted to 2."


def test_lines_come_now_and_then_only(capsys):
    run(Walk(), Bowl(), START, max_iter=500, verbose=True)
    assert 2 <= len(capsys.readouterr().err.splitlines()) < 20


def test_a_bar_is_shown_on_a_terminal(monkeypatch):
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(Countdown(2), Bowl(), START, max_iter=3, verbose=True)
    assert "countdown" in terminal.getvalue()
    last = terminal.getvalue().rpartition("\r")[2]
    assert "100%" in last
    assert "2/2" in last, "converged after two of three iterations: the bar is full"
    assert "converged" in last


@pytest.fixture
def notebook(monkeypatch):
    """Bars of a notebook that are made from here on."""
    made = []
    kind = pytest.importorskip("tqdm.notebook").tqdm
    pytest.importorskip("ipywidgets")

    class Noted(kind):
        def __init__(self, *args, **how):
            super().__init__(*args, display=False, **how)
            made.append(self)

    monkeypatch.setitem(sys.modules, "ipykernel", types.SimpleNamespace(version_info=(7, 0, 0)))
    monkeypatch.setattr("tqdm.auto.tqdm", Noted)
    return made


def test_a_bar_in_a_notebook_ends_well_when_a_run_converges_early(notebook):
    run(Countdown(2), Bowl(), START, max_iter=30, verbose=True)
    _, drawn, _ = notebook[0].container.children
    assert drawn.bar_style == "success"
    assert (drawn.value, drawn.max) == (2, 2)


def test_a_bar_in_a_notebook_stays_red_after_an_error(notebook):
    def fail(info):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run(Walk(), Bowl(), START, max_iter=30, verbose=True, callbacks=[fail])
    assert notebook[0].container.children[1].bar_style == "danger"


def test_steps_that_end_early_end_their_bar_in_a_notebook(notebook):
    for step in Run(verbose=True).progress(range(10), "counting"):
        if step == 3:
            break
    (bar,) = notebook
    assert bar.container.children[1].bar_style != "danger"
    assert bar.container.comm is None, "it is closed and gone"


def test_a_notebook_without_widgets_gets_a_bar_of_text(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    run(Countdown(2), Bowl(), START, max_iter=3, verbose=True)
    assert "2/2" in capsys.readouterr().err


def test_lines_are_shown_on_a_terminal_without_tqdm(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    run(Countdown(2), Bowl(), START, max_iter=3, verbose=True)
    assert terminal.getvalue().startswith("countdown: iteration 1 of 3")


def test_no_standard_error_is_no_reason_to_fail(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert run(Countdown(2), Bowl(), START, max_iter=3, verbose=True).status.converged


def test_plain_runs_import_neither_scikit_learn_nor_tqdm():
    code = (
        "import sys, numpy as np\n"
        "from winkel.solvers import GradientDescent, iterate\n"
        "class P:\n"
        "    def gradient(self, Y): return float((Y**2).sum()), 2 * Y\n"
        "from winkel.run import Run\n"
        "watched = Run(callbacks=(lambda info: None,))\n"
        "iterate(GradientDescent(0.1), P(), np.ones((3, 2)), watched, max_iter=200)\n"
        "print([name for name in ('sklearn', 'tqdm') if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


# ----------------------------------------------------------------------------------------------- scikit-learn


class Recording:
    """A callback of scikit-learn's protocol that remembers what it was told."""

    def __init__(self, stop_at=None, fail_in=None):
        self.stop_at = stop_at
        self.fail_in = fail_in
        self.calls = []
        self.fitted = []

    def _note(self, name, context):
        self.calls.append((name, context.task_name, context.task_id))
        if name == self.fail_in:
            raise RuntimeError(f"failed in {name}")

    def setup(self, estimator, context):
        assert context.max_subtasks == 4
        self._note("setup", context)

    def on_fit_task_begin(self, estimator, context):
        self._note("begin", context)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self._note("end", context)
        self.fitted.append(fitted_estimator)
        return context.task_name == "iteration" and context.task_id == self.stop_at

    def teardown(self, estimator, context):
        self._note("teardown", context)


@pytest.fixture
def sklearn_callback():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")


@pytest.mark.usefixtures("sklearn_callback")
class TestScikitLearnCallbacks:
    def test_hooks_are_called_around_the_run_and_every_iteration(self):
        recording = Recording()
        result = run(Walk(), Bowl(), START, max_iter=4, callbacks=[recording])
        iterations = [(hook, "iteration", i) for i in range(4) for hook in ("begin", "end")]
        assert recording.calls == [
            ("setup", "fit", 0),
            ("begin", "fit", 0),
            *iterations,
            ("end", "fit", 0),
            ("teardown", "fit", 0),
        ]
        assert [fitted.n_iter_ for fitted in recording.fitted[:4]] == [1, 2, 3, 4]
        assert recording.fitted[3].embedding_ is result.state.Y
        assert type(recording.fitted[3]).__name__ == "Walk"

    def test_a_hook_can_stop_the_run(self):
        recording = Recording(stop_at=1)
        result = run(Walk(), Bowl(), START, max_iter=4, callbacks=[recording])
        assert result.status.word == "stopped"
        assert result.n_iter == 2
        assert recording.calls[-1][0] == "teardown"

    def test_teardown_comes_after_an_interruption_too(self):
        recording = Recording()
        with pytest.warns(NotConvergedWarning):
            run(Walk(interrupt_at=2), Bowl(), START, max_iter=4, callbacks=[recording])
        assert [call[0] for call in recording.calls][-2:] == ["end", "teardown"]

    def test_teardown_comes_after_an_exception_too(self):
        good, bad = Recording(), Recording(fail_in="end")
        with pytest.raises(RuntimeError, match="failed in end"):
            run(Walk(), Bowl(), START, max_iter=4, callbacks=[good, bad])
        assert good.calls[-1][0] == "teardown"
        assert bad.calls[-1][0] == "teardown"

    def test_only_what_was_set_up_is_torn_down(self):
        bad, late = Recording(fail_in="setup"), Recording()
        with pytest.raises(RuntimeError, match="failed in setup"):
            run(Walk(), Bowl(), START, max_iter=4, callbacks=[bad, late])
        assert [call[0] for call in bad.calls] == ["setup", "teardown"]
        assert late.calls == []

    def test_an_estimator_hands_its_own_context_down(self, sklearn_callback):
        class Estimator(sklearn_callback.CallbackSupportMixin):
            @sklearn_callback.with_callbacks
            def fit(self):
                context = self._init_callback_context(max_subtasks=4)
                context.call_on_fit_task_begin(estimator=self)
                told = TaskCallbacks(self, context, lambda info: {"Y_": info.Y})
                self.run_ = run(Walk(), Bowl(), START, max_iter=4, callbacks=[told])
                context.call_on_fit_task_end(estimator=self)
                return self

        recording = Recording(stop_at=2)
        estimator = Estimator().set_callbacks(recording).fit()
        assert estimator.run_.status.word == "stopped"
        assert [call[0] for call in recording.calls] == [
            "setup",
            "begin",
            *["begin", "end"] * 3,
            "end",
            "teardown",
        ]
        assert np.array_equal(recording.fitted[2].Y_, estimator.run_.state.Y)


def test_an_old_scikit_learn_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    with pytest.raises(MissingDependencyError, match=r"scikit-learn 1\.9 or newer"):
        run(Walk(), Bowl(), START, max_iter=4, callbacks=[Recording()])
