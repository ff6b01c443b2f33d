"""Checks of quality.py against scikit-learn and cases worked out by hand (`pytest benchmarks`)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from benchmarks import quality
from benchmarks.report import exponent, number


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 12))
    return X, X[:, :2] + 0.3 * random.normal(size=(300, 2)), (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(quality, "BLOCK_BYTES", 8 * 300 * 7)


@pytest.mark.usefixtures("small_blocks")
def test_exact_neighbors_are_those_of_scikit_learn(data):
    X = data[0]
    rows = quality.sample_rows(len(X), 100)
    distances, indices = NearestNeighbors(n_neighbors=9).fit(X).kneighbors()
    found = quality.exact_neighbors(X, rows, 9)
    np.testing.assert_array_equal(found[0], indices[rows])
    np.testing.assert_allclose(found[1], distances[rows], rtol=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_trustworthiness_of_all_rows_is_that_of_scikit_learn(data):
    X, Y, _ = data
    found = quality.trustworthiness(X, Y, np.arange(len(X)), 15)
    assert found == pytest.approx(trustworthiness(X, Y, n_neighbors=15), abs=1e-12)


def test_trustworthiness_of_a_sample_is_near_that_of_all(data):
    X, Y, _ = data
    rows = quality.sample_rows(len(X), 150)
    assert quality.trustworthiness(X, Y, rows, 15) == pytest.approx(
        trustworthiness(X, Y, n_neighbors=15), abs=0.02
    )


@pytest.mark.usefixtures("small_blocks")
def test_label_accuracy_is_that_of_scikit_learn(data):
    _, Y, labels = data
    expected = KNeighborsClassifier(10).fit(Y[:200], labels[:200]).score(Y[200:], labels[200:])
    assert quality.label_accuracy(Y, labels, 200) == pytest.approx(expected)


@pytest.mark.usefixtures("small_blocks")
def test_label_agreement_is_that_of_scikit_learn_without_the_row_itself(data):
    _, Y, labels = data
    others = KNeighborsClassifier(10).fit(Y, labels).kneighbors(return_distance=False)
    led = [np.bincount(labels[row]).argmax() for row in others]
    assert quality.label_agreement(Y, labels) == pytest.approx(np.mean(led == labels))


def test_recall_takes_any_of_tied_neighbors_but_no_repeat_no_self_and_no_gap():
    X = np.array([[0.0], [1.0], [-1.0], [1.0], [5.0]])  # rows 1, 2 and 3 are equally far from row 0
    rows = np.array([0])
    _, distances = quality.exact_neighbors(X, rows, 2)

    def recall(*list_of_row_0):
        return quality.neighbor_recall(X, rows, distances, np.array([list_of_row_0]))

    assert recall(1, 2) == recall(3, 2) == recall(1, 3) == 1
    assert recall(1, 1) == recall(0, 1) == recall(-1, 1) == recall(1, 4) == 0.5


def test_distance_error_is_relative_to_the_mean_distance():
    X = np.array([[0.0], [1.0], [3.0]])
    found = quality.distance_error(X, np.array([0]), np.array([[1, 2]]), np.array([[1.0, 3.5]]))
    assert found == pytest.approx(0.5 / 2)


def test_map_recall_counts_shared_neighbors():
    Y = np.array([[0.0], [1.0], [2.0], [10.0]])
    lists = np.array([[1, 3], [0, 2]])  # of rows 0 and 1; in the map they are {1, 2} and {0, 2}
    assert quality.map_recall(lists, Y, np.array([0, 1])) == 0.75


def test_exponent_of_a_power_law():
    assert exponent({n: 3e-6 * n**1.2 for n in (1000, 3000, 10_000)}) == pytest.approx(1.2)


def test_numbers_have_three_figures():
    assert [number(x) for x in (0.001234, 0.5, 12.345, 1234.5)] == ["0.00123", "0.500", "12.3", "1234"]


def test_all_scales_of_a_perfect_map_and_of_chance():
    random = np.random.Generator(np.random.Philox(key=3))
    X = random.normal(size=(300, 2))
    rows = np.arange(0, 300, 3)
    perfect = quality.all_scales(X, 2 * X, rows)
    assert all(value == pytest.approx(1.0) for value in perfect.values())
    chance = quality.all_scales(X, random.normal(size=(300, 2)), rows)
    assert abs(chance["R_NX AUC"]) < 0.05
    assert abs(chance["distance correlation"]) < 0.1


def test_all_scales_agree_with_the_other_scores():
    random = np.random.Generator(np.random.Philox(key=4))
    X = random.normal(size=(200, 5))
    Y, rows = X[:, :2], np.arange(200)
    found = quality.all_scales(X, Y, rows, (10, 30))
    assert found["trustworthiness"] == pytest.approx(quality.trustworthiness(X, Y, rows, 10))
    lists, _ = quality.exact_neighbors(X, rows, 10)
    assert found["recall 10"] == pytest.approx(quality.map_recall(lists, Y, rows))


def test_pieces_tearing_and_strays():
    line = np.stack([np.arange(60.0), np.zeros(60)], axis=1)
    lists = np.stack([(np.arange(60) + 1) % 60, (np.arange(60) - 1) % 60], axis=1)
    whole = quality.tearing(lists, np.arange(60), line)
    assert whole["pieces"] == 1
    assert whole["links cut"] == 0
    torn = line.copy()
    torn[30:, 0] += 1000
    cut = quality.tearing(lists, np.arange(60), torn)
    assert cut["pieces"] == 2
    assert cut["links cut"] == pytest.approx(4 / 120)
    assert quality.strays(line) == pytest.approx(1.0, abs=0.05)
    many = np.stack([np.arange(600.0), np.zeros(600)], axis=1)
    assert quality.strays(np.vstack([many, [[6000.0, 0.0]]])) > 5
