"""Maps of AnnData objects: `embed` for any estimator, `place` for new cells, and a function for every registered estimator."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import __version__
from ..checks import flag, instance
from ..data.annotated import obs_column
from ..errors import InvalidParameterError
from ..estimators import registry
from ..estimators.base import Embedder
from ..graph.metrics import is_metric
from ..maps import of_embedding
from ..measures.faithfulness import measure
from ..measures.indicatrix import indicatrix
from ..typing import FloatArray, Metric
from .contents import basis_of, check_anndata, keep_scores, neighbor_params, neighbors, rows_of

_NEIGHBORS = 15
_FEWEST_CELLS = 8  # of fewer there is nothing to say


def embed(
    adata: Any,
    model: Embedder,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    labels: str | None = None,
    key_added: str | None = None,
    trust: bool = True,
) -> Any:
    """Fit an estimator to the cells of `adata`, write the map into `adata`, and return the estimator.

    The map is written to `obsm[key_added]`; numbers per cell, such as `mde_reliability` and the LVM's `lvm_variance`, to `obs`;
    parameters, seed, status and scores to `uns["mde"]`. Nothing else in `adata` is changed.

    Parameters
    ----------
    adata : AnnData
        The cells. In backed mode, only the array that is used is read.
    model : estimator
        An estimator of winkel, with its parameters.
    use_rep : str or None, default=None
        The entry of `obsm` to map, or "X". None takes "X_pca" if it exists, otherwise `X`.
    layer : str or None, default=None
        The entry of `layers` to map instead.
    neighbors_key : str or None, default=None
        The neighbour graph to use, as `scanpy.pp.neighbors` stores it (its default is "neighbors"); None searches for neighbours.
    labels : str or None, default=None
        The column of `obs` by which cells are drawn together, for `MDE` with `label_weight` and for `UMAP`; "", NaN or -1 means unknown.
    key_added : str or None, default=None
        The entry of `obsm` to write; None is "X_" and the name of the method.
    trust : bool, default=True
        Whether to measure how far the map can be trusted: scores of the whole map, next to those of principal components, and the
        reliability of each cell.

    Returns
    -------
    estimator
        `model`, fitted; `place` puts new cells on its map.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> adata = anndata.AnnData(wk.datasets.load_digits().X[:200])
    >>> model = wk.scverse.embed(adata, wk.MDE(max_iter=30, random_state=0), key_added="X_map")
    >>> adata.obsm["X_map"].shape, list(adata.obs)
    ((200, 2), ['map_reliability'])
    """
    check_anndata(adata)
    instance("model", model, Embedder, "an estimator of winkel, such as winkel.MDE()")
    table, rep = rows_of(adata, use_rep, layer, neighbors_key)
    data: Any = table
    if neighbors_key is not None:
        if not getattr(model, "accepts_graph", False):
            raise InvalidParameterError(
                f"neighbors_key only works with estimators that map neighbour graphs; {type(model).__name__} with these parameters "
                "needs the rows themselves. Leave neighbors_key out."
            )
        data = neighbors(adata, neighbors_key)
    if labels is None:
        model.fit(data)
    elif model.uses_labels:
        model.fit(data, obs_column(adata, labels, "labels", "adata"))
    else:
        raise InvalidParameterError(
            f"{type(model).__name__} makes its map without labels; MDE with label_weight and UMAP use them. Leave labels out."
        )
    name = registry.entry(type(model).__name__).commands[0].name.replace("-", "_")
    key = f"X_{name}" if key_added is None else key_added
    basis = basis_of(key)
    adata.obsm[key] = np.array(model.embedding_)
    for column, values in of_embedding(model.result_).columns.items():
        adata.obs[f"{basis}_{column}"] = np.array(values)
    adata.uns[basis] = _record(model, {"use_rep": rep, "neighbors_key": neighbors_key, "labels": labels})
    if flag("trust", trust) and table.shape[0] >= _FEWEST_CELLS:
        metric = _metric(adata, model, neighbors_key)
        k = min(_NEIGHBORS, (table.shape[0] - 1) // 3)
        judged: Any = {"n_neighbors": k, "metric": metric, "n_jobs": model.n_jobs}
        keep_scores(adata, basis, measure(table, model, **judged))
        adata.obs[f"{basis}_reliability"] = indicatrix(table, model, **judged).reliability
    return model


def place(
    adata: Any,
    model: Embedder,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str | None = None,
) -> FloatArray:
    """The places of new cells on the map of a fitted estimator, also written into `adata`.

    Parameters
    ----------
    adata : AnnData
        The new cells.
    model : estimator
        The fitted estimator that `embed`, or `mde` and the others, returned for the first cells.
    use_rep : str or None, default=None
        The entry of `obsm` that holds the new rows, with the same columns as in the fit; None as in `embed`.
    layer : str or None, default=None
        The entry of `layers` to use instead.
    key_added : str or None, default=None
        The entry of `obsm` to write; None is "X_" and the name of the method.

    Returns
    -------
    ndarray of shape (n, n_components)
        The places.

    Examples
    --------
    >>> import anndata
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X
    >>> first, later = anndata.AnnData(X[:200]), anndata.AnnData(X[200:210])
    >>> model = wk.scverse.mde(first, max_iter=30)
    >>> wk.scverse.place(later, model).shape, list(later.obsm)
    ((10, 2), ['X_mde'])
    """
    check_anndata(adata)
    instance("model", model, Embedder, "a fitted estimator of winkel")
    rows, _ = rows_of(adata, use_rep, layer, None, min_rows=1)
    name = registry.entry(type(model).__name__).commands[0].name.replace("-", "_")
    Y = np.asarray(model.transform(rows))
    adata.obsm[f"X_{name}" if key_added is None else key_added] = Y
    return Y


def methods() -> dict[str, Any]:
    """The classes of estimators, by the name of their function."""
    return {
        command.name.replace("-", "_"): cls
        for command, cls in ((command, cls) for cls, command in registry.commands().values())
        if not command.preset
    }


def function_of(name: str, cls: Any) -> Callable[..., Any]:
    """The function `name` that fits an estimator of class `cls` to an AnnData object."""
    own = list(inspect.signature(embed).parameters.values())
    own = [p for p in own if p.name not in (("model",) if cls.uses_labels else ("model", "labels"))]
    theirs = [
        p.replace(kind=p.KEYWORD_ONLY, default=0 if p.name == "random_state" else p.default)
        for p in inspect.signature(cls).parameters.values()
    ]

    def function(adata: Any, **given: Any) -> Any:
        known = {p.name for p in own}
        parameters = {"random_state": 0} | {key: value for key, value in given.items() if key not in known}
        return embed(adata, cls(**parameters), **{key: value for key, value in given.items() if key in known})

    function.__name__ = function.__qualname__ = name
    function.__module__ = __package__ or __name__
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *theirs], return_annotation=cls.__name__
    )
    function.__doc__ = _documentation(name, cls)
    return function


def _documentation(name: str, cls: Any) -> str:
    """The documentation of `embed` and of the estimator, put together."""
    ours, theirs = _section(inspect.getdoc(embed) or ""), _section(inspect.getdoc(cls) or "")
    ours = re.sub(r"(?ms)^model : estimator\n.*?(?=^use_rep)", "", ours)
    if not cls.uses_labels:
        ours = re.sub(r"(?ms)^labels : .*?(?=^key_added)", "", ours)
    theirs = re.sub(r"(?m)^(random_state : .*)default=None$", r"\1default=0", theirs)
    return f"""`winkel.{cls.__name__}`, fitted to the cells of `adata`, into which the map is written as by `embed`.

