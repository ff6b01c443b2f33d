"""New rows in the fields of maps by forces: places against those among all fitted rows one by one."""

import numpy as np
import pytest

import winkel as wk
from winkel.data import as_table
from winkel.graph import nearest_rows
from winkel.methods.forces import held
from winkel.methods.forces.balance import Balance, balanced_places
from winkel.methods.forces.data_kernels import NewRows, Perplexity
from winkel.methods.forces.held import Fields
from winkel.methods.forces.map_kernels import map_kernel
from winkel.methods.starts import densest_neighbor, neighbor_width
from winkel.problem.grid import HeldField
from winkel.run import Run

X = wk.datasets.load_digits().X


@pytest.fixture(scope="module", params=["tsne", "lle", "umap"])
def model(request):
    return wk.AttractRepel(objective=request.param, max_iter=60, random_state=0).fit(X[:1200])


def test_places_by_the_field_are_those_among_all_rows_one_by_one(model, monkeypatch):
    found = model.transform(X[1200:1300])
    assert any(isinstance(kept, HeldField) for kept in model._model().fields._kept.values())
    np.testing.assert_array_equal(model.transform(X[1207:1208])[0], found[7])
    monkeypatch.setattr(held, "FIELD_FROM", 5000)
    model = wk.AttractRepel(**model.get_params()).fit(X[:1200])  # fewer rows than landmarks: all repel
    exact = model.transform(X[1200:1300])
    assert not any(isinstance(kept, HeldField) for kept in model._model().fields._kept.values())
    apart = np.linalg.norm(found - exact, axis=1) / model.embedding_.std()
    assert np.median(apart) < 5e-3
    assert (apart < 0.05).mean() > 0.9


def test_a_loaded_model_places_rows_in_the_same_bytes(model, tmp_path):
    first = model.transform(X[1200:1240])
    kept = model._model()
    np.testing.assert_array_equal(model.transform(X[1200:1240]), first)
    assert model._model() is kept  # what was prepared serves again
    np.testing.assert_array_equal(model.transform(X[:5]), model.embedding_[:5])
    model.save(tmp_path / "model.winkel")
    np.testing.assert_array_equal(wk.load(tmp_path / "model.winkel").transform(X[1200:1240]), first)


@pytest.mark.parametrize(
    ("kernel", "form", "n_components"),
    [
        ("cauchy", "kernel", 2),
        ("cauchy", "square", 3),
        ("umap", "kernel", 2),
        ("umap", "apart", 2),
        ("student", "kernel", 2),
    ],
)
def test_a_field_is_the_sum_over_all_rows(kernel, form, n_components):
    from winkel import _core

    random = np.random.default_rng(0)
    Y = 3 * random.normal(size=(1500, n_components))
    curve = map_kernel(kernel, dof=0.5)
    found = Fields(Y).of(curve, form)
    at = Y[:40] + 0.3  # between rows
    square = np.sum(np.square(at[:, None] - Y), axis=2)
    exact = (
        np.asarray(_core.curve_values(curve.curve(form), square.ravel())[0]).reshape(square.shape).sum(axis=1)
    )
    if n_components == 2:
        value = _core.grid_read(at, np.asarray(found.values), *found.origin, found.spacing, 1)[0]
    else:
        value = _core.volume_read(at, np.asarray(found.values), found.origin, found.spacing, 1)[0]
    np.testing.assert_allclose(value, exact, rtol=2e-3)


def test_no_field_for_few_rows_other_dimensions_and_kernels_without_one():
    Y = np.random.default_rng(0).normal(size=(1500, 3))
    assert Fields(Y[:500]).of(map_kernel("cauchy"), "kernel") is None
    assert Fields(Y).of(map_kernel("umap"), "apart") is None
    assert Fields(np.pad(Y, ((0, 0), (0, 1)))).of(map_kernel("cauchy"), "kernel") is None
    assert Fields(1e5 * Y[:, :2]).of(map_kernel("cauchy"), "kernel") is None  # too large a grid


def test_new_rows_of_tsne_are_attracted_by_rows_that_would_list_them():
    kernel, run = Perplexity(10.0), Run(n_jobs=2)
    rows = X[:400].astype(np.float64)
    graph = wk.graph.knn(rows, 30)
    index, distance = nearest_rows(
        as_table(X[400:450].astype(np.float64)), as_table(rows), 30, run, metric="euclidean"
    )
    new = NewRows(X[400:450], rows, index, distance, graph, Fields(rows))
    # Half the perplexity: the new row is among the five nearest of a fitted one if it is nearer than the fifth.
    every = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(every, np.inf)
    fifth = np.sort(every, axis=1)[:, 4]
    expected = kernel.to_fitted(new, run) + np.where(distance < fifth[index], 0.2, 0.0)
    assert 0.05 < (distance < fifth[index]).mean() < 0.95
    found = kernel.to_fitted_from_both(new, run)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    one = NewRows(X[407:408], rows, index[7:8], distance[7:8], graph, Fields(rows))
    np.testing.assert_array_equal(kernel.to_fitted_from_both(one, run)[0], found[7])
    # Lists of other rows than the fitted ones say nothing.
    fewer = NewRows(X[400:450], rows[:390], np.minimum(index, 389), distance, graph, Fields(rows[:390]))
    assert not fewer.listing(5).any()


def test_a_new_row_begins_by_what_attracts_it_alone():
    random = np.random.default_rng(5)
    Y = random.normal(size=(1500, 2))
    Y[750:, 0] += 60
    lists = wk.graph.knn(Y, 5).knn_indices
    index = np.array([[0, 1, 2, 750, 751]], dtype=np.int32)
    new = NewRows(Y[:1], Y, index, np.ones((1, 5)), None, Fields(Y, lists))
    balance = Balance(map_kernel("cauchy"), "kernel", "kernel", 1e-6)
    # Rows 0 to 2 repel: 750 and 751 attract less in all, and are where the row goes.
    weights = -np.array([[-0.9, -0.9, -0.9, 0.8, 0.8]])
    assert balanced_places(Y, new, weights, balance, Run())[0, 0] > 50
    assert balanced_places(Y, new, -weights, balance, Run())[0, 0] < 10


def test_a_new_row_begins_where_most_of_its_weights_are():
    Y = np.array([[0.0, 0.0], [10.0, 0.0], [10.5, 0.0], [10.0, 0.5]])
    index = np.array([[0, 1, 2, 3]], dtype=np.int32)
    assert neighbor_width(Y, np.array([[1], [2], [1], [1]], dtype=np.int32)) == 0.5
    np.testing.assert_array_equal(densest_neighbor(Y, index, np.ones((1, 4)), 1.0), [[10.0, 0.0]])
    heavy = np.array([[5.0, 1.0, 1.0, 1.0]])  # the nearest outweighs the three others
    np.testing.assert_array_equal(densest_neighbor(Y, index, heavy, 1.0), [[0.0, 0.0]])


@pytest.mark.parametrize("objective", ["tsne", "lle"])
def test_of_equal_fitted_rows_the_first_gives_its_place(objective):
    rows = np.concatenate([X[:120], X[40:50]])
    model = wk.AttractRepel(objective=objective, max_iter=30, random_state=0).fit(rows)
    assert (model.embedding_[40:50] != model.embedding_[120:]).any()  # equal rows are not one item here
    np.testing.assert_array_equal(model.transform(X[40:50]), model.embedding_[40:50])
