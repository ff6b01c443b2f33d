from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.problem import ArrayStream, ChunkStream, StreamProblem, open_edges

N, P = 60, 1000


def all_pairs(p=P, seed=0):
    rng = np.random.Generator(np.random.Philox(key=seed))
    every = np.stack(np.triu_indices(N, 1), axis=1)
    return every[np.sort(rng.permutation(len(every))[:p])], rng.random(p)


EDGES, WEIGHTS = all_pairs()


def chunked(lengths=(300, 1, 199, 500)):
    ends = np.cumsum(lengths)
    return [(EDGES[e - k : e], WEIGHTS[e - k : e]) for k, e in zip(lengths, ends)]


def npz(folder):
    np.savez(folder / "pairs.npz", weights=WEIGHTS, edges=EDGES)
    return open_edges(folder / "pairs.npz", "weights", block=16)


def npy(folder):
    np.save(folder / "pairs.npy", EDGES)
    np.save(folder / "weights.npy", WEIGHTS)
    return open_edges(folder / "pairs.npy", folder / "weights.npy", n_items=N, block=16)


STREAMS = {
    "memory": lambda _: ArrayStream(EDGES, WEIGHTS),
    "npy": npy,
    "npz": npz,
    "iterable": lambda _: ChunkStream(lambda: iter(chunked()), n_items=N),
    "numbered": lambda _: ChunkStream(lambda k: chunked()[k], n_items=N, n_pairs=P, n_chunks=4),
}


@pytest.fixture(params=STREAMS)
def stream(request, tmp_path):
    return STREAMS[request.param](tmp_path)


def key(batch):
    return [(int(i), int(j), float(w)) for (i, j), w in zip(batch.edges, batch.data[0])]


@pytest.mark.parametrize("size", [1000, 300, 64, 5000])
def test_a_pass_holds_every_pair_once(stream, size):
    assert (stream.n_items, stream.n_pairs) == (N, P)
    count = stream.n_batches(size)
    expected = sorted((int(i), int(j), float(w)) for (i, j), w in zip(EDGES, WEIGHTS))
    for epoch in range(2):
        batches = [stream.batch(epoch * count + t, size, 5) for t in range(count)]
        lengths = [len(b.edges) for b in batches]
        assert max(lengths) - min(lengths) <= 16
        assert max(lengths) <= size + 16
        assert sorted(pair for b in batches for pair in key(b)) == expected


def test_a_batch_depends_on_nothing_but_its_arguments(stream):
    forwards = [key(stream.batch(t, 130, 3)) for t in range(20)]
    backwards = [key(stream.batch(t, 130, 3)) for t in reversed(range(20))]
    assert forwards == backwards[::-1]


def test_order_is_random_where_it_can_be(tmp_path):
    for name, make in STREAMS.items():
        stream = make(tmp_path)
        count = stream.n_batches(200)
        first, next_pass = key(stream.batch(0, 200, 1)), key(stream.batch(count, 200, 1))
        others = [key(stream.batch(0, 200, seed)) for seed in range(2, 8)]
        if name == "iterable":
            assert first == next_pass == others[0]
        else:
            assert any(first != other for other in others)
        if name == "memory":
            assert first != next_pass


def test_single_pairs_are_drawn_uniformly():
    stream = ArrayStream(EDGES, np.arange(P))
    counts = np.zeros(P)
    for seed in range(300):
        counts[stream.batch(0, 100, seed).data[0]] += 1
    # 300 draws of probability 0.1: mean 30, standard deviation 5.2
    assert abs(counts.mean() - 30) < 1e-9
    assert 4.0 < counts.std() < 6.5


@pytest.mark.parametrize("name", STREAMS)
def test_stream_problem_is_the_problem(name, tmp_path):
    whole = wk.Problem(EDGES, wk.penalties.Quadratic(WEIGHTS), n_items=N, constraint=wk.Standardized())
    parts = StreamProblem(STREAMS[name](tmp_path), wk.penalties.Quadratic, constraint=wk.Standardized())
    assert (parts.shape, parts.n_pairs, parts.n_items) == ((N, 2), P, N)
    Y = wk.Standardized().initialize(N, 2, 0)
    value, gradient = whole.gradient(Y)
    total, slope = parts.evaluate_all(Y, 77)
    assert total == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-14)
    assert parts.average_distortion(Y) == pytest.approx(value, rel=1e-12)
    assert parts.residual(Y) == pytest.approx(whole.residual(Y), rel=1e-9)


@pytest.mark.parametrize(
    "distortion",
    [
        wk.penalties.Log1p(WEIGHTS),
        wk.penalties.Huber(2.0),
        wk.penalties.PushAndPull(WEIGHTS - 0.5),
        wk.losses.Absolute(WEIGHTS, 1 + WEIGHTS),
        wk.losses.WeightedQuadratic(0.5 + WEIGHTS),
        wk.losses.SoftFractional(0.5 + WEIGHTS, gamma=3.0),
    ],
    ids=lambda d: type(d).__name__,
)
def test_parts_of_a_distortion_are_its_values(distortion):
    rows = np.array([7, 3, 500, 999])
    d = np.linspace(1e-9, 3.0, P)
    part = distortion.take(rows, P)
    for whole, taken in zip(distortion.value_and_derivative(d), part.value_and_derivative(d[rows])):
        np.testing.assert_array_equal(taken, whole[rows])
    Y = wk.Centered().initialize(N, 2, 0)
    problem = wk.Problem(EDGES, distortion, n_items=N)
    assert StreamProblem.of(problem).average_distortion(Y) == pytest.approx(
        problem.average_distortion(Y), rel=1e-12
    )


