"""Every row of docs/coming-from.md: what it names exists with those parameters, and a call of it runs and gives what is said."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
import winkel.view
from winkel.errors import DataWarning, InvalidParameterError, NotConvergedWarning

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
DIGITS = wk.datasets.load_digits()
X, y = DIGITS.X[:120], DIGITS.y[:120]
N = len(X)
QUICK = {"max_iter": 12, "random_state": 0}


def rows() -> dict[str, tuple[str, str]]:
    """The cells of each row, under section and the first words of the left cell."""
    found, section = {}, ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            section = line[3:].split()[0]
        elif line.startswith("| ") and not line.startswith(("| there", "|--")):
            there, here = (cell.strip() for cell in line.strip("|").split(" | "))
            found[f"{section}: {there}"] = (there, here)
    return found


ROWS = rows()


def spans() -> list[tuple[str, str]]:
    """Row and code of each span of a right cell that names something of winkel."""
    return [
        (row, code)
        for row, (_, here) in ROWS.items()
        for code in re.findall(r"`([^`]+)`", here)
        if code.startswith(("wk.", "winkel."))
    ]


def named(node: ast.AST) -> object:
    """What an expression names, with the keywords of its calls looked up; a call of a class stands for an instance."""
    if isinstance(node, ast.Name):
        return {"wk": wk, "winkel": winkel}[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(named(node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return None
    assert isinstance(node, ast.Call), ast.dump(node)
    called = named(node.func)
    parameters = inspect.signature(called).parameters
    unknown = {word.arg for word in node.keywords} - set(parameters)
    assert not unknown, f"{called} has no {unknown}"
    positional = [
        p
        for p in parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"
    ]
    assert len(node.args) <= len(positional), f"{called} takes {len(positional)} arguments by place"
    return called


@pytest.mark.parametrize(("row", "code"), spans())
def test_what_a_cell_names_is_there(row, code):
    if "winkel.torch" in code:
        pytest.importorskip("torch")
        importlib.import_module("winkel.torch")
    text = code.replace("…", "x") if "=…" in code else code.replace("(…)", "()")
    text = text if text.count("(") == text.count(")") else text + ")"  # a call that goes on outside the span
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, ast.Subscript | ast.Attribute):
        tree = next((node for node in ast.walk(tree) if isinstance(node, ast.Call)), tree)
    assert named(tree) is not None


def test_no_cell_is_empty():
    assert all(there and here and here not in "–-" for there, here in ROWS.values())


# ---------------------------------------------------------------------------------------------- each row, run


def same_names(estimator, **given):
    model = estimator(**given).fit(X)
    assert model.embedding_.shape == (N, 2)
    return model


def umap_parameters():
    same_names(
        wk.UMAP, n_neighbors=8, n_components=2, metric="cosine", min_dist=0.2, spread=1.0, n_epochs=10, init="pca",
        negative_sample_rate=4, repulsion_strength=1.2, random_state=0,
    )  # fmt: skip


def umap_methods():
    model = wk.UMAP(**QUICK)
    Y = model.fit_transform(X)
    assert np.array_equal(model.transform(X[:4]), Y[:4])
    new = DIGITS.X[120:130]
    assert np.array_equal(model.transform(new)[:1], model.transform(new[:1]))


def inverses():
    for kind in (wk.MDE, wk.LVM, wk.TSNE, wk.UMAP):
        model = kind(**QUICK).fit(X)
        back, error = model.inverse_transform(model.embedding_[:3], return_error=True)
        assert back.shape == (3, 64)
        assert (error >= 0).all()
    wk.plot_decoded(model, (8, 8), n_cells=3)


def update():
    model = wk.MDE(**QUICK).fit(X)
    before = model.embedding_.copy()
    both = model.extend(DIGITS.X[120:140])
    assert np.isfinite(np.asarray(getattr(both, "embedding_", both))).all()
    assert np.array_equal(model.embedding_[:N], before)


def labels_in_the_fit():
    known = y.copy()
    known[::2] = -1
    model = wk.MDE(label_weight=0.5, **QUICK).fit(X, known)
    wk.MDE(label_weight=0.5, **QUICK).fit(X, np.where(known < 0, np.nan, X[:, 20]))
    wk.UMAP(target_weight=0.8, **QUICK).fit(X, known)
    report = wk.measure(X, model, labels=y, scores=["label_excess"])
    assert np.isfinite(report.scores["label_excess"].value)


def density_kept():
    model = wk.MDE(density=0.5, **QUICK).fit(X)
    assert np.isfinite(
        wk.measure(X, model, scores=["density_correlation"]).scores["density_correlation"].value
    )


def metrics():
    for metric in ("hellinger", "canberra", "minkowski(3)", lambda a, b: float(np.abs(a - b).max())):
        same_names(wk.UMAP, metric=metric, **QUICK)


def sparse_rows():
    assert wk.UMAP(**QUICK).fit(sp.csr_array(X)).embedding_.shape == (N, 2)


def fixed_parameters():
    wk.UMAP(learning_rate=1.0, set_op_mix_ratio=1.0, local_connectivity=1, a=None, b=None)
    for name in ("learning_rate", "set_op_mix_ratio", "local_connectivity", "a", "b"):
        with pytest.raises(InvalidParameterError, match=name):
            wk.UMAP(**{name: 0.7})


def graph_of_the_fit():
    graph = same_names(wk.UMAP, **QUICK).graph_
    assert np.array_equal(graph.knn_indices, wk.graph.knn(X, 15).knn_indices)


def memory_and_progress(capsys):
    same_names(wk.UMAP, max_memory="1GB", verbose=True, callbacks=[lambda info: None], **QUICK)
    assert "UMAP" in capsys.readouterr().err


def two_scales():
    assert wk.MDE(max_iter=2).fit(X).embedding_.shape == (N, 2)


def reduced_rows():
    assert same_names(wk.MDE, **QUICK).fit(wk.quadratic.pca(X, 10).to_textbook()).n_features_in_ == 10


def own_neighbors():
    graph = wk.graph.knn(X, 10)
    again = wk.Graph.from_knn(graph.knn_indices, graph.knn_distances)
    assert wk.MDE(**QUICK).fit(again).embedding_.shape == (N, 2)
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    same = wk.UMAP(metric="precomputed", **QUICK).fit(distances)
    assert same.embedding_.shape == (N, 2)


def combined():
    first, second = wk.graph.knn(X[:, :32], 8), wk.graph.knn(X[:, 32:], 8)
    for how in ("intersection", "union", [0.3, 0.7]):
        assert wk.graph.combine([first, second], how=how).n == N


def aligned(tmp_path):
    series = wk.series([X[:80], X[20:100]], [np.arange(80), np.arange(20, 100)], random_state=0)
    assert len(series.maps) == 2
    assert wk.align(X[:, :2], X[:, 2:4]).shape == (N, 2)


def on_a_sphere():
    page = (ROOT / "docs/extending/constraint.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.search(r"^```python\n(.*?)^```", page, re.S | re.M)[1], names)
    assert names["mde"].embedding_.shape[1] == 3


def equal_rows():
    twice = np.concatenate([X, X[:5]])
    Y = wk.MDE(**QUICK).fit(twice).embedding_
    assert np.array_equal(Y[:5], Y[-5:])
    assert hasattr(wk.graph.knn(X, 5), "edges")


def seeds():
    one = wk.UMAP(max_iter=8, random_state=1, n_jobs=1).fit_transform(X)
    assert np.array_equal(one, wk.UMAP(max_iter=8, random_state=1, n_jobs=2).fit_transform(X))


def pictures(tmp_path):
    model = wk.MDE(**QUICK).fit(X)
    assert wk.plot(model, labels=y, edges=True) is not None
    assert wk.write_html(tmp_path / "map.html", model, labels=y).stat().st_size > 10_000


def trust_of_each_row():
    points = wk.measure(X, wk.MDE(**QUICK).fit(X)).points["trustworthiness"]
    assert len(points) == N


def tsne_parameters():
    told = []
    same_names(
        wk.TSNE, perplexity=10, early_exaggeration=6, early_exaggeration_iter=5, learning_rate=50, n_iter=12, exaggeration=1.5,
        metric="cosine", initialization="pca", negative_gradient_method="bh", n_jobs=1, random_state=0, callbacks=[told.append],
    )  # fmt: skip
    same_names(wk.TSNE, max_iter=8, init="random", method="exact", random_state=0)
    assert told


def tsne_places_rows():
    model = wk.TSNE(perplexity=10, **QUICK).fit(X)
    assert np.array_equal(model.transform(X[:2]), model.embedding_[:2])


def divergence():
    assert wk.TSNE(perplexity=10, **QUICK).fit(X).kl_divergence_ > 0


def more_iterations(tmp_path):
    first = wk.TSNE(perplexity=10, **QUICK).fit_transform(X)
    wk.TSNE(perplexity=10, init=first, **QUICK).fit(X)
    assert "checkpoint" in inspect.signature(wk.TSNE).parameters


def starts():
    for init in ("pca", "spectral", X[:, 2:4]):
        same_names(wk.TSNE, perplexity=10, init=init, **QUICK)


def affinities():
    for kernel in ("fuzzy", "rbf"):
        same_names(wk.AttractRepel, objective=wk.objectives.TSNE(kernel_x=kernel), **QUICK)
    wk.objectives.TSNE(kernel_x="precomputed")


def kernels_of_the_map():
    model = same_names(wk.TSNE, perplexity=10, dof=0.5, **QUICK)
    assert np.isfinite(model.transform(X[:3] + 1)).all()
    for kernel in ("cauchy", "umap", "gaussian", "student"):
        same_names(wk.AttractRepel, objective=wk.objectives.TSNE(10, kernel_y=kernel), **QUICK)


def refused_parameters():
    with pytest.raises(InvalidParameterError, match="theta"):
        wk.TSNE(theta=0.2)
    wk.TSNE(theta=0.5)  # its default


def watched():
    told = []
    model = wk.TSNE(
        perplexity=10, callbacks=[lambda info: told.append(info.iteration)], keep_frames=3, **QUICK
    ).fit(X)
    assert told == sorted(set(told))
    assert len(model.result_.frames) > 1


def pacmap_parameters():
    same_names(wk.MDE, n_components=2, n_neighbors=8, repulsive_fraction=2.0, **QUICK)


def torn_or_merged():
    scores = wk.measure(X, wk.MDE(**QUICK).fit(X), scores=["tearing", "merging"]).scores
    assert {"tearing", "merging"} <= set(scores)


def mde_starts():
    for init in ("pca", "random", X[:, 2:4]):
        same_names(wk.MDE, init=init, **QUICK)


def pacmap_distances():
    for metric in ("cosine", "hamming"):
        same_names(wk.MDE, metric=metric, **QUICK)


def own_pairs():
    graph = wk.graph.knn(X, 5)
    wk.MDE(**QUICK).fit(graph)
    edges = np.array([[0, 1], [1, 2], [0, 3]])
    found = wk.Problem(edges, wk.penalties.PushAndPull(np.array([1.0, 1.0, -1.0]))).solve()
    assert np.isfinite(found.Y).all()


def frames(tmp_path):
    model = wk.MDE(keep_frames=3, **QUICK).fit(X)
    assert wk.animate(model, tmp_path / "map.gif", seconds=0.2, fps=5).stat().st_size > 1000


def saved(tmp_path):
    model = wk.MDE(**QUICK).fit(X)
    model.save(tmp_path / "model.winkel")
    assert np.array_equal(wk.load(tmp_path / "model.winkel").embedding_, model.embedding_)


def mde_places_rows():
    model = wk.MDE(**QUICK).fit(X)
    assert np.array_equal(model.transform(X[:2]), model.embedding_[:2])


def pymde_recipes():
    assert wk.preserve_neighbors(X).n_items == wk.preserve_distances(X).n_items == N
    same_names(wk.MDE, preserve="distances", **QUICK)


def pymde_problem():
    edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    problem = wk.Problem(edges, wk.losses.Quadratic(np.ones(4)), n_components=1, constraint=wk.Centered())
    assert problem.solve().Y.shape == (4, 1)
    wk.Problem(edges, wk.penalties.Log1p(np.ones(4)), constraint=wk.Standardized()).solve()
    wk.Problem(
        edges, wk.penalties.Quadratic(np.ones(4)), constraint=wk.Anchored([0], np.zeros((1, 2)))
    ).solve()
    assert inspect.isclass(wk.Pulls)


def pymde_diagnostics():
    problem = wk.preserve_distances(X[:30])
    found = problem.solve()
    pairs = problem.high_distortion_pairs(found.Y, 5)
    assert len(problem.distortions(found.Y)) == len(problem.edges)
    assert len(pairs) > 0
    winkel.view.plot_distortions(problem.distortions(found.Y))


def quadratic():
    for method in (wk.quadratic.pca, wk.quadratic.laplacian, wk.quadratic.isomap, wk.quadratic.lle):
        assert method(X).Y.shape == (N, 2)


def graphs():
    paths = wk.graph.shortest_paths(wk.graph.knn(X, 5))
    assert paths.shape == (N, N)


def aligned_maps():
    turned = X[:, 2:4] @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert np.allclose(wk.align(turned, X[:, 2:4]), X[:, 2:4])


def nothing():
    """The cell says that there is none."""


@pytest.fixture(scope="module")
def cells():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X.astype(np.float32))
    adata.obsm["X_pca"] = X[:, :10].astype(np.float32)
    adata.obs["type"] = [str(label) for label in y]
    graph = wk.graph.knn(X, 10)
    adata.obsp["distances"] = sp.csr_matrix(
        (graph.knn_distances.ravel(), (np.repeat(np.arange(N), 10), graph.knn_indices.ravel())), shape=(N, N)
    )
    adata.uns["neighbors"] = {"distances_key": "distances", "connectivities_key": "distances"}
    return adata


def scanpy_umap(cells):
    wk.scverse.umap(cells, max_iter=8)
    wk.scverse.umap(cells, neighbors_key="neighbors", max_iter=8)
    assert cells.obsm["X_umap"].shape == (N, 2)


def scanpy_tsne(cells):
    wk.scverse.tsne(cells, use_rep="X_pca", perplexity=10, max_iter=8)
    assert cells.obsm["X_tsne"].shape == (N, 2)


def scanpy_graphs(cells):
    wk.scverse.mde(cells, neighbors_key="neighbors", max_iter=8)
    assert wk.graph.spectral_embedding(wk.scverse.neighbors(cells)).shape == (N, 2)


def scanpy_ingest(cells):
    new = cells[:5].copy()
    model = wk.scverse.mde(cells, use_rep="X_pca", max_iter=8, key_added="X_placed")
    assert wk.scverse.place(new, model, use_rep="X_pca").shape == (5, 2)


def scanpy_plots(cells, tmp_path):
    wk.scverse.mde(cells, max_iter=8)
    wk.scverse.plot(cells, "mde", color="type")
    assert wk.scverse.write_html(tmp_path / "cells.html", cells, "mde", labels="type").exists()


def scanpy_names(cells, tmp_path):
    wk.plot(X[:, 2:4], labels=y, names=True)
    wk.write_html(tmp_path / "names.html", X[:, 2:4], labels=y, names=True)


def scanpy_markers(cells, tmp_path):
    assert len(wk.explain(cells, y == 0).columns) > 0
    wk.write_html(tmp_path / "features.html", X[:, 2:4], data=X, features=True)


def scanpy_first_components(cells):
    few = wk.data.as_table(cells, use_rep="X_pca", columns=range(4))
    assert np.array_equal(few.values, cells.obsm["X_pca"][:, :4])
    assert wk.MDE(**QUICK).fit(few).n_features_in_ == 4


def scanpy_start(cells):
    cells.obsm["X_paga"] = np.asarray(X[:, 2:4], dtype=np.float64)
    model = wk.scverse.mde(cells, init=cells.obsm["X_paga"], max_iter=0, trust=False)
    assert wk.similarity(model.embedding_, cells.obsm["X_paga"]) > 0.99


def scanpy_clusters(cells):
    cells.obs["leiden"] = np.char.add("c", (y % 3).astype(str))
    wk.scverse.mde(cells, max_iter=8)
    assert "label_accuracy" in wk.scverse.measure(cells, "mde", labels="leiden").scores
    wk.scverse.kds_clustering(cells, n_clusters=3, max_iter=5, trust=False)


def scanpy_density():
    wk.plot(X[:, 2:4], density=True)


def scanpy_keys(cells):
    model = wk.scverse.mde(cells, use_rep="X_pca", key_added="X_own", max_iter=8)
    assert isinstance(model, wk.MDE)
    assert inspect.signature(wk.scverse.mde).parameters["random_state"].default == 0


def scanpy_trust(cells):
    cells.obsm["X_made_elsewhere"] = X[:, 2:4]
    wk.scverse.measure(cells, "X_made_elsewhere")
    wk.scverse.indicatrix(cells, "X_made_elsewhere")
    assert any("reliability" in name for name in cells.obs)


def scanpy_shell(cells, tmp_path):
    from winkel.cli import main

    cells.write_h5ad(tmp_path / "cells.h5ad")
    assert not main(
        [
            "embed",
            str(tmp_path / "cells.h5ad"),
            "--key",
            "obsm/X_pca",
            "-o",
            str(tmp_path / "map.h5ad"),
            "--quiet",
        ]
    )
    assert (tmp_path / "map.h5ad").stat().st_size > 1000


# The beginning of a left cell, with its section: what is run for the row.
RUN = {
    "umap-learn: `UMAP(": umap_parameters,
    "umap-learn: `fit`": umap_methods,
    "umap-learn: `inverse_transform`": inverses,
    "umap-learn: `update": update,
    "umap-learn: `fit(X, y)`": labels_in_the_fit,
    "umap-learn: `densmap": density_kept,
    'umap-learn: `metric="hellinger': metrics,
    "umap-learn: sparse input": sparse_rows,
    "umap-learn: `learning_rate`": fixed_parameters,
    "umap-learn: `graph_`": graph_of_the_fit,
    "umap-learn: `low_memory`": memory_and_progress,
    "umap-learn: `precomputed_knn`": own_neighbors,
    "umap-learn: `a * b`": combined,
    "umap-learn: `AlignedUMAP": aligned,
    "umap-learn: `ParametricUMAP`": nothing,  # tests/unit/test_torch.py
    "umap-learn: `output_metric": on_a_sphere,
    "umap-learn: `disconnection_distance`": equal_rows,
    "umap-learn: `random_state`": seeds,
    "umap-learn: `umap.plot": pictures,
    "umap-learn: `validation": trust_of_each_row,
    "openTSNE: `TSNE(": tsne_parameters,
    "openTSNE: `embedding.transform`": tsne_places_rows,
    "openTSNE: `kl_divergence`": divergence,
    "openTSNE: `embedding.optimize": more_iterations,
    "openTSNE: `initialization": starts,
    "openTSNE: `affinity.Multiscale": two_scales,
    "openTSNE: `affinity.Uniform": affinities,
    "openTSNE: `dof`": kernels_of_the_map,
    "openTSNE: `angle`": nothing,
    "openTSNE: `callbacks`": watched,
    "PaCMAP: `PaCMAP(": pacmap_parameters,
    "PaCMAP: `LocalMAP`": torn_or_merged,
    "PaCMAP: `init": mde_starts,
    "PaCMAP: `distance=": pacmap_distances,
    "PaCMAP: `apply_pca`": reduced_rows,
    "PaCMAP: `pair_neighbors`": own_pairs,
    "PaCMAP: `intermediate": frames,
    "PaCMAP: `save`": saved,
    "PaCMAP: `transform`": mde_places_rows,
    "PyMDE: `preserve_neighbors`": pymde_recipes,
    "PyMDE: `MDE(": pymde_problem,
    "PyMDE: `penalties`": pymde_problem,
    "PyMDE: `Centered`": pymde_problem,
    "PyMDE: `high_distortion_pairs`": pymde_diagnostics,
    "PyMDE: `pca`": quadratic,
    "PyMDE: `Graph`": graphs,
    "PyMDE: `align`": aligned_maps,
    "PyMDE: `device": nothing,
    "scanpy: `sc.pp.neighbors`": scanpy_umap,
    "scanpy: `sc.tl.tsne": scanpy_tsne,
    "scanpy: `n_pcs": scanpy_first_components,
    "scanpy: `init_pos": scanpy_start,
    "scanpy: `sc.tl.leiden`": scanpy_clusters,
    "scanpy: `sc.tl.draw_graph`": scanpy_graphs,
    "scanpy: `sc.tl.ingest": scanpy_ingest,
    "scanpy: `sc.pl.embedding": scanpy_plots,
    "scanpy: `legend_loc": scanpy_names,
    "scanpy: `sc.tl.rank_genes_groups`": scanpy_markers,
    "scanpy: `sc.tl.embedding_density`": scanpy_density,
    "scanpy: `key_added`": scanpy_keys,
    "scanpy: nothing": scanpy_trust,
    "scanpy: the shell": scanpy_shell,
}


def test_every_row_is_run():
    begun = {row: [start for start in RUN if row.startswith(start)] for row in ROWS}
    assert not {row for row, starts in begun.items() if not starts}
    assert set(RUN) == {start for starts in begun.values() for start in starts}


@pytest.mark.slow
@pytest.mark.parametrize("row", RUN)
def test_a_row_does_what_it_says(row, request, tmp_path):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    known = {"tmp_path": tmp_path}
    asked = inspect.signature(RUN[row]).parameters
    given = {name: known.get(name) or request.getfixturevalue(name) for name in asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", DataWarning)
        RUN[row](**given)


def test_a_parameter_without_counterpart_is_refused():
    refused_parameters()
