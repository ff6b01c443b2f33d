"""AnnData objects in and out: `winkel.scverse`, and `use_rep`, `layer`, `label` wherever rows are read."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

import winkel as wk
from winkel.errors import DataWarning, InvalidInputError, InvalidParameterError
from winkel.maps import read_map
from winkel.view.html.parts import build_parts

from .view.test_container import read

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")

DIGITS = wk.datasets.load_digits()
N = 120
QUICK = {"max_iter": 15, "random_state": 0, "n_jobs": 1}


@pytest.fixture
def cells():
    X = DIGITS.X[:N]
    kinds = np.array([f"type {k}" for k in DIGITS.y[:N] % 3])
    adata = anndata.AnnData(
        sp.csr_matrix(X),
        obs=pd.DataFrame({"kind": pd.Categorical(kinds)}, index=[f"cell{i}" for i in range(N)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(X.shape[1])]),
    )
    adata.obsm["X_pca"] = np.ascontiguousarray(X[:, 10:30])
    adata.layers["counts"] = X + 1
    return adata


def test_as_table_reads_the_array_that_is_named(cells):
    assert sp.issparse(wk.data.as_table(cells, use_rep="X").values)
    table = wk.data.as_table(cells, use_rep="X_pca", label="kind")
    np.testing.assert_array_equal(table.values, cells.obsm["X_pca"])
    assert table.columns[:2] == ("X_pca1", "X_pca2")
    assert table.labels.tolist() == cells.obs["kind"].tolist()
    assert table.ids[0] == "cell0"
    np.testing.assert_array_equal(wk.data.as_table(cells, layer="counts").values, DIGITS.X[:N] + 1)
    assert wk.data.as_table(cells, use_rep="X").columns[0] == "gene0"
    cells.obsm["frame"] = pd.DataFrame({"a": np.arange(N), "b": 1.0}, index=cells.obs_names)
    assert wk.data.as_table(cells, use_rep="frame").columns == ("a", "b")


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"use_rep": "X_pcs"}, "use_rep='X_pcs' is not in X.obsm, which has: 'X_pca'"),
        ({"layer": "raw"}, "layer='raw' is not in X.layers, which has: 'counts'"),
        ({"use_rep": "X_pca", "layer": "counts"}, "name two arrays"),
        ({"use_rep": "X", "label": "knd"}, "label='knd' does not name one column.*kind"),
    ],
)
def test_a_wrong_name_is_told_with_those_that_exist(cells, wish, message):
    with pytest.raises(InvalidParameterError, match=message):
        wk.data.as_table(cells, **wish)
    with pytest.raises(InvalidParameterError, match="AnnData"):
        wk.data.as_table(DIGITS.X, use_rep="X_pca")


def test_a_map_goes_into_the_object_and_equals_the_estimators(cells):
    model = wk.scverse.mde(cells, **QUICK)
    expected = wk.MDE(**QUICK).fit(cells.obsm["X_pca"])
    np.testing.assert_array_equal(cells.obsm["X_mde"], expected.embedding_)
    assert isinstance(model, wk.MDE)
    reliability = wk.indicatrix(cells.obsm["X_pca"], expected).reliability
    np.testing.assert_array_equal(cells.obs["mde_reliability"], reliability)
    record = cells.uns["mde"]
    assert record["params"]["use_rep"] == "X_pca"
    assert record["params"]["max_iter"] == 15
    assert record["seed"] == 0
    report = wk.measure(cells.obsm["X_pca"], expected)
    assert record["scores"]["trustworthiness"] == report["trustworthiness"].value
    assert record["scores_of_pca"]["trustworthiness"] == report["trustworthiness"].baseline


def test_key_added_layer_blocks_and_trust(cells):
    wk.scverse.lvm(cells, layer="counts", key_added="X_mine", trust=False, **QUICK)
    assert cells.obsm["X_mine"].shape == (N, 2)
    assert list(cells.obs) == ["kind", "mine_variance", "mine_component"]
    assert cells.uns["mine"]["params"]["use_rep"] == "layers/counts"
    assert "scores" not in cells.uns["mine"]


def test_the_object_can_be_written_and_read_again(cells, tmp_path):
    wk.scverse.umap(cells, **QUICK)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(again.obsm["X_umap"], cells.obsm["X_umap"])
    assert again.uns["umap"]["status"] == cells.uns["umap"]["status"]
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    wk.scverse.umap(backed, trust=False, **QUICK)
    np.testing.assert_array_equal(backed.obsm["X_umap"], cells.obsm["X_umap"])
    assert sp.issparse(wk.data.as_table(backed, use_rep="X").values)
    backed.file.close()


def test_a_neighbour_graph_of_scanpys_form_is_used(cells):
    graph = wk.graph.knn(cells.obsm["X_pca"], 8)
    rows = np.repeat(np.arange(N), 8)
    lists = sp.csr_matrix((graph.knn_distances.ravel(), (rows, graph.knn_indices.ravel())), shape=(N, N))
    cells.obsp["distances"] = lists
    cells.uns["neighbors"] = {
        "distances_key": "distances",
        "params": {"metric": "cosine", "use_rep": "X_pca"},
    }
    found = wk.scverse.neighbors(cells)
    np.testing.assert_array_equal(found.knn_indices, graph.knn_indices)
    wk.scverse.mde(cells, neighbors_key="neighbors", **QUICK)
    expected = wk.MDE(**QUICK).fit(wk.Graph.from_knn(graph.knn_indices, graph.knn_distances))
    np.testing.assert_allclose(cells.obsm["X_mde"], expected.embedding_, rtol=1e-4, atol=1e-4)
    assert cells.uns["mde"]["params"]["neighbors_key"] == "neighbors"
    with pytest.raises(InvalidParameterError, match="obsp has no 'other_distances'"):
        wk.scverse.mde(cells, neighbors_key="other")
    with pytest.raises(InvalidParameterError, match="TSM with these parameters needs the rows"):
        wk.scverse.tsm(cells, neighbors_key="neighbors")


def test_new_cells_are_placed(cells):
    model = wk.scverse.mde(cells, use_rep="X_pca", **QUICK)
    later = cells[:7].copy()
    Y = wk.scverse.place(later, model)
    np.testing.assert_array_equal(Y, cells.obsm["X_mde"][:7])  # fitted rows keep their places
    assert later.obsm["X_mde"] is not None


def test_maps_from_elsewhere_are_judged_and_shown(cells, tmp_path):
    cells.obsm["X_umap"] = cells.obsm["X_pca"][:, :2]
    report = wk.scverse.measure(cells, "umap", labels="kind", n_jobs=1)
    assert "label_accuracy" in report.scores
    assert cells.uns["umap"]["scores"]["stress"] == report["stress"].value
    points = wk.scverse.indicatrix(cells, "umap")
    np.testing.assert_array_equal(cells.obs["umap_false_neighbors"], points.false_neighbors.counts)
    page = wk.scverse.write_html(tmp_path / "a.html", cells, "umap", labels="kind")
    assert page.stat().st_size > 1000
    with pytest.raises(InvalidParameterError, match="basis must be"):
        wk.scverse.measure(cells, "umpa")
    pytest.importorskip("matplotlib").use("Agg")
    ax = wk.scverse.plot(cells, "umap", color="kind")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["type 0", "type 1", "type 2"]
    assert wk.scverse.plot(cells, "umap", color="gene12").figure.axes[1].get_ylabel() == "gene12"
    with pytest.raises(InvalidParameterError, match=r"neither a column of adata.obs nor the name of a gene"):
        wk.scverse.plot(cells, "umap", color="gene")


def test_labels_may_name_a_column_of_obs(cells):
    Y = cells.obsm.pop("X_pca")[:, :2]
    named = wk.measure(cells, Y, labels="kind", scores=["label_accuracy"])
    given = wk.measure(cells, Y, labels=cells.obs["kind"].to_numpy().astype(str), scores=["label_accuracy"])
    assert named["label_accuracy"].value == given["label_accuracy"].value
    with pytest.raises(InvalidParameterError, match="labels"):
        wk.measure(DIGITS.X[:N], Y, labels="kind")


def test_every_estimator_has_a_function_with_its_parameters():
    assert {"mde", "lvm", "tsm", "kds", "tsne", "umap"} <= set(dir(wk.scverse))
    shown = inspect.signature(wk.scverse.tsne).parameters
    assert shown["perplexity"].default == 30.0
    assert shown["random_state"].default == 0
    assert "model" not in shown
    with pytest.raises(AttributeError, match="no attribute 'pacmap'"):
        wk.scverse.pacmap  # noqa: B018
    with pytest.raises(InvalidInputError, match="adata must be an AnnData object; got a ndarray"):
        wk.scverse.mde(DIGITS.X)


@pytest.mark.slow
def test_scanpy_draws_the_map_and_its_neighbours_are_used(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc = pytest.importorskip("scanpy", reason="scanpy is not installed (pip install --group scverse)")
        pytest.importorskip("matplotlib").use("Agg")
        sc.pp.neighbors(cells, n_neighbors=10, use_rep="X_pca", method="gauss", transformer="sklearn")
        wk.scverse.mde(cells, neighbors_key="neighbors", **QUICK)
        ax = sc.pl.embedding(cells, basis="mde", color="kind", show=False)
        drawn = np.vstack([np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets())])
    assert {tuple(p) for p in np.round(cells.obsm["X_mde"], 4)} <= {
        tuple(p) for p in np.round(drawn.astype(np.float32), 4)
    }
    assert wk.scverse.neighbors(cells).knn_indices.shape == (N, 9)
    assert cells.uns["mde"]["params"]["neighbors_key"] == "neighbors"


def test_labels_name_a_column_of_obs_in_fit_and_page(tmp_path):
    X, kind = DIGITS.X[:200], np.array([f"digit {k}" for k in DIGITS.y[:200]])
    adata = anndata.AnnData(X)
    adata.obs["kind"] = kind
    named, given = (
        wk.MDE(label_weight=0.5, max_iter=10, random_state=0).fit(data, y)
        for data, y in ((adata, "kind"), (X, kind))
    )
    assert named.embedding_.tobytes() == given.embedding_.tobytes()
    wk.write_html(tmp_path / "a.html", named, labels="kind", data=adata, trust=False)
    assert build_parts(named, labels="kind", data=adata, trust=False) == build_parts(
        named, labels=adata.obs["kind"], data=adata, trust=False
    )
    for wrong in (lambda: wk.MDE(label_weight=0.5).fit(X, "kind"), lambda: wk.plot(named, labels="kind")):
        with pytest.raises((InvalidParameterError, InvalidInputError), match=r"one (label|value) per row"):
            wrong()


def test_a_map_is_read_from_an_h5ad_file(tmp_path):
    X = DIGITS.X[:60]
    adata = anndata.AnnData(X, obsm={"X_pca": X[:, :5], "X_umap": X[:, 10:12]})
    adata.write_h5ad(tmp_path / "flat.h5ad")
    np.testing.assert_array_equal(read_map(tmp_path / "flat.h5ad").Y, X[:, 10:12])
    wk.scverse.mde(adata, max_iter=5, trust=False)
    adata.write_h5ad(tmp_path / "own.h5ad")
    found = read_map(tmp_path / "own.h5ad")
    np.testing.assert_array_equal(found.Y, adata.obsm["X_mde"])
    assert found.ids.tolist() == adata.obs_names.tolist()
    anndata.AnnData(X, obsm={"X_a": X[:, :2], "X_b": X[:, :2]}).write_h5ad(tmp_path / "two.h5ad")
    with pytest.raises(InvalidInputError, match="one map to be read as one; obsm has 'X_a', 'X_b'"):
        read_map(tmp_path / "two.h5ad")


KINDS = np.array([f"type {k}" for k in DIGITS.y[:N] % 3])
PLACES = DIGITS.X[:N, 20:22]
EVERYWHERE = {  # every call that takes rows: a fingerprint of what it makes of X and labels
    "fit": lambda X, labels: wk.MDE(label_weight=0.5, **QUICK).fit(X, labels).embedding_.tobytes(),
    "transform": lambda X, labels: wk.MDE(**QUICK).fit(X).transform(X).tobytes(),
    "knn": lambda X, labels: wk.graph.knn(X, 5).knn_indices.tobytes(),
    "measure": lambda X, labels: wk.measure(X, PLACES, labels=labels).to_json(),
    "indicatrix": lambda X, labels: wk.indicatrix(X, PLACES).reliability.tobytes(),
    "compare": lambda X, labels: str(wk.compare(X, {"map": PLACES}, labels=labels)),
    "tune": lambda X, labels: (
        wk.tune(wk.MDE(**QUICK), X, {"n_neighbors": [5]}, score="label_accuracy", labels=labels, n_runs=2)
        .candidates[0]
        .score
    ),
    "stability": lambda X, labels: wk.stability(wk.MDE(**QUICK), X, n_runs=2).value,
    "null_test": lambda X, labels: str(wk.null_test(wk.MDE(**QUICK), X, n_repeats=19)),
    "scikit-learn": lambda X, labels: wk.compare(X, {"its": PCA(2)}, labels=labels).maps["its"].tobytes(),
    "scikit-learn, rows": lambda X, labels: wk.stability(PCA(2, random_state=0), X, n_runs=2).value,
    "spectrum": lambda X, labels: wk.spectrum(X, places=[0, 1], labels=labels).reports[0].to_json(),
    "series": lambda X, labels: (
        wk.series([X, X], model=wk.MDE(**QUICK), random_state=0).results[0].Y.tobytes()
    ),
    "problem": lambda X, labels: (
        wk.preserve_neighbors(X, random_state=0).solve(max_iter=5, random_state=0).Y.tobytes()
    ),
    "quadratic": lambda X, labels: wk.quadratic.pca(X).Y.tobytes(),
    "forces": lambda X, labels: wk.TSNE(perplexity=9, **QUICK).fit(X).embedding_.tobytes(),
    "plot": lambda X, labels: [
        text.get_text() for text in wk.plot(PLACES, labels=labels, data=X).get_legend().get_texts()
    ],
    "write_html": lambda X, labels: build_parts(
        {"map": PLACES},
        labels=pd.Series(KINDS, name="kind") if labels is KINDS else labels,
        ids=np.arange(N),
        data=X,
    ),
}


@pytest.mark.parametrize("call", EVERYWHERE)
def test_every_call_takes_an_anndata_object_and_another_representation_of_it(call, cells):
    found = EVERYWHERE[call]
    components = cells.obsm["X_pca"]
    assert found(wk.scverse.table(cells), "kind") == found(components, KINDS)
    counts = wk.scverse.table(cells, layer="counts")
    assert found(counts, "kind") == found(cells.layers["counts"], KINDS)
    cells.X = cells.X.toarray()  # which not all of them need
    if call != "plot":  # which takes columns of `obs` alone
        with pytest.warns(
            DataWarning, match=r"has X_pca, but all .* of its X are used.* winkel\.scverse\.table\("
        ):
            found(cells, "kind")
    del cells.obsm["X_pca"]
    assert found(cells, "kind") == found(cells.X, KINDS)


def test_a_table_of_an_anndata_object_keeps_the_columns_of_obs(cells):
    table = wk.scverse.table(cells)
    assert table.kept["kind"].tolist() == KINDS.tolist()
    with pytest.raises(InvalidParameterError, match=r"labels='kid' is not a column .* keeps: 'kind'"):
        wk.measure(table, PLACES, labels="kid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wk.data.as_table(cells, use_rep="X").shape == (N, 64)  # meant, so without a word
        assert wk.explain(cells, np.arange(9)).columns[0].startswith("gene")
    ax = wk.plot(PLACES, values="kind", data=wk.data.Table(PLACES, kept={"kind": np.arange(N)}))
    assert ax.figure.axes[1].get_ylabel() == "kind"


def framed():
    """Digits as a data frame that holds their classes as text."""
    return pd.DataFrame(DIGITS.X[:N], columns=[f"pixel {j}" for j in range(64)]).assign(kind=KINDS)


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame),
    "label of a table": lambda frame: wk.data.as_table(frame, label="kind"),
    "kept by a table": lambda frame: wk.data.as_table(frame, keep=["kind"]),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("call", ["fit", "measure", "compare", "tune", "spectrum", "plot", "write_html"])
def test_labels_name_a_column_of_a_data_frame_which_is_then_no_feature(call, kind):
    found, frame = EVERYWHERE[call], FRAMES[kind](framed())
    plain = framed().drop(columns="kind")
    assert found(frame, "kind") == found(plain, KINDS)
    if call != "plot":
        with pytest.raises((InvalidParameterError, InvalidInputError), match="knd"):
            found(frame, "knd")


def test_what_a_page_shows_may_be_named_by_columns_of_its_data(cells):
    cells.obs["depth"], cells.obs["trust"] = np.arange(N), np.linspace(0, 1, N)
    table = wk.scverse.table(cells)
    of_page = {
        "labels": "kind",
        "values": "depth",
        "fields": ["kind", "depth"],
        "reliability": "trust",
        "text": "kind",
    }
    given = {
        "labels": cells.obs["kind"],
        "values": cells.obs["depth"],
        "fields": {"kind": KINDS, "depth": np.arange(N)},
        "reliability": np.linspace(0, 1, N),
        "text": KINDS,
    }
    named = build_parts(PLACES, **of_page, data=table)
    assert named == build_parts(PLACES, **given, data=table, ids=cells.obs_names)
    assert build_parts(PLACES, data=table, ids="kind") == build_parts(PLACES, data=table, ids=KINDS)
    for wrong in ({"values": "depht"}, {"fields": ["kind", "depht"]}, {"ids": "depht"}):
        with pytest.raises(InvalidParameterError, match="'depht' is not a column that the table keeps"):
            build_parts(PLACES, data=table, **wrong)


def test_a_page_holds_the_columns_of_another_table_of_its_rows(cells):
    table = wk.scverse.table(cells)
    genes = build_parts(PLACES, data=table, features=cells)
    assert (
        genes["features"]
        == build_parts(PLACES, data=wk.data.as_table(cells, use_rep="X"), features=True)["features"]
    )
    assert genes["features"] != build_parts(PLACES, data=table, features=True)["features"]
    with pytest.raises(InvalidInputError, match=f"features must have the rows of the maps, {N}; got 7"):
        build_parts(PLACES, data=table, features=cells[:7])


def test_labels_draw_cells_together_where_the_method_uses_them(cells):
    model = wk.scverse.mde(cells, label_weight=0.5, labels="kind", trust=False, **QUICK)
    expected = wk.MDE(label_weight=0.5, **QUICK).fit(cells.obsm["X_pca"], KINDS)
    assert model.embedding_.tobytes() == expected.embedding_.tobytes()
    assert cells.uns["mde"]["params"]["labels"] == "kind"
    with pytest.raises(InvalidParameterError, match="TSNE makes its map without labels"):
        wk.scverse.embed(cells, wk.TSNE(**QUICK), labels="kind")
    assert "labels" not in inspect.signature(wk.scverse.tsne).parameters


def test_a_page_of_cells_judges_the_maps_that_nobody_has_judged(cells, monkeypatch):
    made = []
    monkeypatch.setattr("winkel.view.explorer.save_page", lambda path, title, parts: made.append(parts))
    cells.obsm["X_umap"] = cells.obsm["X_pca"][:, :2]
    wk.scverse.mde(cells, **QUICK)
    shown = {}
    for trust in (True, False):
        wk.scverse.write_html("a.html", cells, ["umap", "mde"], labels="kind", trust=trust)
        shown[trust] = read(made.pop()["main"])[0]
    scores = {row["name"]: row["values"] for row in shown[True]["scores"]}
    report = wk.measure(cells.obsm["X_pca"], cells.obsm["X_umap"], scores=["trustworthiness"])
    assert scores["trustworthiness"] == [
        pytest.approx(report["trustworthiness"].value),
        cells.uns["mde"]["scores"]["trustworthiness"],
    ]
    assert all(shown[True]["reliability"])
    assert shown[False]["reliability"][0] is None
    assert "X_umap" in cells.obsm
    assert "umap" not in cells.uns  # a page changes nothing
    assert shown[True]["labels"]["name"] == "kind"  # what the menu of colours says


def test_docstrings_say_how_another_array_of_an_anndata_object_is_named():
    told = {
        name: inspect.getdoc(call) or ""
        for name, call in {
            **vars(wk.graph),
            **{name: getattr(wk, name) for name in wk.__all__},
            "fit": wk.MDE.fit,
        }.items()
        if inspect.isfunction(call)
    }
    taking = {name for name, text in told.items() if "AnnData" in text}
    assert {
        "measure",
        "compare",
        "indicatrix",
        "explain",
        "stability",
        "tune",
        "spectrum",
        "series",
        "knn",
        "fit",
    } <= taking
    assert not [name for name in taking if "winkel.scverse.table" not in told[name] and name != "plot"]