def test_a_large_file_is_never_in_memory(tmp_path):
    n = 1500
    edges = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
    np.savez(tmp_path / "pairs.npz", edges=edges, deviations=np.ones(len(edges)))
    p, size = len(edges), edges.nbytes + 8 * len(edges)
    assert p > 1_000_000
    del edges
    tracemalloc.start()
    stream = open_edges(tmp_path / "pairs.npz", "deviations")
    problem = StreamProblem(stream, wk.losses.Quadratic)
    found = problem.solve(batch_size=50_000, max_iter=2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (stream.n_pairs, stream.n_items) == (p, n)
    assert peak < size / 2
    assert found.settings["n_pairs"] == p
    assert found.objective < problem.average_distortion(wk.Centered().initialize(n, 2, 0))


def test_solved_from_a_generator_as_from_memory():
    mixed = np.random.Generator(np.random.Philox(key=3)).permutation(P)

    def made():
        for rows in np.array_split(mixed, 7):
            yield EDGES[rows], WEIGHTS[rows]

    best = wk.Problem(EDGES, wk.penalties.Quadratic(WEIGHTS), n_items=N, constraint=wk.Standardized()).solve(
        wk.Standardized().initialize(N, 2, 0), solver="lbfgs", max_iter=1000
    )
    problem = StreamProblem(
        ChunkStream(made, n_items=N), wk.penalties.Quadratic, constraint=wk.Standardized()
    )
    found = problem.solve(random_state=0, batch_size=250, max_iter=120)
    assert found.objective < 1.03 * best.objective
    again = problem.solve(random_state=0, batch_size=250, max_iter=120)
    np.testing.assert_array_equal(found.Y, again.Y)


def test_resumed_from_a_file(tmp_path):
    options = {"random_state": 1, "batch_size": 300}

    def problem():
        return StreamProblem(npy(tmp_path), wk.penalties.Quadratic, constraint=wk.Standardized())

    whole = problem().solve(max_iter=9, **options)
    problem().solve(max_iter=4, checkpoint=tmp_path / "c", **options)
    rest = problem().solve(max_iter=9, checkpoint=tmp_path / "c", **options)
    np.testing.assert_array_equal(whole.Y, rest.Y)


def test_users_own_distortion():
    class Spring:
        def value(self, d):
            return (d - 1) ** 2

        def derivative(self, d):
            return 2 * (d - 1)

    problem = StreamProblem(ArrayStream(EDGES), Spring())
    Y = wk.Centered().initialize(N, 2, 0)
    whole = wk.Problem(EDGES, Spring(), n_items=N)
    assert problem.average_distortion(Y) == pytest.approx(whole.average_distortion(Y), rel=1e-12)


def test_what_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"integer array of shape \(p, 2\)"):
        ArrayStream([[0.5, 1.0]])
    with pytest.raises(InvalidInputError, match=r"one entry per pair, shape \(1000,\); got shape \(3,\)"):
        ArrayStream(EDGES, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameterError, match="block must be"):
        ArrayStream(EDGES, block=0)
    with pytest.raises(InvalidParameterError, match="batch_size must be a positive integer; got 0"):
        ArrayStream(EDGES).batch(0, 0, 0)
    with pytest.raises(InvalidParameterError, match="chunks must be a function"):
        ChunkStream(iter(chunked()), n_items=N)
    with pytest.raises(InvalidInputError, match="hold no pairs"):
        ChunkStream(lambda: iter(()), n_items=N)
    short = ChunkStream(lambda: iter(chunked()), n_items=N, n_pairs=P + 1)
    with pytest.raises(InvalidInputError, match="ended after 1000 pairs; n_pairs=1001"):
        short.batch(0, 2000, 0)
    uneven = ChunkStream(lambda: iter([EDGES[:500], (EDGES[500:], WEIGHTS[500:])]), n_items=N)
    with pytest.raises(InvalidInputError, match="as many vectors"):
        uneven.batch(0, 2000, 0)
    with pytest.raises(InvalidParameterError, match="must hold no data of pairs"):
        StreamProblem(ArrayStream(EDGES), wk.penalties.Quadratic(WEIGHTS))
    with pytest.raises(InvalidInputError, match="from 0 to 9"):
        StreamProblem(ArrayStream(EDGES, n_items=10), wk.penalties.Quadratic)
    problem = StreamProblem(ArrayStream(EDGES), wk.penalties.Quadratic)
    with pytest.raises(InvalidParameterError, match="stream are for solver"):
        problem.solve(solver="lbfgs")


def test_files_that_cannot_be_mapped(tmp_path):
    np.savez_compressed(tmp_path / "small.npz", edges=EDGES)
    with pytest.raises(InvalidInputError, match="compressed"):
        open_edges(tmp_path / "small.npz")
    np.savez(tmp_path / "other.npz", pairs=EDGES)
    with pytest.raises(InvalidInputError, match="has no array 'edges'; it has pairs"):
        open_edges(tmp_path / "other.npz")
    (tmp_path / "text.npy").write_text("0 1\n1 2\n")
    with pytest.raises(InvalidInputError, match=r"is not a \.npy file"):
        open_edges(tmp_path / "text.npy")
    (tmp_path / "text.npz").write_text("0 1\n1 2\n")
    with pytest.raises(InvalidInputError, match=r"is not an \.npz file"):
        open_edges(tmp_path / "text.npz")
    np.savez(tmp_path / "objects.npz", edges=np.array([[None, "x"]], dtype=object))
    with pytest.raises(InvalidInputError, match="holds objects"):
        open_edges(tmp_path / "objects.npz")
