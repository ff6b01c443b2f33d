"""Pieces of maps and data, tearing, merging and seams, against cases worked out by hand and all pairs of rows."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

import winkel as wk
from winkel import _core
from winkel.errors import InvalidParameterError
from winkel.measures.tearing import data_pieces, find_merging, find_tearing, map_pieces

RING = np.stack([(np.arange(60) + 1) % 60, (np.arange(60) - 1) % 60], axis=1).astype(np.int32)
LINE = np.stack([np.arange(60.0), np.zeros(60)], axis=1)


def all_pairs(Y, k=5, factor=3.0):
    """Pieces by the definition, from all distances."""
    D = cdist(Y, Y)
    reach = np.sort(D, axis=1)[:, min(k, len(Y) - 1)]
    return connected_components(np.maximum(reach[:, None], reach) * factor >= D)[1]


@pytest.mark.parametrize("case", range(12))
def test_pieces_are_those_of_all_pairs(case):
    random = np.random.default_rng(case)
    n, m = random.integers(2, 250), random.integers(1, 5)
    Y = random.normal(size=(n, m)) * random.choice([0.01, 1, 5], size=(n, 1)) + 10 * random.integers(
        0, 4, (n, 1)
    )
    if case % 3 == 0:
        Y = np.round(Y)  # many rows in one place
    expected, found = all_pairs(Y), map_pieces(Y, 2)
    pairs = np.unique(np.stack([expected, found]), axis=1)
    assert pairs.shape[1] == expected.max() + 1 == found.max() + 1
    assert (np.diff(np.bincount(found)) <= 0).all()  # by size
    np.testing.assert_array_equal(found, map_pieces(Y, 1))


def test_a_line_is_whole_and_a_cut_one_is_in_two_pieces():
    # A ring of links, shown as a line: only the link between its ends is long, and both ends are in one piece.
    whole = find_tearing(map_pieces(LINE, 1), np.arange(60), RING)
    assert whole.sizes.tolist() == [60]
    assert whole.cut_share == 0
    assert not whole.torn.any()
    assert str(whole) == "The map is in one piece."
    # Cut in the middle: links 29-30 and 59-0 in both directions, 4 of 120.
    torn = LINE + 1000 * (np.arange(60) >= 30)[:, None]
    found = find_tearing(map_pieces(torn, 1), np.arange(60), RING)
    assert found.sizes.tolist() == [30, 30]
    assert found.cut_share == pytest.approx(4 / 120)
    np.testing.assert_allclose(found.outgoing, 2 / 60)
    assert not found.torn.any()  # 3.3 %, less than 5
    assert len(found.seams(torn)) == 0
    # The first ten of them: 2 of their 20 links lead out, and the seams run from their ends.
    torn = LINE + np.array([0.0, 60.0]) * (np.arange(60) < 10)[:, None]
    found = find_tearing(map_pieces(torn, 1), np.arange(60), RING)
    np.testing.assert_allclose(found.outgoing, [2 / 100, 2 / 20])
    assert found.torn.tolist() == [False, True]
    seams = found.seams(torn)
    ends = {tuple(map(tuple, band)) for band in seams.ends}
    assert ends == {((59.0, 0.0), (0.0, 60.0)), ((10.0, 0.0), (9.0, 60.0))}
    assert "2 pieces, of which 1 with 10 of 60 rows" in str(found)


def test_a_band_is_as_wide_as_its_links():
    # Two columns of a grid torn apart: one link across for each of nine rows, at heights 0 to 8.
    height = np.arange(9.0)
    Y = np.concatenate([np.stack([np.zeros(9), height], 1), np.stack([np.full(9, 90.0), height], 1)])
    lists = np.stack([np.r_[np.arange(9, 18), np.arange(9)], np.r_[1:9, 7, 10:18, 16]], axis=1).astype(
        np.int32
    )
    seams = find_tearing(map_pieces(Y, 1), np.arange(18), lists).seams(Y)
    assert seams.links.sum() == 9
    middle = (seams.ends[:, 0] * seams.links[:, None]).sum(axis=0) / 9
    np.testing.assert_allclose(middle, [0, 4])
    # 8/90 of the extent is between one and two cells, and a band of links at heights 0 to 6 is 3 standard deviations wide.
    widest = seams.links.argmax()
    assert seams.links[widest] == 7
    np.testing.assert_allclose(seams.widths[widest], 3 * np.std(np.arange(7)))


def test_merging_counts_all_but_the_main_part_of_a_piece():
    data = np.array([0, 0, 0, 0, 1, 1, 2, 2], dtype=np.int32)
    shown = np.array([0, 0, 0, 0, 0, 0, 1, 1], dtype=np.int32)  # parts 0 and 1 of the data in one piece
    found = find_merging(shown, data)
    assert found.merged.tolist() == [False] * 4 + [True] * 2 + [False] * 2
    assert "3 pieces; the map shows 1 of them in one piece with a larger one" in str(found)
    assert "none is merged" in str(find_merging(data, data))


def test_pieces_of_the_data_are_components_of_its_lists():
    lists = np.array([[1], [0], [3], [2], [3], [-1]], dtype=np.int32)
    assert data_pieces(lists).tolist() == [1, 1, 0, 0, 0, 2]


def test_scores_of_a_torn_and_of_a_merging_map():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    torn = wk.measure(X, X + 5 * (X[:, :1] > 0.5), scores=["tearing", "merging"])
    assert torn["tearing"].value > 0.03
    assert torn["tearing"].baseline == 0
    assert torn["tearing"].exact
    assert torn["tearing"].detail.torn.all()
    assert torn["merging"].value == 0
    assert torn.points["tearing"].mean() == pytest.approx(torn["tearing"].value)
    assert "of which 2 with 200 of 200 rows" in str(torn)
    # Two clusters of the data, one above the other in the map.
    apart = np.concatenate([X[:100], X[100:] + np.array([0, 50])])
    merged = wk.measure(apart, np.concatenate([X[:100], X[100:]]), scores=["tearing", "merging"])
    assert merged["merging"].value == 0.5
    assert merged["merging"].baseline == 0
    assert merged["tearing"].value == 0


def test_a_sample_holds_the_exact_value_and_knows_all_pieces():
    X = np.random.default_rng(1).uniform(size=(3000, 2))
    Y = X + 5 * (X[:, :1] > 0.5)
    exact = wk.measure(X, Y, scores=["tearing"], sample=None, baseline=False)["tearing"]
    drawn = wk.measure(X, Y, scores=["tearing"], sample=400, baseline=False)["tearing"]
    assert drawn.n_sampled == 400
    assert drawn.interval[0] <= exact.value <= drawn.interval[1]
    np.testing.assert_array_equal(drawn.detail.outgoing, exact.detail.outgoing)
    graph = wk.graph.knn(X, 15)
    np.testing.assert_array_equal(
        wk.measure(X, Y, scores=["tearing"], graph=graph, baseline=False).points["tearing"], exact.per_point
    )


def test_a_slow_metric_needs_a_graph_for_all_rows(monkeypatch):
    from winkel.measures import context

    monkeypatch.setattr(context, "_SLOW_ROWS", 40)
    monkeypatch.setattr(context, "_SLOW_SAMPLE", 20)
    items = list(range(60))

    def apart(a, b):
        return float(abs(a - b))

    assert "tearing" not in wk.measure(items, LINE, metric=apart).scores
    with pytest.raises(InvalidParameterError, match="'merging' needs the neighbours of all rows"):
        wk.measure(items, LINE, metric=apart, scores=["merging"])
    graph = wk.graph.knn(LINE, 15)
    assert wk.measure(items, LINE, metric=apart, scores=["merging"], graph=graph)["merging"].value == 0


def test_the_core_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="less than the number of rows"):
        _core.map_pieces(LINE[:3], 3, 3.0, 1)
