"""A call looks at the values of each of its inputs once: a Table travels inward, and nothing asks again.

A scan is a call of `dense_matrix` or `sparse_matrix`, the only functions that look whether every value can be used. Inputs are
told apart by their shapes, so a part of the data that is validated anew, or a map that is validated twice, shows as well.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.cli import main
from winkel.data import table as table_module
from winkel.estimators import registry

from ..estimators import make, rows

X, NEW = rows(60, 5), rows(9, 5, seed=1)
Y = np.ascontiguousarray(X[:, :2])
LABELS = np.arange(60) % 3

pytestmark = [
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
]
each = pytest.mark.parametrize("name", registry.names())


@pytest.fixture
def scans(monkeypatch):
    """How often a matrix of each shape was looked at since the test began."""
    found: Counter[tuple[int, ...]] = Counter()
    for function in ("dense_matrix", "sparse_matrix"):
        real = getattr(table_module, function)

        def counted(values, *args, real=real):
            found[values.shape] += 1
            return real(values, *args)

        monkeypatch.setattr(table_module, function, counted)
    return found


def test_a_table_is_not_looked_at_again(scans):
    table = wk.data.as_table(X)
    assert scans == {X.shape: 1}
    wk.data.as_table(table)
    wk.data.as_matrix(table.rows(slice(0, 20)))
    assert scans == {X.shape: 1}
    wk.data.as_table(wk.data.Table(X))  # made by hand: nobody has looked at it
    assert scans == {X.shape: 2}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_neighbours(scans, kind):
    wk.graph.knn(kind(X), 4)
    assert scans == {X.shape: 1}
    wk.graph.knn_query(NEW, kind(X), 4)
    assert scans == {X.shape: 2, NEW.shape: 1}


def test_precomputed_distances(scans):
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    wk.graph.knn(D, 4, metric="precomputed")
    assert scans == {D.shape: 1}


@each
def test_estimators(scans, name):
    model = make(name).fit(X)
    assert scans == {X.shape: 1}
    model.transform(NEW)
    assert scans == {X.shape: 1, NEW.shape: 1}
    make(name).fit_transform(X)
    assert scans == {X.shape: 2, NEW.shape: 1}


@each
def test_estimators_take_a_table_for_nothing(scans, name):
    table, new = wk.data.as_table(X), wk.data.as_table(NEW)
    scans.clear()
    make(name).fit(table).transform(new)
    assert scans == {}


@each
def test_a_verbose_fit_measures_the_table_it_has(scans, name, capsys):
    make(name, verbose=True).fit(X)
    assert scans[X.shape] == 1
    assert all(count == 1 for count in scans.values())
    capsys.readouterr()


def test_faithfulness(scans):
    fitted = make("MDE").fit(X)
    scans.clear()
    fitted.faithfulness(X)
    assert scans == {X.shape: 1, Y.shape: 1}


@pytest.mark.parametrize(
    "call",
    [
        lambda X: wk.measure(X, Y, labels=LABELS),
        lambda X: wk.indicatrix(X, Y),
        lambda X: wk.compare(X, {"map": Y, "again": make("MDE")}, labels=LABELS),
        lambda X: wk.stability(make("MDE"), X, n_runs=2),
        lambda X: wk.null_test(make("MDE"), X, n_repeats=2, n_neighbors=5),
        lambda X: wk.tune(make("MDE"), X, {"n_neighbors": [5, 6]}, n_runs=2),
    ],
    ids=["measure", "indicatrix", "compare", "stability", "null_test", "tune"],
)
def test_judging(scans, call):
    call(X)
    assert scans[X.shape] == 1
    parts = {shape for shape in scans if shape[1] == X.shape[1]} - {X.shape}
    assert not parts, "a part of the data was validated anew"


def test_maps_that_are_judged(scans):
    wk.measure(X, Y, labels=LABELS)
    wk.indicatrix(X, Y)
    assert scans == {X.shape: 2, Y.shape: 2}
    scans.clear()
    wk.compare(X, {"one": Y, "in three": X[:, :3], "MDE": make("MDE", n_components=4)})
    assert scans == {X.shape: 1, Y.shape: 1, (60, 3): 1, (60, 4): 1}


def test_pages(scans, tmp_path):
    wk.write_html(tmp_path / "page.html", Y, labels=LABELS)
    assert scans[Y.shape] <= 1
    assert scans.total() <= 1


def test_the_command_line(scans, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    assert main(["embed", "rows.npy", "-o", "map.csv", "--set", "max_iter=5", "--seed", "0"]) == 0
    capsys.readouterr()
    assert scans[X.shape] == 1
