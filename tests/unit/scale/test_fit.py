"""A map of all rows by shards: that of the rows in memory, with the same bytes whoever works on the shards."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel import _core
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.mde.arrangement import arranged
from winkel.methods.mde.plan import Settings, make_plan
from winkel.methods.mde.plan import Source as Planned
from winkel.methods.starts import mid_near_pairs, rows_compared
from winkel.problem.field import CAUCHY_TOLERANCE, Field, Kernel
from winkel.run import Run
from winkel.scale import cells, edges, fitting, lists, problem
from winkel.scale.engine import DaskEngine, LocalEngine
from winkel.scale.folder import Folder

# Noise, so that no two distances are equal.
X = (wk.datasets.load_digits().X[:900] + 0.1 * np.random.default_rng(0).random((900, 64))).astype(np.float32)
BLOCK = 128
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")


def maker(**parameters):
    return wk.MDE(random_state=0, **{"max_iter": 12, **parameters})


def in_memory(X, max_iter=12):
    """The in-memory map's problem, start and embedding."""
    run = Run(n_jobs=2)
    settings = Settings.of(maker(max_iter=max_iter))
    table = wk.data.as_table(X)
    return make_plan(Planned.of(table, settings, run), settings, run)


def parts(tmp_path, engine=None, k=150):
    """The folder, layout and pairs of the rows."""
    engine, run = engine or LocalEngine(2), Run(n_jobs=2)
    layout = cells.Layout(len(X), BLOCK)
    folder = Folder.opened(tmp_path / "work", {})
    source = wk.scale.open_source(X, rows_per_shard=100)
    cells.make_rows(folder, source, layout, "euclidean", engine, run)
    lists.exact_lists(folder, layout, k, engine, run)
    return folder, layout, edges.make_pairs(folder, layout, 15, "euclidean", engine, run), run


def test_value_and_gradient_are_those_of_the_problem_in_memory(tmp_path):
    folder, layout, pairs, run = parts(tmp_path)
    plan = in_memory(X)
    sharded, _ = fitting._problem(folder, layout, pairs, Settings.of(maker()), 15, LocalEngine(2), run)
    assert sharded.n_pairs == plan.problem.n_pairs
    order = np.array(folder.map("order"))
    for Y in (plan.start, 40 * plan.start):  # summed pair by pair, and on a grid
        value, gradient = plan.problem.evaluate(Y)
        found, part = sharded.evaluate(np.ascontiguousarray(Y[order]))
        assert found == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(part, gradient[order], atol=3e-5 * np.abs(gradient).max())


def test_mid_near_pairs_are_those_of_rows_in_memory(tmp_path):
    folder, _, _, run = parts(tmp_path)
    order = np.array(folder.map("order"))
    compared = fitting._Compared(folder.map("rows"), fitting._inverse(order), run)
    found = mid_near_pairs(len(X), compared, run)
    np.testing.assert_array_equal(found, mid_near_pairs(len(X), rows_compared(X, "euclidean", run), run))


def test_islands_are_moved_as_those_of_rows_in_memory(tmp_path):
    folder, _, _, run = parts(tmp_path)
    of = fitting._inverse(np.array(folder.map("order")))
    # With an offset, and so rounded otherwise: that would decide the order of distances that are nearly equal.
    rows = folder.map("rows")[of]
    np.testing.assert_allclose(rows - rows[0], X - X[0], atol=1e-5)
    Y = maker(max_iter=100, init="random").fit(X).embedding_
    expected = arranged(Y, rows_compared(rows, "euclidean", run), run)
    assert np.abs(expected - Y).max() > 1
    found = arranged(Y, fitting._Compared(folder.map("rows"), of, run), run)
    np.testing.assert_array_equal(found, expected)


