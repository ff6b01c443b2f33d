"""The same data in other units gives the same map, for every estimator; the result has the unit of the data."""

from __future__ import annotations

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError

from ..estimators import instances, make, rows

INSTANCES = instances()
X, NEW = rows(36, 4), rows(6, 4, seed=1)

pytestmark = [
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
]


def model(instance: str, **parameters):
    name, own = INSTANCES[instance]
    longer = {"max_iter": 300} if instance == "AttractRepel-pca" else {}
    return make(name, **own | longer | parameters)


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize(
    ("dtype", "exponents"), [(np.float64, (-490, 490)), (np.float32, (-80, 50))], ids=["double", "single"]
)
def test_every_estimator_gives_the_same_map_in_other_units(instance, dtype, exponents):
    reference = model(instance).fit(X.astype(dtype))
    placed = reference.transform(NEW.astype(dtype))
    power = reference._powers().get("Y", 0)
    for exponent in exponents:
        other = model(instance).fit(np.ldexp(X.astype(dtype), exponent))
        assert other.embedding_.dtype == dtype
        Y = np.ldexp(other.embedding_, -exponent * power)
        if instance == "AttractRepel-pca":
            scale = np.abs(reference.embedding_).max() ** 2
            np.testing.assert_allclose(
                Y @ Y.T, reference.embedding_ @ reference.embedding_.T, atol=1e-3 * scale
            )
            continue
        assert Y.tobytes() == reference.embedding_.tobytes()
        again = np.ldexp(other.transform(np.ldexp(NEW.astype(dtype), exponent)), -exponent * power)
        # Placing by single precision, or with a loss that has a kink, stops at other last digits.
        tolerance = 1e-4 if dtype == np.float64 and instance != "MDE-distances" else 2e-2
        np.testing.assert_allclose(again, placed, atol=tolerance * np.abs(placed).max())
        own = other.transform(np.ldexp(X[:5].astype(dtype), exponent))
        assert own.tobytes() == other.embedding_[:5].tobytes()


@pytest.mark.parametrize("exponent", [-400, 60])
def test_what_has_a_unit_is_given_in_it(exponent, tmp_path):
    small = np.ldexp(X, exponent)
    lvm, kds = make("LVM").fit(X), make("KDS").fit(X)
    np.testing.assert_array_equal(np.ldexp(lvm.variance_, 2 * exponent), make("LVM").fit(small).variance_)
    np.testing.assert_array_equal(
        np.ldexp(lvm.graph_.knn_distances, exponent), make("LVM").fit(small).graph_.knn_distances
    )
    coded = make("KDS").fit(small)
    np.testing.assert_array_equal(np.ldexp(kds.atoms_, exponent), coded.atoms_)
    np.testing.assert_allclose(
        coded.decode(coded.encode(small)), np.ldexp(kds.decode(kds.encode(X)), exponent)
    )
    frames = make("LVM", keep_frames=3).fit(np.ldexp(X, 30)).result_.frames
    assert np.abs(frames.Y[-1]).max() > 2**25
    made = make("LVM").fit(small)
    made.save(tmp_path / "map")
    loaded = wk.load(tmp_path / "map")
    assert loaded.transform(small[:3]).tobytes() == made.embedding_[:3].tobytes()


@pytest.mark.parametrize("instance", ["MDE", "MDE-distances", "LVM", "TSNE", "UMAP"])
def test_distances_in_other_units(instance):
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    maps = []
    for exponent in (0, -480, 480):
        made = model(instance, metric="precomputed").fit(np.ldexp(D, exponent))
        maps.append(np.ldexp(made.embedding_, -exponent * made._powers()["Y"]))
    assert maps[0].tobytes() == maps[1].tobytes() == maps[2].tobytes()


@pytest.mark.parametrize("instance", ["MDE", "MDE-distances", "LVM", "UMAP"])
def test_distances_without_a_unit_stay_as_they_are(instance):
    made, small = (model(instance, metric="cosine").fit(rows) for rows in (X, np.ldexp(X, -100)))
    np.testing.assert_allclose(small.embedding_, made.embedding_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(small.transform(np.ldexp(NEW, -100)), made.transform(NEW), atol=1e-4)
    if instance != "MDE-distances":
        np.testing.assert_allclose(small.graph_.knn_distances, made.graph_.knn_distances, rtol=1e-9)


def test_a_map_that_grows_keeps_its_unit():
    small = np.ldexp(X, -300)
    grown, usual = make("MDE").fit(small), make("MDE").fit(X)
    np.testing.assert_allclose(grown.extend(np.ldexp(NEW, -300)), usual.extend(NEW), atol=1e-3)
    np.testing.assert_allclose(grown.transform(small[:3]), usual.transform(X[:3]), atol=1e-3)


@pytest.mark.parametrize("instance", INSTANCES)
def test_numbers_whose_squares_vanish_are_refused(instance):
    with pytest.raises(InvalidInputError, match="too small"):
        model(instance).fit(X * 1e-300)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("MDE", {"preserve": "distances", "loss": "huber"}),
        ("MDE", {"preserve": "distances", "init": X[:, :2]}),
        ("AttractRepel", {"objective": wk.objectives.TSNE(kernel_x="rbf", gamma=0.1)}),
        ("AttractRepel", {"objective": wk.objectives.UMAP(kernel_x="linear")}),
        ("KDS", {"init": X[:12]}),
        ("LVM", {"init": X[:, :2]}),
    ],
)
def test_a_parameter_in_the_unit_of_the_data_is_not_ignored(name, parameters):
    with pytest.raises(InvalidInputError, match="in the unit of the data"):
        make(name, **parameters).fit(X * 1e40)


def test_new_rows_that_are_far_too_large():
    with pytest.raises(InvalidInputError, match="too large compared with the fitted rows"):
        make("MDE").fit(X * 1e-120).transform(X * 1e100)
