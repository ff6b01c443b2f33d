"""What --method and --set mean."""

from __future__ import annotations

import typing
import warnings

import numpy as np
import pytest

import winkel
from winkel.cli.methods import METHODS, Resources, UsageError, available, find_method, read_settings

from .data import rows


def settings(method, *given):
    return dict(read_settings(find_method(method), given).settings)


def test_the_table_names_what_the_package_has():
    for method in available().values():
        assert method.target.startswith("quadratic.") or hasattr(winkel, method.target)
    missing = set(METHODS) - set(available())
    assert all(not hasattr(winkel, METHODS[name].target) for name in missing)


def test_an_unknown_method_is_refused_with_the_list():
    with pytest.raises(UsageError, match=r"'nothing' is not known; choose one of mde, .*pca"):
        find_method("nothing")


@pytest.mark.parametrize("method", sorted(available()))
def test_every_method_has_settings_and_makes_a_map(method):
    X, _ = rows()
    few = ["n_components=2"]
    known = _known(method)
    few += [
        text for text in ("max_iter=3", "n_neighbors=10", "perplexity=10") if text.partition("=")[0] in known
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", winkel.errors.NotConvergedWarning)
        warnings.simplefilter("ignore", winkel.errors.DataWarning)  # so few rows
        fitted = read_settings(find_method(method), few).fit(X, Resources(seed=1, n_jobs=1))
    assert fitted.embedding.Y.shape == (60, 2)
    assert np.isfinite(fitted.embedding.Y).all()


def _known(method):
    with pytest.raises(UsageError) as caught:
        settings(method, "surely_not=1")
    return str(caught.value).rpartition("it has ")[2].rstrip(".").split(", ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("n_neighbors=30", {"n_neighbors": 30}),
        (" n_neighbors = 30 ", {"n_neighbors": 30}),
        ("n-neighbors=30", {"n_neighbors": 30}),
        ("tol=1", {"tol": 1.0}),
        ("tol=1e-3", {"tol": 1e-3}),
        ("repulsive=none", {"repulsive": None}),
        ("repulsive=None", {"repulsive": None}),
        ("repulsive=log", {"repulsive": "log"}),
        ("metric=cosine", {"metric": "cosine"}),
        ("metric=none", {"metric": "none"}),  # not a parameter that may be None
        ("init=a=b", {"init": "a=b"}),
    ],
)
def test_values_are_read_as_the_parameter_says(given, expected):
    read = settings("mde", given)
    assert read == expected
    assert [type(value) for value in read.values()] == [type(value) for value in expected.values()]


def test_booleans():
    assert settings("laplacian", "normalized=True") == {"normalized": True}
    with pytest.raises(UsageError, match="normalized must be true or false; got 'maybe'"):
        settings("laplacian", "normalized=maybe")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("n_neighbors=2.5", "n_neighbors must be an integer; got '2.5'"),
        ("n_neighbors=many", "n_neighbors must be an integer"),
        ("tol=", "tol must be a number; got ''"),
        ("nothing", "takes name=value; got 'nothing'"),
        ("neighbours=3", "mde has no setting 'neighbours'; it has n_components, preserve, n_neighbors"),
        ("random_state=3", "random_state is set by the option --seed"),
        ("n_jobs=3", "option --n-jobs"),
        ("callbacks=3", "option --watch"),
        ("anchors=3", "mde has no setting 'anchors'"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(UsageError, match=message):
        settings("mde", given)


def test_a_preset_is_not_a_setting(monkeypatch):
    from winkel.cli.methods import Method

    preset = Method("far", "MDE", "distances", {"preserve": "distances"})
    monkeypatch.setitem(METHODS, "far", preset)
    assert "preserve" not in _known("far")
    assert read_settings(preset, ["max_iter=5"]).estimator(Resources()).preserve == "distances"


def test_a_method_of_another_version_is_named_as_such(monkeypatch):
    from winkel.cli.methods import Method

    monkeypatch.setitem(METHODS, "later", Method("later", "Later", "not yet"))
    assert "later" not in available()
    with pytest.raises(UsageError, match="'later' is not part of this version"):
        find_method("later")


def test_resources_reach_the_estimator():
    model = read_settings(find_method("mde"), []).estimator(Resources(7, 2, "3GB", True))
    assert (model.random_state, model.n_jobs, model.max_memory, model.verbose) == (7, 2, "3GB", True)


@pytest.mark.parametrize("method", sorted(available()))
def test_the_types_of_all_parameters_can_be_read(method):
    recipe = read_settings(find_method(method), [])
    assert recipe.n_components >= 1
    assert typing.get_type_hints(type(recipe))  # the module itself is typed, too
