"""`wk.TSNE` and `wk.UMAP`: the names of other packages' parameters, and the same maps as `wk.AttractRepel`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import winkel as wk
from winkel.errors import InvalidParameterError

pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
X = wk.datasets.load_digits().X[:150]


def test_tsne_is_the_objective_of_attract_repel():
    objective = wk.objectives.TSNE(perplexity=9)
    expected = wk.AttractRepel(objective=objective, max_iter=40, random_state=0).fit(X)
    made = wk.TSNE(perplexity=9, max_iter=40, random_state=0).fit(X)
    assert made.embedding_.tobytes() == expected.embedding_.tobytes()
    assert made.kl_divergence_ == expected.objective_
    assert made.transform(X[:3]).tobytes() == made.embedding_[:3].tobytes()


def test_exaggeration_lasts_as_in_opentsne():
    objective = wk.objectives.TSNE(perplexity=9, attraction=4.0)
    expected = wk.AttractRepel(objective=objective, max_iter=20, random_state=0).fit(X)
    made = wk.TSNE(perplexity=9, exaggeration=4, max_iter=20, random_state=0).fit(X)
    assert made.embedding_.tobytes() == expected.embedding_.tobytes()


def test_umap_is_the_objective_of_attract_repel():
    objective = wk.objectives.UMAP(n_neighbors=9, min_dist=0.3, negative_sample_rate=8.0)
    expected = wk.AttractRepel(objective=objective, max_iter=40, random_state=0).fit(X)
    made = wk.UMAP(
        9, min_dist=0.3, negative_sample_rate=4, repulsion_strength=2.0, n_epochs=40, random_state=0
    )
    assert made.fit(X).embedding_.tobytes() == expected.embedding_.tobytes()


def test_tsnes_learning_rate_is_in_scikit_learns_unit():
    """There the step is learning_rate times the gradient of the divergence; here n/4 times as much."""
    objective = wk.objectives.TSNE(perplexity=9)
    expected = wk.AttractRepel(objective=objective, solver="gains", learning_rate=4 * 20 / len(X), max_iter=40,
                               random_state=0).fit(X)  # fmt: skip
    made = wk.TSNE(perplexity=9, learning_rate=20, max_iter=40, random_state=0).fit(X)
    assert made.embedding_.tobytes() == expected.embedding_.tobytes()


def test_method_exact_sums_over_all_pairs():
    made = wk.TSNE(method="exact", max_iter=10, random_state=0).fit(X)
    assert made.result_.settings["pairs"] == "exact"
    with pytest.raises(InvalidParameterError, match="method must be one of"):
        wk.TSNE(method="tree").fit(X)


@pytest.mark.parametrize(
    ("make", "parameter", "value"),
    [
        (lambda: wk.TSNE(n_iter=33), "max_iter", 33),
        (lambda: wk.TSNE(initialization="random"), "init", "random"),
        (lambda: wk.TSNE(negative_gradient_method="fft"), "method", "fft"),
        (lambda: wk.UMAP(n_epochs=33), "max_iter", 33),
        (lambda: wk.TSNE(angle=0.5, theta=0.5, n_iter_without_progress=300), "max_iter", None),
        (lambda: wk.UMAP(low_memory=False, target_weight=0.5, densmap=False, precomputed_knn=(None, None, None)),
         "n_neighbors", 15),
    ],
)  # fmt: skip
def test_names_of_other_packages_are_understood(make, parameter, value):
    made = make()
    assert made.get_params()[parameter] == value
    assert clone(made).get_params()[parameter] == value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: wk.TSNE(angle=0.2),
            "angle=0.2, a parameter of scikit-learn or openTSNE, has no counterpart in winkel.TSNE: forces",
        ),
        (lambda: wk.UMAP(densmap=True), r"densmap=True.*wk.MDE\(density"),
        (lambda: wk.UMAP(a=1.5, b=0.9), "a=1.5.*min_dist and spread"),
        (lambda: wk.UMAP(precomputed_knn=(np.zeros((3, 2)), np.zeros((3, 2)), None)), "precomputed_knn"),
        (lambda: wk.TSNE(n_iter=5, max_iter=5), "n_iter and max_iter are the same"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_a_reason(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_an_unknown_name_is_an_error_of_python():
    with pytest.raises(TypeError, match="perplexities"):
        wk.TSNE(perplexities=3)


def test_umap_says_that_labels_have_no_part():
    with pytest.warns(wk.errors.DataWarning, match="takes no labels"):
        wk.UMAP(max_iter=2, random_state=0).fit(X, np.arange(len(X)))
