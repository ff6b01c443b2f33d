"""wk.TSM against what users do to it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import winkel as wk
from winkel.errors import (
    DataWarning,
    InvalidInputError,
    InvalidParameterError,
    MemoryLimitError,
    NotConvergedWarning,
)
from winkel.measures.angles import angular_deviation, jaccard, norm_error

X_DIGITS = load_digits(return_X_y=True)[0]
SOME, NEW = X_DIGITS[:160], X_DIGITS[160:200]

# Few rows leave many without similar ones, and few dimensions cannot keep all angles: both are told, not asked here.
told = pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning")


def tsm(n_components=4, **parameters):
    return wk.TSM(n_components, **{"max_iter": 20, "sparsity": 0.95, "random_state": 0} | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return {kind: tsm(placement=kind).fit(SOME) for kind in ("local", "relu")}


# --------------------------------------------------------------------------------------------- any data


@told
@pytest.mark.parametrize("m", [1, 2, 5, 16, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_and_precision(m, dtype):
    model = tsm(m).fit(SOME[:60].astype(dtype))
    Y = model.embedding_
    assert Y.shape == (60, m)
    assert Y.dtype == dtype
    assert np.isfinite(Y).all()
    placed = model.transform(NEW[:5].astype(dtype))
    assert placed.dtype == dtype
    assert np.isfinite(placed).all()


@told
def test_enough_dimensions_keep_everything():
    model = tsm(70, max_iter=60).fit(SOME)
    tau = model.threshold_
    assert angular_deviation(SOME, model.embedding_, threshold=tau).value < 0.1
    assert jaccard(SOME, model.embedding_, threshold=tau).value > 0.97
    assert norm_error(SOME, model.embedding_).value < 1e-3


@told
@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 5)),  # all rows equal
        np.repeat(SOME[:10], 6, axis=0),  # many twins
        np.outer(rng(1).uniform(0.1, 5, 40), rng(2).normal(size=6)),  # all parallel
        np.vstack([np.zeros((5, 4)), rng(3).normal(size=(40, 4))]),  # rows of zeros
        np.zeros((6, 3)),
        np.vstack([np.zeros((5, 3)), [[1.0, 2, 2]]]),  # one row that is not zero
        rng(4).normal(size=(30, 300)),  # nothing similar to anything
        rng(4).integers(0, 2, size=(50, 6)).astype(bool),
        np.arange(-30.0, 30.0)[:, None],  # one column: two directions
        1e-30 * rng(6).normal(size=(40, 3)),
        1e30 * rng(7).normal(size=(40, 3)),
        np.array([[1.0, 0.0], [-1.0, 0.0]]),
    ],
    ids=[
        "equal",
        "twins",
        "parallel",
        "zeros",
        "nothing",
        "one",
        "apart",
        "bool",
        "column",
        "tiny",
        "huge",
        "two",
    ],
)
def test_hard_data_gives_a_sound_map(X):
    model = tsm(3).fit(X)
    Y = model.embedding_
    assert Y.shape == (len(X), 3)
    assert np.isfinite(Y).all()
    zero = ~np.asarray(X, dtype=float).any(axis=1)
    assert not Y[zero].any()
    np.testing.assert_array_equal(model.transform(X), Y)
    assert np.isfinite(model.transform(np.asarray(X, dtype=float) * 1.5)).all()
    assert 0 < model.threshold_ < 1


@told
def test_rows_of_zeros_change_nothing_for_the_others():
    with_zeros = np.insert(SOME, [0, 7, 160], 0.0, axis=0)
    plain, more = tsm(threshold=0.9).fit(SOME), tsm(threshold=0.9).fit(with_zeros)
    keep = with_zeros.any(axis=1)
    np.testing.assert_array_equal(more.embedding_[keep], plain.embedding_)


@told
def test_isolated_rows_are_told_and_virtual_inputs_leave_no_trace():
    model = tsm(threshold=0.97).fit(SOME)
    U = SOME / np.linalg.norm(SOME, axis=1, keepdims=True)
    nearest = (U @ U.T - 2 * np.eye(160)).max(axis=1)
    np.testing.assert_array_equal(model.isolated_, np.flatnonzero(nearest <= 0.97))
    assert model.n_virtual_ >= len(model.isolated_) > 0
    assert model.embedding_.shape == (160, 4)
    assert model.graph_.n == 160
    assert (model.graph_.degree[model.isolated_] == 0).all()


def test_too_high_a_threshold_and_too_few_dimensions_are_told():
    with pytest.warns(DataWarning) as told_of:
        tsm(2, threshold=0.97).fit(SOME)
    texts = " ".join(str(w.message) for w in told_of)
    assert "lower threshold" in texts
    assert "Use an n_components above 2" in texts


@told
def test_graph_holds_the_similar_pairs(fitted):
    model = fitted["local"]
    U = SOME / np.linalg.norm(SOME, axis=1, keepdims=True)
    i, j = np.nonzero(np.triu(model.threshold_ < U @ U.T, 1))
    np.testing.assert_array_equal(model.graph_.edges, np.column_stack([i, j]))


# ------------------------------------------------------------------------------------ the updates


@told
def test_histories_and_status(fitted):
    model = fitted["local"]
    assert model.n_iter_ == 20
    assert len(model.objective_history_) == 20
    assert np.isfinite(model.objective_history_).all()
    assert model.objective_ < model.objective_history_[0]
    assert model.status_.word == "max_iter"
    assert len(model.eigenvalues_) == 5
    stopped = tsm(callbacks=[lambda info: info.iteration == 3]).fit(SOME)
    assert (stopped.n_iter_, stopped.status_.word) == (3, "stopped")
    assert tsm(tol=0.5, max_iter=100).fit(SOME).status_.converged


@told
@pytest.mark.parametrize("change", [{}, {"solver": "factors"}, {"solver": "dense"}, {"n_landmarks": 60}])
@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_frames_lead_to_the_map(change, scale):
    rows = np.insert(SOME, 3, 0.0, axis=0) * scale
    model = tsm(max_iter=9, keep_frames=30, **change).fit(rows)
    frames = model.result_.frames
    assert frames.Y.shape == (10, 161, 4)
    assert not frames.Y[:, 3].any()
    matched = model.landmarks_
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(frames.Y[-1][matched], model.embedding_[matched], atol=1e-3 * size)
    apart = [np.linalg.norm(frame[matched] - model.embedding_[matched]) for frame in frames.Y]
    assert apart[0] > 10 * apart[-1]


@told
def test_a_limit_that_only_the_extension_meets_is_told(monkeypatch):
    from winkel.methods.tsm import fit as steps

    late = steps.Extension.solve
    monkeypatch.setattr(
        steps.Extension,
        "solve",
        lambda self, places, tol, run: late(self, places, tol, replace(run, time_limit=0.0)),
    )
    with pytest.warns(NotConvergedWarning, match="time limit"):
        model = tsm(n_landmarks=60, max_iter=3).fit(SOME)
    assert model.status_.word == "time_limit"
    assert "extension from landmarks" in model.status_.sentence
    assert np.isfinite(model.embedding_).all()


@told
def test_ctrl_c_in_the_extension_is_told_and_loses_little(monkeypatch):
    from winkel.methods.tsm import extension_system as system

    rows = X_DIGITS[:600]
    whole = tsm(8, n_landmarks=200, max_iter=10).fit(rows)
    products = []
    apply = system._Remainder.times

    def interrupted(at):
        products.clear()

        def times(self, Y, n_jobs):
            products.append(1)
            if len(products) == at:
                raise KeyboardInterrupt
            return apply(self, Y, n_jobs)

        monkeypatch.setattr(system._Remainder, "times", times)
        with pytest.warns(NotConvergedWarning, match="Ctrl-C"):
            model = tsm(8, n_landmarks=200, max_iter=10).fit(rows)
        assert model.status_.word == "interrupted"
        assert "extension from landmarks" in model.status_.sentence
        return np.linalg.norm(model.embedding_ - whole.embedding_) / np.linalg.norm(whole.embedding_)

    early, late = interrupted(2), interrupted(100)  # while the system is made up, and after some sweeps
    assert late < 0.5 * early < 0.1


@told
def test_ctrl_c_in_the_matching_leaves_the_extension_short(monkeypatch):
    from winkel.methods.tsm import fit as steps

    def stop(info):
        raise KeyboardInterrupt

    monkeypatch.setattr(steps.Extension, "solve", None)  # is not called
    with pytest.warns(NotConvergedWarning, match="Ctrl-C"):
        model = tsm(n_landmarks=60, callbacks=[stop]).fit(SOME)
    assert model.status_.word == "interrupted"
    assert np.isfinite(model.embedding_).all()


@told
@pytest.mark.parametrize("change", [{}, {"n_landmarks": 60}])
def test_one_scan_of_the_rows_a_call(monkeypatch, change):
    import winkel.data.table as table

    scans = []
    whole = table.dense_matrix
    monkeypatch.setattr(table, "dense_matrix", lambda *args: scans.append(1) or whole(*args))
    model = tsm(**change).fit(SOME)
    assert len(scans) == 1
    model.transform(NEW)
    assert len(scans) == 2
    _ = model.graph_
    assert len(scans) == 2
    model.angle_histogram(SOME)
    assert len(scans) == 3


@told
def test_both_solvers_find_the_same_map_without_momentum():
    one, other = (tsm(momentum=0.0, solver=kind, max_iter=60).fit(SOME) for kind in ("factors", "dense"))
    assert one.objective_ == pytest.approx(other.objective_, rel=0.01)
    turned = wk.align(one.embedding_, other.embedding_, shift=False)
    gap = np.linalg.norm(turned - other.embedding_) / np.linalg.norm(other.embedding_)
    assert gap < 0.2


@told
@pytest.mark.parametrize("change", [{"solver": "factors"}, {"solver": "dense", "max_iter": 3}])
def test_same_bytes_for_any_number_of_threads(change):
    one = tsm(n_jobs=1, **change).fit(SOME)
    for jobs in (2, 3):
        more = tsm(n_jobs=jobs, **change).fit(SOME)
        assert more.embedding_.tobytes() == one.embedding_.tobytes()
        assert more.transform(NEW).tobytes() == one.transform(NEW).tobytes()


@told
def test_landmarks_carry_the_others():
    whole = tsm(8, max_iter=60, threshold=0.9).fit(X_DIGITS[:500])
    part = tsm(8, max_iter=60, threshold=0.9, n_landmarks=250).fit(X_DIGITS[:500])
    assert len(part.landmarks_) == 250
    rows = X_DIGITS[:500]
    change = [angular_deviation(rows, m.embedding_, threshold=0.9).value for m in (whole, part)]
    linear = angular_deviation(rows, wk_svd(rows, 8), threshold=0.9).value
    assert change[0] < change[1] < linear
    np.testing.assert_array_equal(part.transform(rows), part.embedding_)
    assert tsm(n_landmarks=10_000).fit(SOME).embedding_.tobytes() == tsm().fit(SOME).embedding_.tobytes()


@told
@pytest.mark.parametrize("change", [{}, {"n_landmarks": 60}])
def test_norms_are_kept_and_no_angle_changes_by_it(change):
    rows = np.insert(SOME, 3, 0.0, axis=0)
    kept, matched = (tsm(norms=norms, **change).fit(rows) for norms in ("keep", "matched"))
    norms = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(np.linalg.norm(kept.embedding_, axis=1), norms, rtol=1e-12)
    assert norm_error(rows, matched.embedding_).value > 0.01
    marks = kept.landmarks_
    factor = norms[marks] / np.linalg.norm(matched.embedding_[marks], axis=1)
    np.testing.assert_allclose(kept.embedding_[marks], factor[:, None] * matched.embedding_[marks], rtol=1e-9)
    # A fitted row and one hardly different from it have hardly different lengths.
    moved = kept.transform(rows * (1 + 1e-9))
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), norms, rtol=1e-6)
    if not change:
        tau = kept.threshold_
        for score in (angular_deviation, jaccard):
            a, b = (score(rows, m.embedding_, threshold=tau).value for m in (kept, matched))
            assert a == pytest.approx(b, rel=1e-9)


@told
@pytest.mark.parametrize("solver", ["quasi_newton", "dense"])
def test_a_matrix_of_higher_rank_is_matched_better(solver):
    plain, richer = (tsm(rank=rank, solver=solver).fit(SOME) for rank in (None, 9))
    assert richer.embedding_.shape == plain.embedding_.shape == (160, 4)
    assert len(richer.eigenvalues_) == 10
    assert richer.objective_ < 0.5 * plain.objective_
    assert tsm(rank=4, solver=solver).fit(SOME).embedding_.tobytes() == plain.embedding_.tobytes()


@told
def test_both_starts_lead_to_like_objectives():
    strict, paper = (tsm(8, init=init, max_iter=100).fit(X_DIGITS[:400]) for init in ("strict", "svd"))
    assert strict.history_.objective[0] != paper.history_.objective[0]
    assert 0.5 < strict.objective_ / paper.objective_ < 2


@told
def test_neighbors_of_the_extension_and_of_new_rows():
    few, more = (tsm(n_landmarks=80, n_neighbors=k).fit(SOME) for k in (3, 16))
    assert more.embedding_.tobytes() == tsm(n_landmarks=80).fit(SOME).embedding_.tobytes()
    assert np.abs(few.embedding_ - more.embedding_).max() > 0.01
    new = [m.transform(NEW) for m in (few, more)]
    assert np.abs(new[0] - new[1]).max() > 0.01


@told
def test_the_relu_map_as_a_layer():
    from winkel.methods.tsm import ReLUMap

    rows, new = X_DIGITS[:500], X_DIGITS[500:700]
    model = tsm(8, max_iter=60, threshold=0.9).fit(rows)
    layer = ReLUMap(rows, model.embedding_, 0.9)
    placed = layer(new)
    similar = layer.similarities(new).any(axis=1)
    assert similar.mean() > 0.8
    np.testing.assert_allclose(
        np.linalg.norm(placed, axis=1), np.where(similar, np.linalg.norm(new, axis=1), 0.0), rtol=1e-9
    )
    # The equation holds far better than with linear projections, and each row is placed by itself.
    wanted = layer.similarities(new)
    linear = wk_svd(np.vstack([rows, new]), 8)
    error = np.linalg.norm(ReLUMap(model.embedding_, rows, 0.9).similarities(placed) - wanted)
    assert error < 0.5 * np.linalg.norm(ReLUMap(linear[:500], rows, 0.9).similarities(linear[500:]) - wanted)
    np.testing.assert_array_equal(layer(new[:3]), placed[:3])
    np.testing.assert_allclose(layer(2.0 * new[:3]), 2.0 * placed[:3], rtol=1e-9)
    assert not layer(np.vstack([np.zeros(64), -rows[0]])).any()
    with pytest.raises(InvalidInputError, match="one place for each prototype"):
        ReLUMap(rows, model.embedding_[1:], 0.9)
    with pytest.raises(InvalidInputError, match="64 features"):
        layer(new[:, :5])


def wk_svd(X, d):
    from winkel.methods.tsm import svd_map

    return svd_map(X, d)


# -------------------------------------------------------------------------------------- transform


@pytest.mark.parametrize("placement", ["local", "relu"])
def test_norms_origin_and_directions(fitted, placement):
    model = fitted[placement]
    placed = model.transform(NEW)
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), np.linalg.norm(NEW, axis=1), rtol=1e-9)
    assert not model.transform(np.zeros((2, 64))).any()
    np.testing.assert_allclose(model.transform(3.0 * NEW), 3.0 * placed, rtol=1e-6, atol=1e-6)
    # A multiple of a fitted row stands on the ray of that row's place.
    np.testing.assert_allclose(model.transform(0.3 * SOME), 0.3 * model.embedding_, rtol=1e-6, atol=1e-6)
    mixed = model.transform(np.vstack([NEW[:3], SOME, NEW[3:5]]))
    np.testing.assert_array_equal(mixed[3:-2], model.embedding_)


@told
def test_new_rows_keep_their_angles():
    rows = X_DIGITS[:700]
    model = tsm(8, max_iter=80, threshold=0.9).fit(rows[:500])
    linear = wk_svd(rows, 8)
    old = angular_deviation(rows, linear, threshold=0.9).value
    kept = {}
    for kind in ("local", "relu"):
        Y = np.vstack([model.embedding_, model.set_params(placement=kind).transform(rows[500:])])
        assert angular_deviation(rows, Y, threshold=0.9).value < 0.6 * old
        kept[kind] = jaccard(rows, Y, threshold=0.9).value
    assert kept["relu"] > kept["local"] > jaccard(rows, linear, threshold=0.9).value


def test_refused_rows(fitted):
    with pytest.raises(NotFittedError):
        tsm().transform(NEW)
    with pytest.raises(InvalidInputError, match="5 features, but TSM is expecting 64"):
        fitted["local"].transform(NEW[:, :5])
    with pytest.raises(InvalidInputError, match="NaN"):
        tsm().fit(np.full((5, 3), np.nan))


# ------------------------------------------------------------------------------- parameters and files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.0}, "n_components"),
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": "high"}, "threshold"),
        ({"sparsity": 1.0}, "sparsity"),
        ({"n_landmarks": 1}, "n_landmarks"),
        ({"momentum": 1.0}, "momentum"),
        ({"momentum": -0.1}, "momentum"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"solver": "adam"}, "solver"),
        ({"placement": "nearest"}, "placement"),
        ({"regularization": 0.0}, "regularization"),
        ({"norms": "unit"}, "norms"),
        ({"init": "pca"}, "init"),
        ({"rank": 3}, "rank"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "a"}, "random_state"),
        ({"max_memory": "much"}, "max_memory"),
    ],
)
def test_misused_parameters(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        tsm(**change).fit(SOME)


@pytest.mark.parametrize("limit", ["1KB", "60KB"])
def test_memory_is_refused(limit):
    with pytest.raises(MemoryLimitError, match="max_memory"):
        tsm(max_memory=limit).fit(SOME)
    with pytest.raises(MemoryLimitError, match="quasi_newton"):
        tsm(max_memory="200KB", solver="dense").fit(SOME)


@told
def test_clones_pipelines_and_repeated_fits():
    model = tsm()
    assert clone(model).get_params() == model.get_params()
    Y = make_pipeline(Normalizer(), tsm()).fit_transform(SOME)
    assert Y.shape == (160, 4)
    first = model.fit(SOME).embedding_.tobytes()
    assert model.fit(SOME).embedding_.tobytes() == first
    assert list(model.get_feature_names_out()) == ["tsm0", "tsm1", "tsm2", "tsm3"]


def test_choosing_shows_the_trade_off():
    table = wk.TSM.choose(X_DIGITS, n_components=(2, 8), sparsity=(0.95, 0.99), n_rows=300, max_iter=30)
    assert [(c.n_components, c.sparsity) for c in table.choices] == [
        (2, 0.95),
        (8, 0.95),
        (2, 0.99),
        (8, 0.99),
    ]
    low, high = table.choices[:2]
    assert high.deviation < low.deviation
    assert high.threshold == low.threshold < table.choices[2].threshold
    assert table.best(max_deviation=180).n_components == 2
    assert table.best(max_deviation=0.0) == min(table.choices, key=lambda c: c.deviation)
    assert len(str(table).splitlines()) == 5
    with pytest.raises(InvalidParameterError, match="at least one"):
        wk.TSM.choose(SOME, n_components=())
