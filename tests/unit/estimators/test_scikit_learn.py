"""At home in scikit-learn: frames out, names of features, routing of weights, a forgotten metric."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from winkel.errors import DataWarning
from winkel.estimators import registry

from ...estimators import make, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::winkel.errors.DataWarning"),
]
EMBEDDERS = [name for name in registry.names() if name != "KDSClustering"]


@pytest.mark.parametrize("name", EMBEDDERS)
def test_frames_come_out_where_they_are_asked_for(name):
    pd = pytest.importorskip("pandas")
    X = rows(40, 4)
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"row {i}" for i in range(40)])
    model = make(name).set_output(transform="pandas")
    Y = model.fit_transform(frame)
    assert list(Y.columns) == [f"{name.lower()}{j}" for j in range(Y.shape[1])]
    assert list(Y.columns) == list(model.get_feature_names_out())
    assert Y.index[1] == "row 1"
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(model.transform(frame[:3]).to_numpy(), Y.to_numpy()[:3])


def test_weights_are_routed_through_a_pipeline():
    X, weights = rows(60, 4), np.linspace(0.5, 2, 60)
    expected = make("MDE").fit_transform(StandardScaler().fit_transform(X), sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, make("MDE").set_fit_request(sample_weight=True))
        np.testing.assert_array_equal(pipeline.fit_transform(X, sample_weight=weights), expected)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            make_pipeline(scaler, make("MDE")).fit(X, sample_weight=weights)


@pytest.mark.parametrize("form", [sp.csr_matrix, np.asarray])
def test_a_matrix_of_distances_under_another_metric_gets_a_warning(form):
    D = np.round(np.abs(rows(30, 1) - rows(30, 1).T), 3)
    D[D > 4] = 0  # a sparse one holds the near ones
    with pytest.warns(DataWarning, match=r'Use metric="precomputed" if these are distances'):
        make("MDE").fit(form(D))
    nearest = sp.csr_matrix(np.where(np.sort(D, axis=1)[:, [6]] >= D, D, 0))  # as kneighbors_graph gives them
    assert (nearest != nearest.T).nnz
    with pytest.warns(DataWarning, match=r'Use metric="precomputed" if these are distances'):
        make("MDE").fit(nearest)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "X looks like a matrix", DataWarning)
        make("MDE").fit(rows(5, 5, seed=4) @ np.ones((5, 5)) + np.eye(5))  # square, and not symmetric
        make("UMAP", metric="precomputed").fit(np.abs(rows(30, 1) - rows(30, 1).T))
