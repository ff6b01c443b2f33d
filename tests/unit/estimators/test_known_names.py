"""`wk.TSNE` and `wk.UMAP`: the names of other packages' parameters, and the same maps as `wk.AttractRepel`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError

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


def test_umap_draws_classes_together_as_far_as_target_weight_says():
    """Of classes that have nothing to do with the rows, so that all separation is the labels'."""
    kinds = np.random.default_rng(0).integers(0, 3, len(X))
    excess = [
        wk.measure(X, wk.UMAP(max_iter=60, random_state=0, **given).fit(X, y), labels=kinds)[
            "label_excess"
        ].value
        for y, given in (
            (None, {}),
            (kinds, {"target_weight": 0.2}),
            (kinds, {}),
            (kinds, {"target_weight": 1.0}),
        )
    ]
    assert excess[0] < 0.05 < 0.1 < excess[1] < 0.3 < min(excess[2:])


def test_umap_takes_classes_of_any_kind():
    kinds = np.arange(len(X)) % 3
    kinds[::4] = -1
    names = np.where(kinds < 0, "", np.char.add("kind ", kinds.astype(str)))
    frame = pd.DataFrame(X).assign(kind=names)
    quick = {"max_iter": 5, "random_state": 0}
    given = [(X, kinds), (X, names), (X, np.where(kinds < 0, np.nan, kinds)), (frame, "kind")]
    maps = [wk.UMAP(**quick).fit(data, y).embedding_.tobytes() for data, y in given]
    assert maps == maps[:1] * 4
    assert maps[0] != wk.UMAP(**quick).fit(X).embedding_.tobytes()
    with pytest.raises(InvalidInputError, match="one label for each of the 150 rows"):
        wk.UMAP(**quick).fit(X, kinds[1:])
    with pytest.raises(InvalidParameterError, match="target_weight"):
        wk.UMAP(target_weight=2.0).fit(X, kinds)


def test_a_checkpoint_of_other_labels_is_refused(tmp_path):
    kinds, file = np.arange(len(X)) % 3, tmp_path / "fit.part"
    model = wk.UMAP(max_iter=8, random_state=0, checkpoint=file)
    whole = clone(model).set_params(checkpoint=None).fit(X, kinds)
    with pytest.raises(ZeroDivisionError):
        clone(model).set_params(callbacks=[lambda info: info.iteration == 3 and 1 / 0]).fit(X, kinds)
    for other in (kinds[::-1], None):
        with pytest.raises(ValueError, match=r"belongs to another run.*labels"):
            clone(model).fit(X, other)
    assert clone(model).fit(X, kinds).embedding_.tobytes() == whole.embedding_.tobytes()


def test_heavy_tails_come_after_the_map_has_taken_shape():
    """A run that has heavy tails from the start drives the map apart: most points end on a ring."""
    made = wk.TSNE(perplexity=9, dof=0.6, random_state=0).fit(X)
    at_once = wk.TSNE(perplexity=9, dof=0.6, early_exaggeration=1.0, random_state=0).fit(X)
    assert made.objective_ < at_once.objective_
    away = np.linalg.norm(made.embedding_ - made.embedding_.mean(axis=0), axis=1)
    assert np.quantile(away, 0.2) < 0.6 * np.quantile(away, 0.9)


@pytest.mark.parametrize("dof", [0.5, 2.0])
def test_dof_is_that_of_opentsne(dof):
    """The kernel (1 + d²/dof)^−dof; the divergence at the map worked out pair by pair."""
    made = wk.TSNE(perplexity=9, dof=dof, max_iter=40, random_state=0).fit(X)
    squares = ((made.embedding_[:, None].astype(np.float64) - made.embedding_[None]) ** 2).sum(-1)
    q = (1 + squares / dof) ** -dof
    np.fill_diagonal(q, 0)
    again = wk.TSNE(perplexity=9, max_iter=0, init=made.embedding_, random_state=0).fit(X)
    squares_again = ((again.embedding_[:, None].astype(np.float64) - again.embedding_[None]) ** 2).sum(-1)
    plain = 1 / (1 + squares_again)
    np.fill_diagonal(plain, 0)
    P = wk.forces(X, again.embedding_, wk.objectives.TSNE(perplexity=9)).attraction * plain  # A = p/k
    listed = P > 0
    divergence = float(np.sum(P[listed] * np.log(P[listed] / (q / q.sum())[listed])))
    assert made.objective_ == pytest.approx(divergence, rel=1e-4)
    assert made.transform(X[:3]).tobytes() == made.embedding_[:3].tobytes()
    assert np.isfinite(made.transform(X[:3] + 0.5)).all()
