from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError
from winkel.methods.harmonic import place_items, propagate_labels


def path(n, weights=1.0):
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return wk.Graph.from_edges(edges, np.broadcast_to(weights, n - 1), n=n)


def test_path_is_divided_between_its_ends():
    # Scores are the chances that a fair walk ends at either end.
    found = propagate_labels(path(5), [0, -1, -1, -1, 1])
    np.testing.assert_allclose(found.scores[:, 1], [0, 0.25, 0.5, 0.75, 1], atol=1e-12)
    np.testing.assert_allclose(found.scores.sum(axis=1), 1)
    assert found.labels[[0, 1, 3, 4]].tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(found.classes, [0, 1])
    assert found.reached.all()


def test_names_for_labels():
    found = propagate_labels(path(4), ["cat", "", "", "dog"], unknown="")
    assert found.labels.tolist() == ["cat", "cat", "dog", "dog"]
    assert found.classes.tolist() == ["cat", "dog"]


def test_items_out_of_reach_stay_unknown():
    graph = wk.Graph.from_edges([[0, 1], [2, 3], [4, 5]], [1.0, 1.0, 1.0], n=7)
    found = propagate_labels(graph, [3, -1, -1, -1, 8, -1, -1])
    assert found.labels.tolist() == [3, 3, -1, -1, 8, 8, -1]
    assert found.reached.tolist() == [True, True, False, False, True, True, False]
    np.testing.assert_allclose(found.scores, [[1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [0, 1], [0, 0]])
    alone = propagate_labels(graph, [-1] * 6 + [2])
    assert alone.labels.tolist() == [-1] * 6 + [2]
    assert alone.scores[:, 0].tolist() == [0] * 6 + [1]


def test_digits_from_one_label_in_twenty():
    digits = wk.datasets.load_digits()
    y = digits.y
    graph = wk.graph.knn(digits.X, 10, random_state=0)
    right = []
    for draw in range(5):
        rng = np.random.Generator(np.random.Philox(key=draw))
        known = rng.permutation(len(y))[: len(y) // 20]
        given = np.full(len(y), -1)
        given[known] = y[known]
        found = propagate_labels(graph, given)
        np.testing.assert_array_equal(found.labels[known], y[known])
        np.testing.assert_allclose(found.scores.sum(axis=1), 1, atol=1e-9)
        assert found.scores.min() >= 0
        hidden = given == -1
        right.append(np.mean(found.labels[hidden] == y[hidden]))
    # Which rows are labelled matters: a class may have got few.
    assert np.mean(right) >= 0.9
    assert min(right) >= 0.85


def test_placed_items_lie_at_the_mean_of_their_neighbours():
    rng = np.random.Generator(np.random.Philox(key=1))
    graph = wk.graph.knn(rng.random((200, 2)), 8)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = place_items(graph, [3, 50, 120], corners)
    W = graph.adjacency.toarray()
    mean = W @ found.Y / W.sum(axis=1, keepdims=True)
    free = np.setdiff1d(np.arange(200), [3, 50, 120])
    np.testing.assert_allclose(found.Y[free], mean[free], atol=1e-9)
    np.testing.assert_array_equal(found.Y[[3, 50, 120]], corners)
    # in the triangle of the anchors
    assert found.Y.min() >= -1e-12
    assert found.Y.sum(axis=1).max() <= 1 + 1e-12


def test_pulled_items_are_drawn_to_their_targets():
    found = place_items(path(3), [0], [[0.0]], pulls=wk.Pulls([2], [[3.0]]))
    # three springs of strength 1 in a row, from 0 to 3
    np.testing.assert_allclose(found.Y[:, 0], [0, 1, 2], atol=1e-12)


def test_what_is_refused():
    with pytest.raises(InvalidInputError, match="one entry for each item, 5 of them"):
        propagate_labels(path(5), [0, 1])
    with pytest.raises(InvalidInputError, match="No item has a label"):
        propagate_labels(path(5), [-1] * 5)
    with pytest.raises(InvalidInputError, match="not negative"):
        propagate_labels(path(3, [1.0, -1.0]), [0, -1, 1])
    with pytest.raises(InvalidInputError, match="no edges"):
        place_items(wk.Graph.from_edges(np.empty((0, 2), int), n=3), [0], [[0.0, 1.0]])
