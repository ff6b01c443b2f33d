"""Tests of scores of labels: `clustering_accuracy`, classes and unknown ones."""

import itertools

import numpy as np
import pytest

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError
from winkel.measures.classes import class_codes, clustering_accuracy


def test_hand_worked_case():
    # Counts of (class, cluster): a: 2 in 7, 1 in 9; b: 3 in 7. The best matching is a–9, b–7: 1 + 3 of 6 rows, while
    # matching every class with its most frequent cluster would give 7 to both.
    assert clustering_accuracy(list("aaabbb"), [7, 7, 9, 7, 7, 7]) == pytest.approx(4 / 6)


def test_names_of_clusters_do_not_matter():
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 50)
    assert clustering_accuracy(labels, (labels + 1) % 4) == 1.0
    assert clustering_accuracy(labels, np.array(["w", "x", "y", "z"])[labels]) == 1.0


def test_equals_the_best_of_all_matchings():
    random = np.random.default_rng(1)
    labels, clusters = random.integers(0, 4, (2, 60))
    best = max(np.mean(np.array(order)[clusters] == labels) for order in itertools.permutations(range(4)))
    assert clustering_accuracy(labels, clusters) == pytest.approx(best)


def test_surplus_clusters_and_classes_count_as_wrong():
    assert clustering_accuracy([0, 0, 0, 0], [1, 1, 2, 3]) == 0.5
    assert clustering_accuracy([1, 1, 2, 3], [0, 0, 0, 0]) == 0.5


@pytest.mark.parametrize(("labels", "clusters"), [([0, 1], [0]), ([], []), ([[0, 1]], [0, 1])])
def test_refuses_what_has_not_one_entry_a_row(labels, clusters):
    with pytest.raises(InvalidInputError, match="one entry per row"):
        clustering_accuracy(labels, clusters)


GAPS = [0, 3, 7, 3, 0, 7]


@pytest.mark.parametrize(
    "labels",
    [GAPS, np.array(GAPS, dtype=float), np.array(GAPS, dtype=object), [f"class {c}" for c in GAPS]],
)
def test_classes_may_have_gaps_between_their_numbers(labels):
    assert class_codes(labels, 6).tolist() == [0, 1, 2, 1, 0, 2]


@pytest.mark.parametrize(
    "labels",
    [
        [0, -1, 7, 3, -1, 7],
        [0.0, np.nan, 7.0, 3.0, np.nan, 7.0],
        ["a", "", "c", "b", "nan", "c"],
        np.array(["a", None, "c", "b", float("nan"), "c"], dtype=object),
    ],
)
def test_unknown_labels_are_told_and_left_out(labels):
    with pytest.warns(DataWarning, match=r"2 of 6 rows have an unknown label"):
        assert class_codes(labels, 6).tolist() == [0, -1, 2, 1, -1, 2]


def test_labels_that_are_all_unknown_are_refused():
    with pytest.raises(InvalidInputError, match=r"unknown .* for all rows"):
        class_codes([-1, -1], 2)


def test_scores_of_labels_are_those_of_the_rows_whose_label_is_known():
    digits = wk.datasets.load_digits()
    X, y = digits.X[:400], digits.y[:400] * 3
    hidden = np.where(np.arange(400) % 4 == 0, np.nan, y)
    known = np.arange(400) % 4 != 0
    Y = np.ascontiguousarray(X[:, 20:22] + np.random.default_rng(0).normal(size=(400, 2)))
    names = ["label_accuracy", "clustering_accuracy"]
    with pytest.warns(DataWarning, match="100 of 400"):
        found = wk.measure(X, Y, labels=hidden, scores=[*names, "label_excess"])
    alone = wk.measure(X[known], Y[known], labels=y[known], scores=names)
    for name in names:  # neither looks beyond the rows whose label is known
        assert found[name].value == alone[name].value
    assert np.isnan(found.points["label_accuracy"][~known]).all()
    lists = [wk.graph.knn(data, 15).knn_indices for data in (Y, X)]
    shown, there = (
        np.array([np.mean(y[row][known[row]] == y[i]) for i, row in enumerate(rows)]) for rows in lists
    )
    assert found["label_excess"].value == pytest.approx(max(0.0, np.mean((shown - there)[known])))
