"""Tests of `clustering_accuracy`."""

import itertools

import numpy as np
import pytest

from winkel.errors import InvalidInputError
from winkel.measures.classes import clustering_accuracy


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
