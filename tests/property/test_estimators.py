"""What holds for every estimator: one list of instances × properties."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import winkel as wk
from winkel.errors import MemoryLimitError, NotConvergedWarning
from winkel.estimators import registry

from ..estimators import instances, make, rows

INSTANCES = instances()
X, NEW = rows(), rows(9, seed=1)

# Short fits; whether they had come to rest is not what these tests ask.
pytestmark = [
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
]
each = pytest.mark.parametrize("instance", INSTANCES)


def model(instance: str, **parameters):
    name, own = INSTANCES[instance]
    return make(name, **own | parameters)


def has(instance: str, parameter: str) -> bool:
    return parameter in registry.entry(INSTANCES[instance][0]).cls._get_param_names()


@pytest.fixture(scope="module")
def fitted():
    """Each instance fitted once, for the tests that only look."""
    made = {}

    def fit(instance):
        if instance not in made:
            made[instance] = model(instance).fit(X)
        return made[instance]

    return fit


# ------------------------------------------------------------------------------------------------ maps


@each
@pytest.mark.parametrize(("dtype", "m"), [(np.float32, 1), (np.float64, 3)])
def test_shape_and_precision(instance, dtype, m):
    size = {"n_components": m} if has(instance, "n_components") else {}
    made = model(instance, **size).fit(X.astype(dtype))
    Y = made.embedding_
    assert isinstance(Y, np.ndarray)
    assert Y.dtype == dtype
    assert len(Y) == len(X)
    assert not size or Y.shape[1] == m
    assert np.isfinite(Y).all()
    placed = made.transform(NEW.astype(dtype))
    assert placed.dtype == dtype
    assert placed.shape == (len(NEW), Y.shape[1])
    assert np.isfinite(placed).all()


@each
def test_results(instance, fitted):
    made = fitted(instance)
    result = made.result_
    assert isinstance(result, wk.Embedding)
    assert made.embedding_ is result.Y
    assert made.objective_ == result.objective
    assert made.n_iter_ == result.history.n_rows - 1
    assert made.status_.word in ("converged", "max_iter")
    assert made.n_features_in_ == X.shape[1]
    assert result.seed == 0
    np.testing.assert_array_equal(model(instance).fit_transform(X), made.embedding_)


HARD = {
    "equal rows": np.ones((20, 3)),
    "twins": np.repeat(rows(12), 2, axis=0),
    "one column": rows(30, 1),
    "constant columns": np.hstack([rows(30, 2), np.full((30, 2), 7.0)]),
    "rows of zeros": np.vstack([rows(25, 4), np.zeros((5, 4))]),
    "far blobs": np.vstack([rows(20, 3), 1e6 + rows(20, 3)]),
    "an outlier": np.vstack([rows(30, 3), [[1e8, 0, 0]]]),
    "more columns than rows": rows(12, 40),
    "few rows": rows(4, 3),
    "whole numbers": np.round(rows(30, 3)).astype(np.int64),
    "large": rows(30, 3) * 1e12,
    "small": rows(30, 3) * 1e-12,
}


@each
@pytest.mark.parametrize("data", HARD)
def test_hard_data_gives_a_finite_map(instance, data):
    values = HARD[data]
    made = model(instance).fit(values)
    assert len(made.embedding_) == len(values)
    assert np.isfinite(made.embedding_).all()
    assert np.isfinite(made.transform(values[:2])).all()


# ----------------------------------------------------------------------------------------------- bytes


@each
def test_same_bytes_for_any_number_of_threads(instance):
    data = rows(220, 6)
    maps = [(m.embedding_.tobytes(), m.transform(NEW_6).tobytes())
            for m in (model(instance, n_jobs=jobs).fit(data) for jobs in (1, 2, 3))]  # fmt: skip
    assert maps[0] == maps[1] == maps[2]


NEW_6 = rows(7, 6, seed=3)


@each
def test_rows_alone_are_placed_as_in_a_batch(instance, fitted):
    made = fitted(instance)
    batch = made.transform(NEW)
    alone = np.vstack([made.transform(NEW[i : i + 1]) for i in range(len(NEW))])
    assert batch.tobytes() == alone.tobytes()


@each
def test_fitted_rows_get_their_own_places_back(instance, fitted):
    made = fitted(instance)
    assert made.transform(X).tobytes() == np.ascontiguousarray(made.embedding_).tobytes()


@each
def test_seeds(instance):
    first = model(instance, random_state=None).fit(X)
    again = model(instance, random_state=first.result_.seed).fit(X)
    assert again.embedding_.tobytes() == first.embedding_.tobytes()
    generator = model(instance, random_state=np.random.default_rng(5)).fit(X)
    assert model(instance, random_state=generator.result_.seed).fit(X).embedding_.tobytes() == (
        generator.embedding_.tobytes()
    )


# ----------------------------------------------------------------------------------------------- files


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loaded_is_saved(instance, dtype, tmp_path):
    made = model(instance).fit(X.astype(dtype))
    made.save(tmp_path / "map.winkel")
    loaded = wk.load(tmp_path / "map.winkel")
    pickled = pickle.loads(pickle.dumps(made))
    for other in (loaded, pickled):
        assert type(other) is type(made)
        assert other.embedding_.tobytes() == made.embedding_.tobytes()
        assert other.transform(NEW).tobytes() == made.transform(NEW).tobytes()
        assert (other.objective_, other.n_iter_, other.status_) == (
            made.objective_,
            made.n_iter_,
            made.status_,
        )
    # The parameters are as good as the ones given: a new fit finds the same.
    assert clone(loaded).fit(X.astype(dtype)).embedding_.tobytes() == made.embedding_.tobytes()


@each
def test_what_cannot_be_saved_leaves_no_file(instance, tmp_path):
    with pytest.raises(NotFittedError):
        model(instance).save(tmp_path / "map")
    with pytest.raises(ValueError, match="contains no code"):
        model(instance, callbacks=[print_nothing]).fit(X).save(tmp_path / "map")
    assert not list(tmp_path.iterdir())


def print_nothing(info):
    """A callback that does nothing."""


@each
def test_names_of_features(instance, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "ç", "d", "e f"])
    made = model(instance).fit(frame)
    assert list(made.feature_names_in_) == list(frame.columns)
    made.save(tmp_path / "map")
    loaded = wk.load(tmp_path / "map")
    np.testing.assert_array_equal(loaded.feature_names_in_, made.feature_names_in_)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(frame[["b", "a", "ç", "d", "e f"]])
    with pytest.raises(ValueError, match="is expecting 5 features"):
        loaded.transform(X[:, :4])


# ------------------------------------------------------------------------------------------------ runs


@each
def test_a_time_limit_stops_with_a_map(instance):
    made = model(instance, time_limit=0.0, max_iter=50).fit(X)
    assert made.status_.word in ("time_limit", "converged")
    assert len(made.embedding_) == len(X)
    assert np.isfinite(made.embedding_).all()


@each
def test_callbacks_and_frames(instance):
    seen = []

    def look(info):
        seen.append(info.iteration)
        return info.iteration >= 3

    made = model(instance, callbacks=[look], keep_frames=4).fit(X)
    assert seen[:1] == [1]
    assert made.status_.word in ("stopped", "converged")
    frames = made.result_.frames
    assert frames is not None
    assert 1 <= len(frames.iteration) <= 4
    assert np.isfinite(frames.Y).all()


@each
def test_a_checkpoint_goes_on_to_the_same_bytes(instance, tmp_path):
    file = tmp_path / "fit[1].part"
    whole = model(instance).fit(X)

    class Killed(Exception):
        pass

    def kill(info):
        if info.iteration == 2:
            raise Killed

    with pytest.raises(Killed):
        model(instance, checkpoint=file, callbacks=[kill]).fit(X)
    left = list(tmp_path.iterdir())
    assert left, "a fit that was killed leaves its checkpoint"
    resumed = model(instance, checkpoint=file).fit(X)
    assert resumed.embedding_.tobytes() == whole.embedding_.tobytes()
    assert not list(tmp_path.iterdir()), "a finished fit removes its checkpoint"


@each
def test_a_checkpoint_of_other_data_is_refused(instance, tmp_path):
    file = tmp_path / "fit.part"
    with pytest.raises(ZeroDivisionError):
        model(instance, checkpoint=file, callbacks=[lambda info: 1 / 0]).fit(X)
    with pytest.raises(ValueError, match="belongs to another run"):
        model(instance, checkpoint=file).fit(rows(seed=5))


@each
def test_an_interruption_keeps_a_map(instance):
    def interrupt(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="Ctrl-C"):
        made = model(instance, callbacks=[interrupt]).fit(X)
    assert made.status_.word == "interrupted"
    assert np.isfinite(made.embedding_).all()


@each
def test_memory_is_refused_before_the_work(instance):
    called = []
    with pytest.raises(MemoryLimitError, match="max_memory"):
        model(instance, max_memory="2KB", callbacks=[called.append]).fit(rows(300, 8))
    assert not called


@each
def test_verbose_says_how_faithful_the_map_is(instance, capfd):
    model(instance, verbose=True).fit(X)
    text = capfd.readouterr().err
    assert f"{INSTANCES[instance][0]}: trustworthiness" in text


@each
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_jobs", 0), ("max_memory", "much"), ("random_state", -1), ("time_limit", -1.0), ("keep_frames", -1),
        ("callbacks", 5), ("checkpoint", 5), ("max_iter", -1), ("max_iter", 2.5), ("n_components", 0), ("tol", "x"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_told(instance, parameter, value):
    if not has(instance, parameter):
        pytest.skip(f"has no {parameter}")
    with pytest.raises(ValueError, match=f"{parameter}.* must .*; got"):
        model(instance, **{parameter: value}).fit(X)


# ---------------------------------------------------------------------------------------- scikit-learn


# Variants that read their input as another instance does; scikit-learn's checks ask about that.
SAME_SURFACE = {
    "MDE-log", "MDE-standardized", "LVM-coarse", "TSM-landmarks", "TSM-relu", "KDS-minibatch", "AttractRepel-two_kernel_pca",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([model(instance) for instance in INSTANCES if instance not in SAME_SURFACE])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_every_class_has_instances_and_a_command():
    assert set(INSTANCES) > SAME_SURFACE
    tested = {name for name, _ in INSTANCES.values()}
    assert tested == set(registry.names())
    for name in registry.names():
        assert registry.entry(name).commands
        assert getattr(wk.estimators, name) is registry.entry(name).cls
