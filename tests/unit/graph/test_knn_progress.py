"""`knn` while it runs: progress on the error stream, and interruption between steps."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.graph import knn
from winkel.run import Run

from .knn_oracle import clustered

X = clustered(1200, 6)
WAYS = {
    "exact neighbours": lambda **how: knn(X, 5, method="exact", **how),
    "approximate neighbours": lambda **how: knn(X, 5, method="approximate", random_state=0, **how),
    "exact neighbours (sparse)": lambda **how: knn(sp.csr_matrix(X), 5, **how),
    "distances by a function": lambda **how: knn(list(range(30)), 5, metric=lambda a, b: abs(a - b), **how),
}


@pytest.mark.parametrize("name", WAYS)
def test_progress_is_shown_on_stderr_when_asked_for(name, capsys):
    pytest.importorskip("tqdm")
    quiet = WAYS[name]()
    silent = capsys.readouterr()
    assert silent.out == silent.err == ""
    shown = WAYS[name](verbose=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert name.removesuffix(" (sparse)") in told.err
    np.testing.assert_array_equal(quiet.knn_indices, shown.knn_indices)


@pytest.mark.parametrize("name", WAYS)
def test_progress_without_tqdm(name, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    WAYS[name](verbose=True)
    assert capsys.readouterr().err == f"winkel: {name.removesuffix(' (sparse)')}\n"


@pytest.mark.parametrize("name", WAYS)
def test_interruption_comes_through_and_leaves_nothing_behind(name, monkeypatch):
    def interrupted(run, steps, what):
        yield next(iter(steps))
        raise KeyboardInterrupt

    before = WAYS[name]()
    with monkeypatch.context() as patch:
        patch.setattr(Run, "progress", interrupted)
        with pytest.raises(KeyboardInterrupt):
            WAYS[name](verbose=True)
    np.testing.assert_array_equal(WAYS[name]().knn_indices, before.knn_indices)