def test_repulsion_on_one_grid_is_that_of_the_field(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    Y = (3 * rng.normal(size=(5000, 2))).astype(np.float32)
    layout = cells.Layout(len(Y), 300)
    folder = Folder.opened(tmp_path, {})
    for b in range(layout.n_blocks):
        first, last = layout.span(b)
        ring = (np.arange(first, last)[:, None] + [1, -1]) % len(Y)
        folder.save(f"indptr-{b}", 2 * np.arange(last - first + 1))
        folder.save(f"indices-{b}", np.sort(ring, axis=1).ravel().astype(np.int32))
        folder.save(f"weights-{b}", np.ones(2 * (last - first), np.float32))
    edge = np.sort((np.arange(len(Y))[:, None] + [0, 1]) % len(Y), axis=1)
    penalties = wk.penalties
    background = penalties.Cauchy(-0.01)
    pull = penalties.Log1p(exponent=2.0)
    whole = wk.Problem(edge, pull, n_items=len(Y), background=background)
    sharded = fitting.ShardedProblem(
        folder,
        layout,
        edges.Pairs(len(Y), float(len(Y))),
        pull,
        background,
        wk.Centered(),
        2,
        LocalEngine(1),
        1,
    )
    assert sharded._frame(Y) is not None
    value, gradient = whole.evaluate(Y)
    found, part = sharded.evaluate(Y)
    assert found == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(part, gradient, atol=1e-5 * np.abs(gradient).max())
    exact = Field(Kernel.of(background), 2, exact_below=len(Y)).evaluate(Y)
    _, shares = sharded._repulsion(Y, Y, sharded._frame(Y), spread_of(sharded, Y), [(0, len(Y))])
    assert np.linalg.norm(
        Kernel.of(background).weight * shares - exact.forces
    ) < CAUCHY_TOLERANCE * np.linalg.norm(exact.forces)
    # Where a grid is not good enough, or has too many nodes, the sums are those of the tree.
    monkeypatch.setattr(fitting.ShardedProblem, "_is_right", lambda *_: False)
    found, part = sharded.evaluate(Y)
    assert np.linalg.norm(part - gradient) < CAUCHY_TOLERANCE * np.linalg.norm(gradient)
    assert sharded._frame(30 * Y) is None


def spread_of(sharded, Y):
    """The grid with all points on it."""
    return sharded._frame(Y).spread(Y, None, 1)


def test_the_map_is_that_of_the_rows_in_memory():
    few = maker(max_iter=3)  # rounding grows from step to step
    Y, whole = wk.scale.fit(few, X, rows_per_block=BLOCK).embedding_, maker(max_iter=3).fit(X).embedding_
    np.testing.assert_allclose(Y, whole, atol=3e-4 * np.abs(whole).max())
    mde = wk.scale.fit(maker(max_iter=250), X, rows_per_block=BLOCK)
    # Of rows that were changed by 1e-6, eight maps had objectives up to 0.5 % apart.
    assert mde.objective_ == pytest.approx(maker(max_iter=250).fit(X).objective_, rel=6e-3)
    assert mde.result_.settings["recall"] == 1.0
    assert mde.embedding_.shape == (len(X), 2)


def test_an_estimator_takes_a_source(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    source = wk.scale.open_source(tmp_path / "rows.npy", rows_per_shard=77)
    mde = maker().fit(source)
    same = wk.scale.open_source(X, rows_per_shard=77)
    np.testing.assert_array_equal(mde.embedding_, wk.scale.fit(maker(n_jobs=1), same).embedding_)
    with pytest.raises(InvalidInputError, match="by shards, so there are no rows to compare"):
        mde.transform(X)


@pytest.fixture(scope="module")
def expected():
    return wk.scale.fit(maker(n_jobs=1), X, rows_per_block=BLOCK).embedding_


def test_any_number_of_threads_gives_the_same_bytes(expected):
    np.testing.assert_array_equal(wk.scale.fit(maker(n_jobs=2), X, rows_per_block=BLOCK).embedding_, expected)


def test_pairs_that_do_not_stay_mapped_give_the_same_bytes(expected, monkeypatch):
    released = []
    monkeypatch.setattr(problem, "_MAPPED_ROWS", 0)
    release = problem._Shard.release
    monkeypatch.setattr(problem._Shard, "release", lambda shard: released.append(1) or release(shard))
    np.testing.assert_array_equal(wk.scale.fit(maker(n_jobs=2), X, rows_per_block=BLOCK).embedding_, expected)
    assert released


def test_components_are_found_block_by_block(tmp_path):
    rng = np.random.default_rng(2)
    of = np.repeat([3, 0, 2, 1], [40, 100, 30, 30])  # pieces of a graph, each a ring in an order of its own
    neighbors = np.empty((200, 2), np.int32)
    for piece in range(4):
        ring = rng.permutation(np.flatnonzero(of == piece))
        neighbors[ring] = np.column_stack([np.roll(ring, 1), np.roll(ring, -1)])
    folder = Folder.opened(tmp_path, {})
    folder.save("neighbors", neighbors)
    count, found = fitting._Lists(folder, cells.Layout(200, 23), 2).components()
    assert count == 4
    assert len({*zip(of.tolist(), found.tolist())}) == 4
    assert (found[of == 0] == 0).all()
    assert (found[of == 3] == 1).all()


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_workers_of_a_cluster_give_the_same_bytes(expected, cluster, n_workers):
    mde = wk.scale.fit(maker(), X, rows_per_block=BLOCK, client=cluster(n_workers))
    np.testing.assert_array_equal(mde.embedding_, expected)


def test_two_processes_give_the_same_bytes(expected, cluster, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    client = cluster(2, processes=True)
    mde = wk.scale.fit(maker(), tmp_path / "rows.npy", rows_per_block=BLOCK, client=client)
    np.testing.assert_array_equal(mde.embedding_, expected)


def test_cosine_and_correlation_compare_directions():
    scaled = X * np.linspace(0.5, 2, len(X), dtype=np.float32)[:, None]
    plain = wk.scale.fit(maker(metric="cosine", max_iter=250), scaled, rows_per_block=BLOCK)
    whole = maker(metric="cosine", max_iter=250).fit(scaled)
    assert plain.objective_ == pytest.approx(whole.objective_, rel=3e-3)
    with pytest.raises(InvalidInputError, match=r"row 3 has no direction"):
        wk.scale.fit(maker(metric="cosine"), np.where(np.arange(len(X))[:, None] == 3, 0, X))


def test_what_cannot_be_done_by_shards_is_refused():
    for parameters in (
        {"metric": "manhattan"},
        {"n_components": 3},
        {"preserve": "distances"},
        {"constraint": "standardized"},
        {"init": "random"},
        {"repulsive": "log"},
    ):
        with pytest.raises(InvalidParameterError, match="default map in two dimensions"):
            wk.scale.fit(maker(**parameters), X)
    with pytest.raises(InvalidParameterError, match="sample_weight"):
        maker().fit(wk.scale.open_source(X), sample_weight=np.ones(len(X)))
    with pytest.raises(InvalidParameterError, match=r"for winkel\.MDE; got TSNE"):
        wk.scale.fit(wk.TSNE(), X)
    with pytest.raises(InvalidParameterError, match="client must be None or"):
        wk.scale.fit(maker(), X, client="tcp://nowhere:1")
    with pytest.raises(InvalidInputError, match="at least 2 rows"):
        wk.scale.fit(maker(), X[:1])


def test_the_attraction_of_a_shard_is_the_sum_over_its_pairs():
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(60, 3))
    near = np.sort(np.argsort(rng.random((20, 60)), axis=1)[:, :40], axis=1)
    near = np.where(near == np.arange(10, 30)[:, None], 0, near).astype(np.int32)
    weight = rng.random((20, 40)).astype(np.float32)
    shard = _core.Shard(np.arange(0, 801, 40), near.ravel(), weight.ravel(), 10, 60)
    for m, dtype, close in ((2, np.float64, 1e-12), (3, np.float64, 1e-12), (2, np.float32, 1e-5)):
        points = np.ascontiguousarray(Y[:, :m], dtype=dtype)
        difference = points[10:30, None] - points[near]
        square = (difference**2).sum(axis=2)
        expected = (
            0.5 * (weight * np.log1p(square)).sum(),
            3 * ((2 * weight / (1 + square))[..., None] * difference).sum(axis=1),
        )
        value, gradient = shard.pull("log1p", 2.0, 0.0, 1e-5, points, 3.0, 1)
        assert value == pytest.approx(expected[0], rel=close)
        np.testing.assert_allclose(gradient, expected[1], rtol=close, atol=10 * close)
        assert shard.pull("log1p", 2.0, 0.0, 1e-5, points, 3.0, 2)[0] == value


def test_engines_give_results_in_order(cluster, tmp_path):
    client = cluster(2)
    for engine in (LocalEngine(), DaskEngine(client, tmp_path)):
        shared = engine.share(np.arange(20) ** 2)
        assert list(engine.map(lambda k, squares: int(squares[k]), range(20), shared)) == [
            k * k for k in range(20)
        ]
        engine.close()
    assert not list(tmp_path.iterdir())
