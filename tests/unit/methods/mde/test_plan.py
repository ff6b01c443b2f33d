from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import winkel as wk
from winkel.data import as_table
from winkel.methods.mde.grouped import GROUPS_FROM
from winkel.methods.mde.neighbors import Forces
from winkel.methods.mde.plan import (
    CAUCHY_STAGES,
    Settings,
    Source,
    fit_scale,
    make_plan,
)
from winkel.methods.starts import principal_start, rough_principal_start, wide_start
from winkel.problem import Centered, Standardized, penalties
from winkel.run import Run


def rows(n=60, m=5, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=(n, m))


def plan(n=60, **wishes):
    settings = Settings.of(wk.MDE(**{"n_neighbors": 5} | wishes))
    source = Source.of(as_table(rows(n)), settings, Run())
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
    assert found.stages == CAUCHY_STAGES
    assert found.solving.max_iter == 250


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
    start = plan(GROUPS_FROM, init="spectral").start
    assert abs(start.std() - 1) > 0.1
    assert len(np.unique(start, axis=0)) == GROUPS_FROM
    assert plan(GROUPS_FROM, repulsive="log").start.std() == pytest.approx(1)
    assert plan(GROUPS_FROM - 1, init="spectral").start.std() == pytest.approx(1)


@pytest.mark.parametrize(
    ("wishes", "stages", "max_iter"),
    [
        ({"repulsive": "log"}, 0, 300),
        ({"repulsive": "log", "max_iter": 7}, 0, 7),
        ({"n_components": 3}, 4, 250),
        ({"n_components": 4}, 0, 300),
        ({"preserve": "distances"}, 0, 300),
        ({"max_iter": 20}, 4, 20),
        ({"init": np.zeros((60, 2))}, 0, 300),  # the user knows where to begin
        ({"init": "random"}, 4, 250),
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
def test_bad_rows_far_out_do_not_decide_where_a_map_begins(form):
    rng = np.random.default_rng(0)
    good = np.diag([3.0, 2.0, *[1.0] * 8]) @ rng.normal(size=(10, 400))
    bad = 40 * np.abs(rng.normal(size=(40, 10))) * (np.arange(10) > 7)
    rows = np.vstack([good.T, bad])
    start = rough_principal_start(form(rows), 2, Run())[:400]
    # The first two columns, in which the good rows vary the most, and not the last two.
    A = np.column_stack([start, np.ones(400)])
    rest = rows[:400, :2] - A @ np.linalg.lstsq(A, rows[:400, :2], rcond=None)[0]
    assert np.var(rest) < 0.5 * np.var(rows[:400, :2])
