"""Status and History."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from winkel.errors import InvalidParameterError
from winkel.solvers import History, SolverState, Status
from winkel.solvers.loop import Recorder


def recorded(n_rows=3):
    class Noted(SolverState):
        def extras(self):
            return {"step": self.iteration / 2} if self.iteration else {}

    recorder = Recorder()
    for i in range(n_rows):
        recorder.append(Noted(i, np.zeros((2, 2)), 1.0 / (1 + i), np.nan), 0.5 * i)
    return recorder


def test_a_status_is_a_word_and_a_sentence():
    status = Status("converged", "It fell below tol.")
    assert str(status) == "converged: It fell below tol."
    assert status == Status("converged", "It fell below tol.")
    assert not Status("max_iter", "").converged


def test_a_status_has_one_of_the_known_words():
    with pytest.raises(InvalidParameterError, match="'fine'"):
        Status("fine", "")


def test_a_history_has_a_column_for_every_number_and_nan_where_one_is_missing():
    history = recorded().history()
    assert list(history) == ["iteration", "objective", "residual", "seconds", "step"]
    assert np.array_equal(history.iteration, [0, 1, 2])
    assert np.array_equal(history.objective, [1, 1 / 2, 1 / 3])
    assert np.isnan(history.residual).all()
    assert np.array_equal(history.seconds, [0, 0.5, 1])
    assert np.array_equal(history["step"], [np.nan, 0.5, 1], equal_nan=True)
    assert history.n_rows == 3
    assert repr(history) == "History(3 rows: iteration, objective, residual, seconds, step)"


def test_a_history_is_read_only():
    history = recorded().history()
    with pytest.raises(ValueError, match="read-only"):
        history.objective[0] = 0
    with pytest.raises(TypeError):
        history.columns["objective"] = None


def test_histories_are_equal_when_their_numbers_are():
    assert recorded().history() == recorded().history()
    assert recorded().history() != recorded(4).history()
    assert recorded(4).history(3) == recorded(3).history()
    assert recorded().history() != {"iteration": [0]}


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_read_only(make):
    history = recorded().history()
    again = make(history)
    assert again == history
    assert not again.objective.flags.writeable


def test_a_recorder_goes_on_where_a_history_ends():
    again = Recorder.restored(recorded(3).history())
    again.append(SolverState(3, np.zeros((2, 2)), 0.1, 0.2), 9.0)
    history = again.history()
    assert history.n_rows == 4
    assert np.array_equal(history["step"], [np.nan, 0.5, 1, np.nan], equal_nan=True)
    assert history.seconds[-1] == 9.0


def test_columns_must_be_complete_and_of_one_length():
    columns = {name: np.zeros(3) for name in ("iteration", "objective", "residual", "seconds")}
    assert History(columns).n_rows == 3
    for change in ({"objective": np.zeros(2)}, {"objective": np.zeros((3, 1))}, {"more": np.zeros(4)}):
        with pytest.raises(InvalidParameterError, match="same length"):
            History(columns | change)
    del columns["seconds"]
    with pytest.raises(InvalidParameterError, match="seconds"):
        History(columns)
