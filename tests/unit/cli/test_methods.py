"""What --method and --set mean."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import winkel
from winkel.cli.console import Console
from winkel.cli.methods import (
    Method,
    Recipe,
    UsageError,
    find_method,
    methods,
    read_settings,
    shared_parameters,
)
from winkel.cli.parser import make_parser
from winkel.data import as_table
from winkel.estimators import registry

from .data import rows


def settings(method, *given):
    return dict(read_settings(find_method(method), given).settings)


ALL = tuple(methods())


def test_methods_are_the_registered_ones_and_exact_ones():
    names = {command.name for name in registry.names() for command in registry.entry(name).commands}
    assert names | {"pca", "kernel-pca", "lle", "isomap", "laplacian"} == set(ALL)
    assert {"mde", "tsm", "tsne"} <= names
    assert all(method.is_estimator == (name in names) for name, method in methods().items())
    assert all(method.summary for method in methods().values())


def test_an_unknown_method_is_refused_with_the_list():
    with pytest.raises(UsageError, match=r"'nothing' is not known; choose one of .*mde, .*pca"):
        find_method("nothing")


@pytest.mark.parametrize("method", ALL)
def test_every_method_has_settings_and_makes_a_map(method):
    table = as_table(rows()[0])
    known = find_method(method).settings
    few = ["n_components=2", "max_iter=3", "n_neighbors=10", "perplexity=10", "n_clusters=3"]
    few = [text for text in few if text.partition("=")[0] in known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", winkel.errors.NotConvergedWarning)
        warnings.simplefilter("ignore", winkel.errors.DataWarning)  # so few rows
        recipe = read_settings(find_method(method), few)
        fitted = recipe.fit(table, {"random_state": 1, "n_jobs": 1})
    assert fitted.embedding.Y.shape == (60, recipe.n_components or fitted.embedding.Y.shape[1])
    assert np.isfinite(fitted.embedding.Y).all()


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
        ("neighbours=3", "mde has no setting 'neighbours'; it has n_components, .*n_neighbors"),
        ("random_state=3", "random_state is set by the option --seed"),
        ("n_jobs=3", "option --n-jobs"),
        ("callbacks=3", "option --watch"),
        ("time_limit=3", "option --time-limit"),
        ("checkpoint=a", "option --resume"),
        ("anchors=3", "mde has no setting 'anchors'"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(UsageError, match=message):
        settings("mde", given)


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_a_preset_is_not_a_setting():
    preset = Method("apart", "distances", winkel.MDE, {"preserve": "distances"})
    assert "preserve" not in preset.settings
    table = as_table(rows()[0])
    fitted = read_settings(preset, ["max_iter=2"]).fit(table, {"random_state": 0})
    assert fitted.model.preserve == "distances"


def test_parameters_of_an_objective_are_settings_of_the_methods_that_have_it():
    by_tsne = Method("tsne", "t-SNE", winkel.AttractRepel, {"objective": "tsne"})
    assert read_settings(by_tsne, ["perplexity=12"]).settings == {"perplexity": 12}
    assert "n_neighbors" not in by_tsne.settings  # for another kernel only
    given = {"kernel_x": "fuzzy", "n_neighbors": 9}
    assert read_settings(by_tsne, ["kernel_x=fuzzy", "n_neighbors=9"]).settings == given
    recipe = read_settings(
        find_method("attract-repel"), ["objective=umap", "negative_sample_rate=none", "tol=1e-9"]
    )
    made = recipe.method.make(recipe.settings, {"random_state": 3})
    assert made.objective == winkel.objectives.UMAP(negative_sample_rate=None)
    assert (made.tol, made.random_state) == (1e-9, 3)
    assert by_tsne.make({}, {}).objective == "tsne"
    with pytest.raises(UsageError, match="tsne has no setting 'rank'"):
        read_settings(by_tsne, ["rank=3"])
    with pytest.raises(winkel.errors.InvalidParameterError, match="kernel_x must be one of"):
        read_settings(by_tsne, ["kernel_x=fuzz"])


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_options_reach_the_estimator():
    line = ["embed", "x.csv", "-o", "y.csv", "--seed", "7", "--n-jobs", "2", "--max-memory", "3GB"]
    shared = shared_parameters(make_parser().parse_args(line), Console())
    fitted = read_settings(find_method("mde"), ["max_iter=2"]).fit(as_table(rows()[0]), shared)
    assert (fitted.model.random_state, fitted.model.n_jobs, fitted.model.max_memory) == (7, 2, "3GB")
    assert fitted.embedding.seed == 7


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_what_was_for_one_fit_is_not_in_the_model(tmp_path):
    shared = {"random_state": 0, "callbacks": [print], "checkpoint": tmp_path / "x.part"}
    fitted = Recipe(find_method("mde"), {"max_iter": 2}).fit(as_table(rows()[0]), shared)
    assert (fitted.model.callbacks, fitted.model.checkpoint) == (None, None)
    fitted.save(str(tmp_path / "m.winkel"))


@pytest.mark.parametrize("method", ALL)
def test_the_types_of_all_parameters_can_be_read(method):
    recipe = read_settings(find_method(method), [])
    assert recipe.n_components is None or recipe.n_components >= 1
    assert recipe.metric
    assert recipe.method.settings
