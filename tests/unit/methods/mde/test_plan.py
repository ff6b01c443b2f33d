from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import winkel as wk
from winkel.data import as_table
from winkel.methods import starts
from winkel.methods.mde.grouped import GROUPS_FROM
from winkel.methods.mde.neighbors import Forces, cauchy_normalizer
from winkel.methods.mde.plan import (
    CAUCHY_STAGES,
    Focus,
    Settings,
    Source,
    fit_scale,
    make_plan,
    staged_iterations,
    stages_for,
)
from winkel.methods.starts import (
    mid_near_pairs,
    principal_start,
    rough_principal_start,
    rows_compared,
    wide_start,
)
from winkel.problem import Centered, Standardized, penalties
from winkel.run import Run


def rows(n=60, m=5, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def in_pieces():
    """Two groups of rows that no neighbours join, every other row in the one."""
    X = rows(120)
    X[1::2, 0] += 12
    return X


def plan(X=None, **wishes):
    settings = Settings.of(wk.MDE(**{"n_neighbors": 5} | wishes))
    source = Source.of(as_table(rows() if X is None else X), settings, Run())
    return make_plan(source, settings, Run())


# ----------------------------------------------------------------------------------------------------- forces


@pytest.mark.parametrize(
    ("attractive", "repulsive", "pairs", "m", "constraint", "expected"),
    [
        ("auto", "auto", "auto", 2, Centered(), ("Log1p", 2.0, "Cauchy", True)),
        ("auto", "auto", "auto", 3, Centered(), ("Log1p", 2.0, "Cauchy", True)),
        ("auto", "auto", "auto", 4, Centered(), ("Log1p", 1.3, "Log", False)),
        ("auto", "auto", "auto", 2, Standardized(), ("Log1p", 1.3, "Log", False)),
        ("auto", "auto", "sampled", 2, Centered(), ("Log1p", 1.3, "Log", False)),
        ("auto", "auto", "all", 3, Standardized(), ("Log1p", 1.3, "Log", True)),
        ("auto", "cauchy", "auto", 3, Centered(), ("Log1p", 2.0, "Cauchy", True)),
        ("auto", "cauchy", "sampled", 2, Centered(), ("Log1p", 2.0, "Cauchy", False)),
        ("log1p", "auto", "auto", 2, Centered(), ("Log1p", 1.5, "Log", False)),
        ("log1p", "cauchy", "auto", 2, Centered(), ("Log1p", 1.5, "Cauchy", True)),
        (penalties.Log1p(exponent=1.0), "log", "auto", 2, Centered(), ("Log1p", 1.0, "Log", False)),
    ],
)
def test_what_auto_stands_for(attractive, repulsive, pairs, m, constraint, expected):
    forces = Forces.of(attractive, repulsive, pairs, m, constraint)
    found = type(forces.attractive).__name__, forces.attractive.exponent
    assert (*found, type(forces.repulsive).__name__, forces.all_pairs) == expected


def test_a_name_is_the_same_penalty_wherever_it_is_written():
    for repulsive in ("cauchy", "log"):
        forces = Forces.of("log1p", repulsive, "auto", 2, Centered())
        assert forces.attractive.exponent == penalties.Log1p().exponent


# ------------------------------------------------------------------------------------------------------ plans


def test_the_default_plan_leads_up_to_all_pairs_by_stages():
    found = plan()
    assert isinstance(found.problem.background, penalties.Cauchy)
    assert found.stages[1:-1] == CAUCHY_STAGES[1:]
    assert found.stages[-1].share == 1
    assert found.stages[-1].rearranged is not None
    assert replace(found.stages[0], share=CAUCHY_STAGES[0].share) == CAUCHY_STAGES[0]
    assert found.solving.max_iter == 350


def test_many_rows_get_fewer_iterations():
    counts = [staged_iterations(n) for n in (2, 20_000, 30_000, 60_000, 10**7)]
    assert counts == [350, 350, 286, 202, 150]


def test_a_stage_is_solved_with_the_attraction_of_mid_near_pairs_beside_it():
    found = plan(in_pieces())
    Y = 30 * np.asarray(found.start, dtype=np.float64)
    for stage in found.stages:
        weaker = found.problem.with_background(stage.share)
        value, gradient = stage.of(found.problem).evaluate(Y)
        first, more = weaker.evaluate(Y), (0.0, np.zeros_like(Y))
        if stage.weight:
            assert stage.beside is not None
            more = stage.beside.evaluate(Y)
            assert more[0] > 0
        assert value == pytest.approx(first[0] + stage.weight * more[0], rel=1e-12)
        np.testing.assert_allclose(gradient, first[1] + stage.weight * more[1], rtol=1e-12, atol=1e-15)
    assert [stage.beside is not None for stage in found.stages] == [True, True, True, False, False]


def test_a_graph_without_distances_of_most_pairs_has_no_mid_near_pairs():
    graph = wk.graph.knn(rows(), 5)
    settings = Settings.of(wk.MDE(n_neighbors=5))
    assert all(s.beside is None for s in make_plan(Source.of(graph, settings, Run()), settings, Run()).stages)


def test_mid_near_partners_are_the_nearest_of_six_drawn_rows(monkeypatch):
    X, run = rows(300, 4), Run(seed=3)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    pairs = mid_near_pairs(300, lambda i, J: D[i[:, None], J], run)
    drawn = run.stream("mid-near").integers(300, (300, 10, 6))
    expected = set()
    for i in range(300):
        for six in drawn[i]:
            others = [j for j in six if j != i]
            if others:
                j = min(others, key=lambda j: D[i, j])
                expected.add((min(i, j), max(i, j)))
    assert {tuple(pair) for pair in pairs.tolist()} == expected
    assert (np.diff(pairs[:, 0].astype(np.int64) * 300 + pairs[:, 1]) > 0).all()
    # Neither neighbours nor strangers.
    length, usual = D[pairs[:, 0], pairs[:, 1]].mean(), D[np.triu_indices(300, 1)].mean()
    assert np.sort(D, axis=1)[:, 1:6].mean() < 0.8 * length < 0.8 * usual
    # However many rows are done at a time, and for rows instead of their distances.
    monkeypatch.setattr(starts, "_MID_NEAR_ROWS", 7)
    np.testing.assert_array_equal(mid_near_pairs(300, rows_compared(X, "euclidean", run), run), pairs)


def test_rows_far_out_have_no_mid_near_pairs():
    X = rows(400, 4)
    X[:40] *= 100 / np.linalg.norm(X[:40], axis=1, keepdims=True)
    pairs = mid_near_pairs(400, rows_compared(X, "euclidean", Run()), Run())
    assert (pairs >= 40).all()
    assert len(np.unique(pairs)) == 360


def test_mid_near_pairs_of_sparse_rows_are_nearer_than_others():
    X = rows(200, 12) * (rows(200, 12, seed=1) > 0)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    pairs = mid_near_pairs(200, rows_compared(csr_matrix(X), "euclidean", Run()), Run())
    assert D[pairs[:, 0], pairs[:, 1]].mean() < 0.9 * D[np.triu_indices(200, 1)].mean()


def test_mid_near_pairs_attract_between_the_pieces_of_a_neighbour_graph():
    X = in_pieces()
    piece = np.arange(len(X)) % 2
    pairs = plan(X).stages[0].beside
    assert pairs is not None
    assert (piece[pairs.edges[:, 0]] != piece[pairs.edges[:, 1]]).all()
    # As much as they did if all mid-near pairs were taken: of the nearest of six, few lie in the other piece.
    all_pairs = mid_near_pairs(len(X), rows_compared(X, "euclidean", Run()), Run())
    share = np.mean(piece[all_pairs[:, 0]] != piece[all_pairs[:, 1]])
    assert 0 < share < 0.1
    np.testing.assert_allclose(pairs.distortion.weights, share)
    assert len(pairs.edges) == round(share * len(all_pairs))


def test_a_connected_neighbour_graph_has_no_mid_near_pairs():
    assert all(stage.beside is None for stage in plan().stages)


def test_the_first_stage_has_next_to_no_repulsion():
    def share(focus, n):
        return stages_for(Focus(focus, ""), n, CAUCHY_STAGES, lambda: None)[0].share

    assert share(1.0, 10_000) == CAUCHY_STAGES[0].share
    assert share(0.0, 10_000) == pytest.approx(5 * CAUCHY_STAGES[0].share)
    assert share(0.5, 10_000) == pytest.approx(5**0.5 * CAUCHY_STAGES[0].share)
    # Few rows: all others together repel a row by a tenth of its attraction.
    assert share(1.0, 100) * 100 / cauchy_normalizer(100) == pytest.approx(0.1)


def test_a_map_of_the_shape_has_no_mid_near_pairs():
    weights = {
        focus: [stage.weight * (stage.beside is not None) for stage in plan(in_pieces(), focus=focus).stages]
        for focus in (0.0, 0.5, 1.0)
    }
    assert weights[0.0] == [0, 0, 0, 0]  # and nothing is moved after them
    np.testing.assert_allclose(weights[0.5], 0.5 * np.array(weights[1.0]))
    assert weights[1.0] == [*(stage.weight for stage in CAUCHY_STAGES), 0]
    assert weights[1.0][0] > 0


def test_the_default_start_is_principal_components():
    start, exact = plan().start, principal_start(rows(), 2)
    for axis in range(2):
        assert (
            abs(np.corrcoef(start[:, axis], exact[:, axis])[0, 1]) > 0.97
        )  # but for rows far out, and noise
    assert 0.01 < start.std() / np.sqrt(len(start)) < 0.02
    np.testing.assert_allclose(
        plan(repulsive="log").start.std(axis=0), 1, rtol=1e-6
    )  # the spectral embedding
    np.testing.assert_allclose(plan(init="spectral").start.std(axis=0), 1, rtol=1e-6)


def test_a_start_from_sparse_rows_is_that_of_dense_ones():
    X = rows(80, 12) * (rows(80, 12, seed=1) > 0)
    for directions in (False, True):
        dense = rough_principal_start(X, 2, Run(), directions=directions)
        sparse = rough_principal_start(csr_matrix(X), 2, Run(), directions=directions)
        np.testing.assert_allclose(sparse, dense, atol=1e-9)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(dense, rough_principal_start(unit, 2, Run()), atol=1e-9)


def test_rows_of_one_column_can_leave_the_line():
    assert wide_start(np.arange(50.0)[:, None], 2, "euclidean", Run()).std(axis=0).min() > 0


def test_groups_go_first_where_there_are_many_rows():
    # Rows stand around their group, by 0.3 in units of the Cauchy penalty; a spectral embedding has unit variance.
    start = plan(rows(GROUPS_FROM), init="spectral").start
    assert abs(start.std() - 1) > 0.1
    assert len(np.unique(start, axis=0)) == GROUPS_FROM
    assert plan(rows(GROUPS_FROM), repulsive="log").start.std() == pytest.approx(1)
    assert plan(rows(GROUPS_FROM - 1), init="spectral").start.std() == pytest.approx(1)


@pytest.mark.parametrize(
    ("wishes", "stages", "max_iter"),
    [
        ({"repulsive": "log"}, 0, 300),
        ({"repulsive": "log", "max_iter": 7}, 0, 7),
        ({"n_components": 3}, 5, 350),
        ({"n_components": 4}, 0, 300),
        ({"preserve": "distances"}, 0, 300),
        ({"max_iter": 20}, 5, 20),
        ({"init": np.zeros((60, 2))}, 0, 300),  # the user knows where to begin
        ({"init": "random"}, 5, 350),
    ],
)
def test_stages_and_iterations(wishes, stages, max_iter):
    found = plan(**wishes)
    assert len(found.stages) == stages
    assert found.solving.max_iter == max_iter


def test_other_constraints_know_how_wide_the_map_is():
    assert {stage.stretch for stage in plan(repulsive="cauchy", constraint="standardized").stages} == {1.0}


def test_the_plan_is_in_the_precision_of_the_data():
    settings = Settings.of(wk.MDE(n_neighbors=5))
    for dtype in (np.float32, np.float64):
        source = Source.of(as_table(rows().astype(dtype)), settings, Run())
        assert make_plan(source, settings, Run()).start.dtype == dtype


def test_a_graph_with_weights_of_zero_starts_from_its_spectrum():
    graph = wk.graph.knn(rows(1200), 5)
    weights = np.array(graph.weights)
    weights[0] = 0
    settings = Settings.of(wk.MDE())
    source = Source.of(wk.Graph.from_edges(graph.edges, weights, n=1200), settings, Run())
    assert make_plan(source, settings, Run()).start.std() == pytest.approx(1, rel=1e-3)


def test_scale_is_the_best_in_squares():
    X = rows(10, 2)
    problem = wk.preserve_distances(X)
    np.testing.assert_allclose(fit_scale(problem, X / 7, problem.distortion.deviations), X)
    np.testing.assert_array_equal(fit_scale(problem, 0 * X, problem.distortion.deviations), 0)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize(
    ("n_bad", "medians"), [(8, 8), (100, 30)]
)  # few are drawn in; a fifth of all, so far out, do not count
def test_bad_rows_far_out_do_not_decide_where_a_map_begins(form, n_bad, medians):
    rng = np.random.default_rng(0)
    good = (np.diag([3.0, 2.0, *[1.0] * 8]) @ rng.normal(size=(10, 400))).T
    bad = np.abs(rng.normal(size=(n_bad, 10))) * (np.arange(10) > 7)
    bad *= medians * np.median(np.linalg.norm(good, axis=1)) / np.linalg.norm(bad, axis=1, keepdims=True)
    rows = np.vstack([good, bad])
    start = rough_principal_start(form(rows), 2, Run())[:400]
    # The first two columns, in which the good rows vary the most, and not the last two.
    A = np.column_stack([start, np.ones(400)])
    rest = rows[:400, :2] - A @ np.linalg.lstsq(A, rows[:400, :2], rcond=None)[0]
    assert np.var(rest) < 0.5 * np.var(rows[:400, :2])
