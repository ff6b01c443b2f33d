"""The contents of AnnData objects: the rows to map, neighbour graphs, maps, colours, and the record of a fit in `uns`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..checks import choice
from ..data import Table, as_table
from ..data.annotated import COMPONENTS, is_anndata, obs_column
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph
from ..graph.precomputed import neighbors_from_distances
from ..measures.faithfulness import Faithfulness
from ..run import Run
from ..typing import FloatArray


def neighbors(adata: Any, neighbors_key: str = "neighbors") -> Graph:
    """The neighbour graph that `scanpy.pp.neighbors` stored, with its distances.

    Parameters
    ----------
    adata : AnnData
        The cells.
    neighbors_key : str, default="neighbors"
        The entry of `uns` that describes the graph. Without such an entry, `obsp["distances"]` is read, or
        `obsp["<neighbors_key>_distances"]`.

    Returns
    -------
    Graph
        A neighbour graph: each cell lists the cells to which a distance is stored, nearest first.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:100]
    >>> adata = anndata.AnnData(X)
    >>> adata.obsp["distances"] = wk.graph.knn(X, 5).distances.tocsr()
    >>> wk.scverse.neighbors(adata).n
    100
    """
    check_anndata(adata)
    stored = adata.uns.get(neighbors_key, {})
    usual = "distances" if neighbors_key == "neighbors" else f"{neighbors_key}_distances"
    key = stored.get("distances_key", usual) if isinstance(stored, Mapping) else usual
    if key not in adata.obsp:
        listed = ", ".join(map(repr, adata.obsp)) or "none"
        raise InvalidParameterError(
            f"neighbors_key={neighbors_key!r} names no neighbour graph: obsp has no {key!r}, it has: {listed}. "
            "Call scanpy.pp.neighbors first, or leave neighbors_key out."
        )
    distances = adata.obsp[key].tocsr()
    k = int(np.diff(distances.indptr).max())
    return Graph.from_knn(*neighbors_from_distances(distances, k, Run.of(random_state=0)))


def table(adata: Any, *, use_rep: str | None = None, layer: str | None = None) -> Table:
    """The rows of an AnnData object, in a form that every call of winkel takes, together with the columns of its `obs`.

    Parameters
    ----------
    adata : AnnData
        The cells.
    use_rep : str or None, default=None
        The entry of `obsm` that holds the rows, or "X"; None takes "X_pca" if it exists, otherwise `X`.
    layer : str or None, default=None
        The entry of `layers` to use instead.

    Returns
    -------
    Table
        Pass it as `X` or `data`; labels may then name a column of `obs`.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> adata = anndata.AnnData(digits.X[:200])
    >>> adata.obs["digit"] = digits.y[:200].astype(str)
    >>> adata.obsm["X_pca"] = adata.X[:, 20:30]
    >>> cells = wk.scverse.table(adata)
    >>> cells.shape
    (200, 10)
    >>> "label_accuracy" in wk.measure(cells, adata.X[:, 20:22], labels="digit").scores
    True
    """
    check_anndata(adata)
    return rows_of(adata, use_rep, layer, None, keep=list(adata.obs.columns))[0]


def check_anndata(adata: Any) -> None:
    """Raise unless this is an AnnData object."""
    if not is_anndata(adata):
        raise InvalidInputError(
            f"adata must be an AnnData object; got a {type(adata).__name__}. For other data call the estimator: "
            "winkel.MDE().fit(X)."
        )


def rows_of(
    adata: Any,
    use_rep: str | None,
    layer: str | None,
    neighbors_key: str | None,
    min_rows: int = 2,
    keep: list[str] | None = None,
) -> tuple[Table, str]:
    """The rows to map, and the name of their representation."""
    if use_rep is None and layer is None:
        use_rep = neighbor_params(adata, neighbors_key).get("use_rep") or (
            COMPONENTS if COMPONENTS in adata.obsm else "X"
        )
    rows = as_table(adata, use_rep=use_rep, layer=layer, name="adata", min_rows=min_rows, keep=keep)
    return rows, str(use_rep) if layer is None else f"layers/{layer}"


def neighbor_params(adata: Any, neighbors_key: str | None) -> Mapping[str, Any]:
    """The metric and representation that `scanpy.pp.neighbors` stored with a graph."""
    stored = {} if neighbors_key is None else adata.uns.get(neighbors_key, {})
    found = stored.get("params", {}) if isinstance(stored, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def basis_of(key: str) -> str:
    """The name of a map, without the prefix "X_" that scanpy omits."""
    return key.removeprefix("X_")


def map_of(adata: Any, basis: str) -> FloatArray:
    """The map that scanpy calls `basis`."""
    for key in (basis, f"X_{basis}"):
        if key in adata.obsm:
            return np.asarray(adata.obsm[key])
    choice("basis", basis, [basis_of(key) for key in adata.obsm])
    raise AssertionError


def colors_of(adata: Any, name: str) -> Any:
    """A column of `obs`, or the values of a gene."""
    if name in adata.obs:
        return obs_column(adata, name, "color", "adata")
    if name in adata.var_names:
        values = adata[:, name].X
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values).ravel()
    raise InvalidParameterError(f"{name!r} is neither a column of adata.obs nor the name of a gene.")


def keep_scores(adata: Any, basis: str, report: Faithfulness) -> None:
    """Write the scores of a map, and those of principal components, into `uns`."""
    record = dict(adata.uns.get(basis, {}))
    record["scores"] = {name: float(score.value) for name, score in report.scores.items()}
    record["scores_of_pca"] = {
        name: float(score.baseline) for name, score in report.scores.items() if score.baseline is not None
    }
    adata.uns[basis] = record
