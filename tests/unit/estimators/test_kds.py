"""wk.KDS and wk.KDSClustering against what users do to them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError, MemoryLimitError
from winkel.measures.classes import clustering_accuracy

X_DIGITS, LABELS = load_digits(return_X_y=True)
SOME, NEW = X_DIGITS[:120], X_DIGITS[200:240]

short = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
pytestmark = short


def kds(**parameters):
    return wk.KDS(**{"n_atoms": 20, "max_iter": 6, "random_state": 0} | parameters)


def clustering(**parameters):
    given = {"n_clusters": 3, "n_atoms": 20, "locality": 0.1, "max_iter": 6, "random_state": 0}
    return wk.KDSClustering(**given | parameters)


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


@pytest.fixture(scope="module", params=["map", "clusters"])
def fitted(request):
    return (kds() if request.param == "map" else clustering()).fit(SOME)


# ----------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("training", ["alternating", "minibatch", "gradient"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fitted_attributes(training, dtype):
    model = kds(training=training, batch_size=64, n_components=3).fit(SOME.astype(dtype))
    assert model.atoms_.shape == (20, 64)
    assert model.embedding_.shape == (120, 3)
    assert model.embedding_.dtype == dtype
    assert np.isfinite(model.embedding_).all()
    assert model.codes_.shape == (120, 20)
    assert model.codes_.format == "csr"
    np.testing.assert_allclose(model.codes_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.usage_.sum(), 120)
    assert model.atom_places_.shape == (20, 3)
    assert model.n_iter_ <= 6
    # Rows lie at the mean of their atoms.
    np.testing.assert_allclose(model.embedding_, model.codes_ @ model.atom_places_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("init", ["kmeans++", "random"])
@pytest.mark.parametrize("locality", [0.05, 20.0])
def test_the_objective_never_rises_by_turns(init, locality):
    model = kds(init=init, locality=locality, max_iter=20, tol=0).fit(SOME)
    objective = model.history_.objective
    assert len(objective) == 21
    assert (np.diff(objective) <= 1e-9 * objective[:-1]).all()
    assert objective[-1] < objective[0]
    assert model.objective_ == pytest.approx(objective[-1], rel=1e-7)


def test_objective_is_the_paper_s():
    model = kds(locality=0.3).fit(SOME)
    X, A = model.codes_.toarray(), model.atoms_
    squares = ((SOME[:, None] - A) ** 2).sum(axis=2)
    expected = 0.5 * ((SOME - X @ A) ** 2).sum(axis=1) + 0.3 * (X * squares).sum(axis=1)
    assert model.objective_ == pytest.approx(expected.mean(), rel=1e-9)


def test_all_trainings_reach_about_the_same():
    X = X_DIGITS[:400]
    full = kds(max_iter=60, tol=1e-5).fit(X).objective_
    batches = kds(training="minibatch", batch_size=100, max_iter=20, tol=0).fit(X).objective_
    gradient = kds(training="gradient", max_iter=80).fit(X).objective_
    assert batches < 1.03 * full
    assert gradient < 1.03 * full


def test_unused_atoms_are_seeded_again():
    # Five atoms far away from everything: nobody would use them.
    start = np.vstack([SOME[:15], np.full((5, 64), 1e4)])
    for training in ("alternating", "minibatch"):
        model = kds(init=start, training=training, batch_size=64, max_iter=8).fit(SOME)
        assert (model.usage_ > 0).all()
        assert np.abs(model.atoms_).max() < 20


def test_given_atoms_are_kept_without_iterations():
    model = kds(init=SOME[:20], max_iter=0).fit(SOME)
    np.testing.assert_array_equal(model.atoms_, SOME[:20])


def test_moons_are_told_apart_where_k_means_fails():
    X, y = make_moons(1500, noise=0.05, random_state=0)
    labels = wk.KDSClustering(2, n_atoms=24, random_state=0).fit_predict(X)
    assert clustering_accuracy(y, labels) == 1.0
    assert clustering_accuracy(y, KMeans(2, n_init=5, random_state=0).fit_predict(X)) < 0.9


# ---------------------------------------------------------------------------------------- new rows


def test_rows_one_by_one_and_fitted_rows(fitted):
    for name in ("transform", "predict") if isinstance(fitted, wk.KDSClustering) else ("transform",):
        function = getattr(fitted, name)
        together = function(NEW)
        for i in (0, 17, 39):
            assert function(NEW[i : i + 1]).tobytes() == together[i].tobytes()
        assert function(NEW[::-1])[::-1].tobytes() == together.tobytes()
    mixed = fitted.transform(np.vstack([NEW[:3], SOME, NEW[3:5]]))
    np.testing.assert_array_equal(mixed[3:-2], fitted.embedding_)
    assert (fitted.encode(SOME) != fitted.codes_).nnz == 0


def test_fitted_rows_get_their_own_cluster():
    model = clustering().fit(SOME)
    np.testing.assert_array_equal(model.predict(SOME), model.labels_)
    assert set(model.labels_) == {0, 1, 2}
    assert model.atom_labels_.shape == (20,)


def test_codes_and_back():
    model = kds(n_atoms=60, locality=0.05).fit(SOME)
    codes = model.encode(NEW)
    back = model.decode(codes)
    np.testing.assert_allclose(model.decode(codes.toarray()), back)
    lost = ((NEW - back) ** 2).sum() / ((NEW - SOME.mean(axis=0)) ** 2).sum()
    assert lost < 0.35
    with pytest.raises(InvalidInputError, match="60 atoms"):
        model.decode(np.ones((3, 5)))


def test_refused_new_rows(fitted):
    with pytest.raises(NotFittedError):
        kds().transform(NEW)
    with pytest.raises(NotFittedError):
        kds().decode(np.ones((2, 20)))
    with pytest.raises(InvalidInputError, match="5 features"):
        fitted.transform(NEW[:, :5])
    with pytest.raises(InvalidInputError, match="NaN"):
        fitted.encode(np.full((2, 64), np.nan))


# ----------------------------------------------------------------------------------------- batches


def test_memory_maps_are_rows(tmp_path):
    np.save(tmp_path / "rows.npy", SOME)
    there = np.load(tmp_path / "rows.npy", mmap_mode="r")
    one = kds(training="minibatch", batch_size=50).fit(there)
    other = kds(training="minibatch", batch_size=50).fit(SOME)
    assert one.embedding_.tobytes() == other.embedding_.tobytes()


def test_batches_from_lists_and_functions():
    parts = np.array_split(X_DIGITS[:300], 5)
    listed = kds(max_iter=5).fit_batches(parts)
    called = kds(max_iter=5).fit_batches(lambda: (part for part in parts))
    assert listed.embedding_.tobytes() == called.embedding_.tobytes()
    assert listed.codes_.shape == (300, 20)
    assert listed.n_features_in_ == 64
    np.testing.assert_array_equal(listed.transform(X_DIGITS[:300]), listed.embedding_)
    assert listed.objective_ < 1.1 * kds(max_iter=20).fit(X_DIGITS[:300]).objective_
    labels = clustering().fit_batches(parts).labels_
    assert labels.shape == (300,)


def test_refused_batches():
    with pytest.raises(InvalidInputError, match="only be iterated once"):
        kds().fit_batches(iter([SOME]))
    with pytest.raises(InvalidInputError, match="no batch"):
        kds().fit_batches([])
    with pytest.raises(InvalidInputError, match="batch 1 has 3 features"):
        kds(n_atoms=5).fit_batches([SOME, SOME[:, :3]])
    with pytest.raises(InvalidInputError, match="NaN"):
        kds().fit_batches([np.full((30, 4), np.nan)])


# ---------------------------------------------------------------------------------------- any data


@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 5)),  # all rows equal
        np.repeat(SOME[:6], 12, axis=0),  # fewer different rows than atoms
        np.vstack([rng(1).normal(size=(40, 4)), rng(2).normal(size=(40, 4)) + 1e6]),  # two far pieces
        np.hstack([SOME[:60], np.full((60, 3), 1e6)]),  # columns that tell nothing
        np.vstack([rng(3).normal(size=(50, 3)), [[1e5, 0, 0]]]),  # a row far away
        np.arange(60.0)[:, None],  # one column
        rng(5).normal(size=(30, 500)),  # more columns than rows
        1e-30 * rng(6).normal(size=(40, 3)),
        1e30 * rng(7).normal(size=(40, 3)),
    ],
    ids=["equal", "twins", "pieces", "constant", "outlier", "column", "wide", "tiny", "huge"],
)
@pytest.mark.parametrize("training", ["alternating", "minibatch", "gradient"])
@pytest.mark.filterwarnings("ignore:all rows are equal:winkel.errors.DataWarning")
def test_hard_data_gives_a_sound_map(X, training):
    model = kds(training=training, batch_size=16).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.atoms_).all()
    assert np.isfinite(model.objective_)
    np.testing.assert_allclose(model.codes_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transform(X[:3]), model.embedding_[:3])


@pytest.mark.filterwarnings("ignore:all rows are equal:winkel.errors.DataWarning")
@pytest.mark.parametrize(("X", "found"), [(np.ones((40, 5)), 1), (np.repeat(SOME[:2], 12, axis=0), 2)])
def test_too_few_different_rows_are_told(X, found):
    with pytest.warns(DataWarning, match=f"n_clusters=3, but the codes only distinguish {found}"):
        model = clustering().fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(("n", "atoms"), [(7, 7), (60, 10), (400, 20), (20_000, 500)])
def test_the_number_of_atoms_follows_that_of_the_rows(n, atoms):
    model = wk.KDS(max_iter=0, random_state=0, n_jobs=1).fit(rng(1).normal(size=(n, 2)))
    assert len(model.atoms_) == atoms


def test_atoms_follow_clusters_and_given_atoms():
    assert len(wk.KDSClustering(9, max_iter=1, random_state=0).fit(SOME).atoms_) == 18
    assert len(wk.KDS(init=SOME[:13], max_iter=0).fit(SOME).atoms_) == 13


@pytest.mark.parametrize("n", [100, 150, 300])
def test_defaults_find_blobs_of_any_size(n):
    X, y = make_blobs(n, centers=3, random_state=1)
    labels = wk.KDSClustering(3, random_state=0, n_jobs=1).fit_predict(X)
    assert clustering_accuracy(y, labels) > 0.95


def test_a_graph_in_pieces_is_told():
    X, _ = make_blobs(150, centers=3, random_state=1)
    with pytest.warns(DataWarning, match="pieces.*Fewer atoms"):
        wk.KDSClustering(3, n_atoms=100, random_state=0, n_jobs=1).fit(X)


def test_the_paper_s_clustering_by_name():
    X, moon = make_moons(600, noise=0.05, random_state=0)
    ours, paper = (
        wk.KDSClustering(2, n_atoms=20, graph=graph, random_state=0, n_jobs=1).fit(X)
        for graph in ("links", "paper")
    )
    assert ours.embedding_.shape == (600, 4)
    assert paper.embedding_.shape == (600, 2)
    assert clustering_accuracy(moon, paper.labels_) > 0.9
    np.testing.assert_array_equal(paper.predict(X), paper.labels_)
    # The eigenvectors of the normalized Laplacian of the graph of all rows and atoms, computed as they stand there.
    codes = paper.codes_.toarray()
    W = np.block([[np.zeros((600, 600)), codes], [codes.T, np.zeros((20, 20))]])
    root = np.sqrt(W.sum(axis=1))
    vectors = np.linalg.eigh(W / np.outer(root, root))[1][:, ::-1][:, :2] / root[:, None]
    both = np.column_stack([vectors[:600], paper.embedding_])
    assert np.linalg.svd(both, compute_uv=False)[2] < 1e-8


def test_a_map_with_orthonormal_coordinates():
    model = wk.KDS(3, n_atoms=12, constraint="identity", random_state=0, n_jobs=1).fit(SOME)
    Q = np.vstack([model.embedding_, model.atom_places_])
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Q.sum(axis=0), 0.0, atol=1e-9)
    with pytest.raises(InvalidParameterError, match="constraint"):
        wk.KDS(constraint="unit").fit(SOME)


def test_few_rows_clip_the_atoms():
    with pytest.warns(DataWarning, match="only 5 rows; n_atoms=5 is used"):
        model = kds().fit(SOME[:5])
    assert model.atoms_.shape == (5, 64)
    assert model.embedding_.shape == (5, 2)
    with pytest.raises(InvalidInputError, match="too few for n_clusters=3"):
        clustering(n_atoms=2).fit(SOME[:2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_atoms": 0}, "n_atoms"),
        ({"n_atoms": 2.5}, "n_atoms"),
        ({"locality": 0.0}, "locality"),
        ({"coder": "omp"}, "coder"),
        ({"training": "sgd"}, "'alternating', 'minibatch', 'gradient'; got 'sgd'"),
        ({"init": "pca"}, "'kmeans\\+\\+', 'random' or an array; got 'pca'"),
        ({"init": [[np.inf]]}, "init"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "a"}, "random_state"),
        ({"max_memory": "much"}, "max_memory"),
    ],
)
def test_misused_parameters(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        kds(**change).fit(SOME)


def test_misused_start_clusters_and_memory():
    with pytest.raises(InvalidInputError, match="20 finite atoms of 64 features"):
        kds(init=np.ones((3, 64))).fit(SOME)
    with pytest.raises(InvalidParameterError, match="n_clusters"):
        clustering(n_clusters=0).fit(SOME)
    with pytest.raises(InvalidParameterError, match="n_vectors"):
        clustering(n_vectors=0).fit(SOME)
    with pytest.raises(InvalidParameterError, match="ridge"):
        clustering(ridge=-1.0).fit(SOME)
    assert clustering(n_vectors=7).fit(SOME).embedding_.shape == (120, 7)
    with pytest.raises(MemoryLimitError, match="max_memory"):
        kds(max_memory="1KB").fit(SOME)


# -------------------------------------------------------------------------------------- same bytes


@pytest.mark.parametrize("training", ["alternating", "minibatch", "gradient"])
@pytest.mark.parametrize("coder", ["projected_gradient", "frank_wolfe"])
def test_same_bytes_for_any_threads(training, coder):
    results = []
    for jobs in (1, 2):
        model = clustering(training=training, coder=coder, n_jobs=jobs, batch_size=64).fit(SOME)
        results.append((model.atoms_.tobytes(), model.embedding_.tobytes(), model.labels_.tobytes()))
    assert results[0] == results[1]


_SCRIPT = """
import warnings, hashlib
warnings.simplefilter("ignore")
from sklearn.datasets import load_digits
import winkel as wk
X = load_digits().data
model = wk.KDSClustering(5, n_atoms=60, max_iter=10, random_state=0).fit(X[:500])
print(hashlib.sha256(model.atoms_.tobytes() + model.labels_.tobytes() + model.transform(X[500:530]).tobytes()).hexdigest())
"""


def test_threads_of_blas_and_openmp_do_not_matter(monkeypatch):
    results = []
    for threads in ("1", "2"):
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, threads)
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=300
        )
        results.append(done.stdout)
    assert results[0] == results[1]
    assert len(results[0].strip()) == 64


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "model",
    [
        kds(),
        kds(init=SOME[:20], coder="frank_wolfe", n_components=3),
        clustering(training="minibatch", batch_size=64),
    ],
    ids=["map", "given", "clusters"],
)
def test_loaded_is_saved(model, tmp_path):
    model = clone(model).fit(SOME)
    model.save(tmp_path / "model")
    loaded = wk.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.transform(NEW).tobytes() == model.transform(NEW).tobytes()
    assert (loaded.codes_ != model.codes_).nnz == 0
    assert loaded.objective_ == model.objective_
    if isinstance(model, wk.KDSClustering):
        np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.fit(SOME).embedding_.tobytes() == model.embedding_.tobytes()
    again = pickle.loads(pickle.dumps(model))
    assert again.transform(NEW).tobytes() == model.transform(NEW).tobytes()


# ------------------------------------------------------------------------------------ scikit-learn


def test_pipeline_and_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SOME[:, 10:20], columns=[f"pixel {i}" for i in range(10)])
    pipeline = make_pipeline(StandardScaler(), kds()).set_output(transform="pandas")
    assert list(pipeline.fit_transform(frame).columns) == ["kds0", "kds1"]
    labels = make_pipeline(StandardScaler(), clustering()).fit_predict(frame)
    assert labels.shape == (120,)
    model = kds().fit(frame)
    with pytest.raises(InvalidInputError, match="feature names should match"):
        model.transform(frame[frame.columns[::-1]])


@pytest.mark.parametrize("training", ["alternating", "minibatch", "gradient"])
def test_frames_are_maps_that_lead_to_the_last(training):
    for model in (kds(training=training, keep_frames=30), clustering(training=training, keep_frames=30)):
        model.fit(SOME)
        frames = model.result_.frames
        assert frames.Y.shape == (model.n_iter_ + 1, *model.embedding_.shape)
        np.testing.assert_allclose(frames.Y[-1], model.embedding_, atol=1e-4)


def test_batches_go_on_from_a_checkpoint(tmp_path):
    parts, file = np.array_split(X_DIGITS[:300], 5), tmp_path / "fit"
    whole = kds(max_iter=5, tol=0).fit_batches(parts)

    def stop(info):
        if info.iteration == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kds(max_iter=5, tol=0, checkpoint=file, callbacks=[stop]).fit_batches(parts)
    assert file.exists()
    resumed = kds(max_iter=5, tol=0, checkpoint=file).fit_batches(parts)
    assert resumed.embedding_.tobytes() == whole.embedding_.tobytes()
    assert not file.exists()
    assert kds(max_iter=5, verbose=True).fit_batches(parts).embedding_.shape == (300, 2)


def test_callbacks_and_status():
    seen = []
    model = kds(callbacks=[lambda info: seen.append(info.objective)], max_iter=60).fit(SOME)
    assert model.status_.word == "converged"
    assert len(seen) == model.n_iter_
    stopped = kds(callbacks=[lambda info: info.iteration == 2]).fit(SOME)
    assert (stopped.n_iter_, stopped.status_.word) == (2, "stopped")
