"""TSM on real data: what Saul (2023) and dense prototypes of its equations reach."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import DataWarning
from winkel.measures.angles import angular_deviation, jaccard, norm_error
from winkel.methods.tsm import svd_map

DIGITS = wk.datasets.load_digits().X


def scores(Y, tau):
    return (
        angular_deviation(DIGITS, Y, threshold=tau).value,
        jaccard(DIGITS, Y, threshold=tau).value,
        norm_error(DIGITS, Y).value,
    )


# At 99 % sparsity the threshold is 0.931. With 120 updates of dense matrices d = 8 has a deviation of 2.22 degrees and a
# Jaccard index of 0.616, d = 16 has 0.47 and 0.855 and a median norm error of 2.8 %; linear projections have 8.05 and
# 0.141, and 4.38 and 0.375.
@pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")
@pytest.mark.parametrize(
    ("d", "deviation", "index", "error", "linear"),
    [(8, 2.3, 0.61, 0.3, (8.05, 0.141)), (16, 0.5, 0.85, 0.03, (4.38, 0.375))],
)
def test_digits(d, deviation, index, error, linear):
    model = wk.TSM(d, norms="matched", random_state=0).fit(DIGITS)
    assert model.threshold_ == pytest.approx(0.931, abs=1e-3)
    found = scores(model.embedding_, model.threshold_)
    assert found[0] <= deviation
    assert found[1] >= index
    assert found[2] <= error
    before = scores(svd_map(DIGITS, d), model.threshold_)
    assert before[0] == pytest.approx(linear[0], rel=0.05)
    assert before[1] == pytest.approx(linear[1], abs=0.06)
    history = model.objective_history_
    assert model.objective_ < 0.05 * history[0]


def test_histogram_of_angles_keeps_most_nearest_neighbours():
    with pytest.warns(DataWarning, match="n_components above 3"):
        wk.TSM(3, max_iter=20, random_state=0).fit(DIGITS)
    shown = wk.TSM(sparsity=0.99, random_state=0).angle_histogram(DIGITS)
    assert shown.kept > 0.9
    assert np.isclose(shown.threshold, 0.931, atol=1e-3)
