"""`explain` against a case worked out by hand, scipy and what cannot be explained."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import ttest_ind

import winkel as wk
from winkel.errors import InvalidInputError


def test_a_case_worked_out_by_hand():
    # Column 0: means 3 and 1 of two rows each, variance of all 1 within none: (3 - 1) / 1. Column 1 is the same everywhere.
    X = np.array([[3.0, 5.0], [3.0, 5.0], [1.0, 5.0], [1.0, 5.0]])
    found = wk.explain(X, [0, 1], names=["a", "b"])
    assert found.columns == ("a", "b")
    np.testing.assert_allclose(found.effect, [2.0, 0.0])
    np.testing.assert_allclose(found.inside, [3.0, 5.0])
    np.testing.assert_allclose(found.p_value, [0.0, 1.0])
    assert (found.n_rows, found.n_others) == (2, 2)


def test_p_values_are_welchs_corrected_by_holm():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 6))
    rows = np.arange(80) < 25
    X[rows, 2] += 1
    found = wk.explain(X, rows)
    p = ttest_ind(X[rows], X[~rows], equal_var=False).pvalue
    order = np.argsort(p)
    holm = np.empty(6)
    holm[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(6, 0, -1)), 1)
    at = [int(name) for name in found.columns]
    np.testing.assert_allclose(found.p_value, holm[at], rtol=1e-10)
    assert at[0] == 2
    np.testing.assert_allclose(found.effect, (X[rows].mean(0) - X[~rows].mean(0))[at] / X.std(0)[at])
    sparse = wk.explain(sp.csr_matrix(X), np.flatnonzero(rows))
    assert sparse.columns == found.columns
    np.testing.assert_allclose(sparse.p_value, found.p_value, rtol=1e-8)


def test_chance_seldom_looks_like_a_difference():
    random = np.random.default_rng(1)
    alarms = [
        wk.explain(random.normal(size=(60, 30)), random.permutation(60)[:20]).p_value.min() < 0.05
        for _ in range(60)
    ]
    assert (
        np.mean(alarms) < 0.15
    )  # 5 % are expected of thirty columns together; without correction it would be 79


def test_it_prints_and_refuses():
    X = np.random.default_rng(2).normal(size=(30, 3))
    found = wk.explain(X, [1, 2, 3])
    assert "3 rows and 27 others" in str(found)
    assert "<table>" in found._repr_html_()
    pytest.importorskip("pandas")
    assert list(found.to_frame()["column"]) == list(found.columns)
    for rows, words in (
        ([], "some of the 30 rows"),
        ([40], "from 0 to 29"),
        ([0.5], "float64"),
        (np.ones(30, bool), "not all"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            wk.explain(X, np.asarray(rows, dtype=int) if len(rows) == 0 else rows)
    with pytest.raises(InvalidInputError, match="one name for each of the 3 columns"):
        wk.explain(X, [1], names=["a"])


def test_indicatrix_and_data_have_tables_for_a_notebook():
    digits = wk.datasets.load_digits()
    assert "10 different labels" in digits._repr_html_()
    table = wk.indicatrix(digits.X[:60], digits.X[:60, 20:22])._repr_html_()
    assert "reliability" in table
    assert "<table>" in table
