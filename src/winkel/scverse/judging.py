"""Maps in `obsm`, measured and shown: `measure`, `indicatrix`, `plot` and `write_html`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import flag
from ..data.annotated import obs_column
from ..measures.faithfulness import Faithfulness
from ..measures.faithfulness import measure as measure_map
from ..measures.indicatrix import Indicatrix
from ..measures.indicatrix import indicatrix as indicatrix_of
from ..typing import Metric, RandomState
from ..view.explorer import write_html as write_page
from ..view.html.inputs import check_maps
from ..view.html.judged import judge
from ..view.plots import plot as plot_map
from .contents import basis_of, check_anndata, colors_of, keep_scores, map_of, rows_of


def measure(
    adata: Any,
    basis: str,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    labels: str | None = None,
    scores: Sequence[str] | None = None,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    sample: str | int | None = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Faithfulness:
    """The faithfulness of any map in `obsm`, from winkel or elsewhere; its scores are also written to `uns[basis]["scores"]`.

    Parameters
    ----------
    adata : AnnData
        The cells.
    basis : str
        The map, as scanpy names it: "umap" is `obsm["X_umap"]`.
    use_rep : str or None, default=None
        The entry of `obsm` with which the map is compared; None as in `embed`.
    layer : str or None, default=None
        The entry of `layers` to use instead.
    labels : str or None, default=None
        A column of `obs`; adds scores of classes.
    scores : list of str or None, default=None
        Names of scores; None computes all.
    n_neighbors : int, default=15
        Size of the neighbourhoods that are compared.
    metric : str or callable, default="euclidean"
        The distance in the data.
    sample : "auto", int or None, default="auto"
        How many cells are measured, as in `winkel.measure`.
    random_state : int, numpy Generator or None, default=0
        The seed of samples.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Faithfulness
        The same report as from `winkel.measure`.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> adata = anndata.AnnData(wk.datasets.load_digits().X[:200])
    >>> adata.obsm["X_umap"] = adata.X[:, 20:22]  # by whatever method
    >>> report = wk.scverse.measure(adata, "umap")
    >>> adata.uns["umap"]["scores"]["trustworthiness"] == report["trustworthiness"].value
    True
    """
    check_anndata(adata)
    table, _ = rows_of(adata, use_rep, layer, None)
    report = measure_map(
        table,
        map_of(adata, basis),
        scores=scores,
        labels=None if labels is None else obs_column(adata, labels, "labels", "adata"),
        n_neighbors=n_neighbors,
        metric=metric,
        sample=sample,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    keep_scores(adata, basis_of(basis), report)
    return report


def indicatrix(
    adata: Any,
    basis: str,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_neighbors: int = 15,
    tolerance: int = 3,
    metric: Metric = "euclidean",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Indicatrix:
    """How far any map in `obsm` can be trusted at each cell; the result is also written to `obs`.

    The columns are `obs["<basis>_reliability"]`, and the numbers of false and missing neighbours,
    `obs["<basis>_false_neighbors"]` and `obs["<basis>_missing_neighbors"]`.

    Parameters
    ----------
    adata : AnnData
        The cells.
    basis : str
        The map, as scanpy names it: "umap" is `obsm["X_umap"]`.
    use_rep : str or None, default=None
        The entry of `obsm` with which the map is compared; None as in `embed`.
    layer : str or None, default=None
        The entry of `layers` to use instead.
    n_neighbors : int, default=15
        Size of a cell's neighbourhood.
    tolerance : int, default=3
        The factor t such that the t·`n_neighbors` nearest cells still count as near.
    metric : str or callable, default="euclidean"
        The distance in the data.
    random_state : int, numpy Generator or None, default=0
        The seed of the search for neighbours.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    Indicatrix
        The same result as from `winkel.indicatrix`.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> adata = anndata.AnnData(wk.datasets.load_digits().X[:200])
    >>> adata.obsm["X_umap"] = adata.X[:, 20:22]  # by whatever method
    >>> points = wk.scverse.indicatrix(adata, "umap")
    >>> list(adata.obs)
    ['umap_reliability', 'umap_false_neighbors', 'umap_missing_neighbors']
    """
    check_anndata(adata)
    table, _ = rows_of(adata, use_rep, layer, None)
    found = indicatrix_of(
        table,
        map_of(adata, basis),
        n_neighbors=n_neighbors,
        tolerance=tolerance,
        metric=metric,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    name = basis_of(basis)
    adata.obs[f"{name}_reliability"] = found.reliability
    adata.obs[f"{name}_false_neighbors"] = found.false_neighbors.counts
    adata.obs[f"{name}_missing_neighbors"] = found.missing_neighbors.counts
    return found


def plot(
    adata: Any,
    basis: str,
    *,
    color: str | None = None,
    title: str | None = None,
    ax: Any = None,
    path: str | Path | None = None,
) -> Any:
    """The matplotlib axes with a map in `obsm`, coloured by a column of `obs` or by a gene.

    Parameters
    ----------
    adata : AnnData
        The cells.
    basis : str
        The map, as scanpy names it.
    color : str or None, default=None
        A column of `obs` (classes get a legend, numbers a colour bar), or the name of a gene.
    title : str or None, default=None
        Title above the map.
    ax : matplotlib Axes or None, default=None
        Axes to draw on; None makes a new figure.
    path : path or None, default=None
        File to write the picture to as well.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> adata = anndata.AnnData(digits.X[:200])
    >>> adata.obs["digit"] = digits.y[:200].astype(str)
    >>> adata.obsm["X_two"] = adata.X[:, 20:22]
    >>> wk.scverse.plot(adata, "two", color="digit", title="Digits").get_title()
    'Digits'
    """
    check_anndata(adata)
    drawn: Any = {}
    if color is not None:
        values = colors_of(adata, color)
        drawn = {"labels" if values.dtype.kind in "USOb" else "values": values, "values_name": color}
    return plot_map(map_of(adata, basis), **drawn, title=title, ax=ax, path=path)


def write_html(
    path: str | os.PathLike[str],
    adata: Any,
    basis: str | Sequence[str],
    *,
    labels: str | None = None,
    fields: Sequence[str] | None = None,
    features: bool = False,
    trust: bool = True,
    title: str | None = None,
) -> Path:
    """Write an explorer page with maps in `obsm`: colours, cards and reliability from `obs`, scores from `uns`.

    If a map has no scores or reliability there, they are computed for the page, from "X_pca" if it exists, otherwise from `X`.

    Parameters
    ----------
    path : path
        The file to write.
    adata : AnnData
        The cells.
    basis : str or list of str
        The maps, as scanpy names them.
    labels : str or None, default=None
        A column of `obs` with the classes of cells.
    fields : list of str or None, default=None
        Columns of `obs`, or genes, for the card of a cell and as further colours; None adds none.
    features : bool, default=False
        Whether the page contains the genes in `X` that differ most between regions, as colours and to say in which genes a selection
        differs from all other cells; see `winkel.write_html`.
    trust : bool, default=True
        Whether to compute scores and reliability of maps that have none yet.
    title : str or None, default=None
        Heading of the page.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> adata = anndata.AnnData(digits.X[:200])
    >>> adata.obs["digit"] = digits.y[:200].astype(str)
    >>> model = wk.scverse.mde(adata, max_iter=30)
    >>> wk.scverse.write_html("cells.html", adata, "mde", labels="digit").name
    'cells.html'
    """
    check_anndata(adata)
    names = [basis] if isinstance(basis, str) else list(basis)
    reliability: dict[str, Any] = {
        name: adata.obs[column].to_numpy()
        for name in names
        if (column := f"{basis_of(name)}_reliability") in adata.obs
    }
    scores: dict[str, Any] = {
        name: dict(stored["scores"])
        for name in names
        if "scores" in (stored := adata.uns.get(basis_of(name), {})) and len(stored["scores"])
    }
    maps = {name: map_of(adata, name) for name in names}
    unknown = {name: Y for name, Y in maps.items() if name not in scores or name not in reliability}
    if flag("trust", trust) and unknown:
        judged = judge(unknown, check_maps(unknown), rows_of(adata, None, None, None)[0], "euclidean", None)
        scores, reliability = judged.scores | scores, judged.reliability | reliability
    return write_page(
        path,
        maps,
        labels=None if labels is None else _column(adata, labels),
        ids=np.asarray(adata.obs_names).astype(str),
        fields=None if fields is None else {name: colors_of(adata, name) for name in fields},
        reliability=reliability or None,
        scores=scores or None,
        title=title,
        trust=False,
        features=adata if flag("features", features) else False,
    )


def _column(adata: Any, name: str) -> Any:
    """A column of `obs` without Python objects, which brings its name with it."""
    return type(adata.obs[name])(obs_column(adata, name, "labels", "adata"), name=name)