Parameters
----------
{ours}
{theirs}

Returns
-------
{cls.__name__}
    The fitted estimator.

Examples
--------
>>> import anndata
>>> import numpy as np
>>> import winkel as wk
>>> adata = anndata.AnnData(np.random.default_rng(0).normal(size=(300, 3)))
>>> model = wk.scverse.{name}(adata, trust=False)
>>> adata.obsm["X_{name}"].shape[0]
300
"""


def _section(text: str) -> str:
    """The parameters in a docstring."""
    found = re.search(r"(?ms)^Parameters\n-+\n(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-+\n|\Z)", text)
    return "" if found is None else found[1].rstrip()


def _metric(adata: Any, model: Embedder, neighbors_key: str | None) -> Metric:
    """The distance that the map was made by, where winkel has it."""
    stored = neighbor_params(adata, neighbors_key).get("metric")
    metric = getattr(model, "metric", "euclidean") if neighbors_key is None else stored
    return metric if callable(metric) or (isinstance(metric, str) and is_metric(metric)) else "euclidean"


def _record(model: Embedder, of: dict[str, str | None]) -> dict[str, Any]:
    """What `uns` keeps of a fit, and what it was `of`: plain values, which an h5ad file holds."""
    parameters = {
        name: value if isinstance(value, bool | int | float | str) else repr(value)
        for name, value in model.get_params(deep=False).items()
        if value is not None and name not in ("callbacks", "checkpoint", "verbose")
    }
    return {
        "params": parameters | {name: value for name, value in of.items() if value is not None},
        "method": type(model).__name__,
        "seed": -1 if model.result_.seed is None else int(model.result_.seed),
        "objective": float(model.result_.objective),
        "status": str(model.result_.status),
        "winkel": __version__,
    }  # fmt: skip
