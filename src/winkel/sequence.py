"""`series`: maps of changing data that stay comparable, as an animation or a page with a slider."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import integer, number
from .data import as_table
from .embedding import Embedding
from .errors import InvalidInputError, InvalidParameterError
from .estimators.mde import MDE
from .measures.faithfulness import html_table, table_lines
from .methods.mde.plan import Settings
from .methods.mde.sequence import common_rows, fit_sequence
from .run import Run
from .typing import FloatArray, RandomState
from .view.animation import animate
from .view.explorer import write_html


@dataclass(frozen=True, eq=False)
class Series:
    """Maps of a series: the result of `winkel.series`.

    Attributes
    ----------
    results : tuple of Embedding
        One for each table.
    ids : tuple of ndarray
        The items of each table.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:150]
    >>> found = wk.series([X, X + 0.1], model=wk.MDE(max_iter=20), random_state=0)
    >>> len(found), found.frames().shape
    (2, (2, 150, 2))
    """

    results: tuple[Embedding, ...]
    ids: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.results)

    def __str__(self) -> str:
        return "\n".join(table_lines(self._table()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table("maps of a series", self._table())

    def _table(self) -> list[list[str]]:
        rows = [["map", "rows", "in the map before", "movement", "status"]]
        steps = ["", *(f"{step:.3f}" for step in self.movement)]
        for t, (names, step, result) in enumerate(zip(self.ids, steps, self.results)):
            kept = "" if t == 0 else str(len(common_rows(names.tolist(), self.ids[t - 1].tolist())[0]))
            rows.append([str(t), str(len(names)), kept, step, result.status.word])
        return rows

    @property
    def maps(self) -> list[FloatArray]:
        """The map of each table."""
        return [result.Y for result in self.results]

    @property
    def common(self) -> NDArray[Any]:
        """The items that all tables have, in the order of the first."""
        everywhere = set(self.ids[0].tolist()).intersection(*(names.tolist() for names in self.ids[1:]))
        return np.array([name for name in self.ids[0].tolist() if name in everywhere])

    @property
    def movement(self) -> NDArray[np.float64]:
        """How far items move from each map to the next, on average, in standard deviations of the maps."""
        moved = []
        for t in range(1, len(self)):
            rows, before = common_rows(self.ids[t].tolist(), self.ids[t - 1].tolist())
            step = np.linalg.norm(self.maps[t][rows] - self.maps[t - 1][before], axis=1)
            moved.append(float(step.mean()) / float(np.std(self.maps[t])) if len(step) else np.nan)
        return np.array(moved)

    def frames(self) -> FloatArray:
        """The places of the items that all tables have, shape (maps, items, dimensions)."""
        names = self.common.tolist()
        if not names:
            raise InvalidInputError("no item is in all tables, so there is nothing to animate.")
        found = []
        for Y, ids in zip(self.maps, self.ids):
            place = {name: row for row, name in enumerate(ids.tolist())}
            found.append(Y[[place[name] for name in names]])
        return np.stack(found)

    def animate(self, path: str | os.PathLike[str], **looks: Any) -> Path:
        """Write an animation of the items that all tables have, with `winkel.animate`; other parameters are passed on, with labels for the items of `common`."""
        return animate(self.frames(), Path(path), **looks)

    def write_html(self, path: str | os.PathLike[str], **contents: Any) -> Path:
        """Write an explorer page with a slider over the maps of the items that all tables have, with `winkel.write_html`; other parameters are passed on, with columns for the items of `common`."""
        frames = self.frames()
        return write_html(
            path, {"series": frames[-1]}, frames={"series": frames}, ids=self.common, **contents
        )


def series(
    tables: Sequence[Any],
    ids: Sequence[ArrayLike] | None = None,
    *,
    model: MDE | None = None,
    tie: float = 0.1,
    n_sweeps: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Series:
    """Maps of a series of tables, in which items stay near their places as long as their data does not change.

    Each map is that of `winkel.MDE`, with soft pulls between the same items in consecutive maps. First the maps are made one after the
    other, each starting from the map before; then all are made again `n_sweeps` times, with pulls to the maps on both sides.

    Parameters
    ----------
    tables : list of arrays, data frames, sparse matrices or AnnData
        Two or more tables, in order. Their columns may differ. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    ids : list of arrays or None, default=None
        For each table, the item of each row; every item at most once. None takes the names of the tables' rows; without names, rows with the
        same number are the same item, and all tables must have the same number of rows.
    model : MDE or None, default=None
        An unfitted estimator whose parameters are used, with preserve="neighbors"; None is `MDE()`.
    tie : float, default=0.1
        How strongly an item is drawn to its places in the maps before and after, relative to the attraction of its neighbours (both
        at a distance of the extent of the map). With 0, maps only share the start; from about 1 on, items stay even if their data has changed.
    n_sweeps : int, default=1
        Number of times that all maps are made again with pulls to both sides.
    random_state : int, numpy Generator or None, default=None
        The seed; the same seed gives the same bytes for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Series
        Its `maps`, how far items move (`movement`), and `animate` and `write_html` with a slider.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.series([X[:150], X[20:]], [range(150), range(20, 200)], model=wk.MDE(max_iter=20), random_state=0)
    >>> [len(Y) for Y in found.maps], len(found.common)
    ([150, 180], 130)
    """
    if isinstance(tables, np.ndarray | str) or len(tables) < 2:
        raise InvalidParameterError("tables must be a list of two or more tables.")
    model = MDE() if model is None else model
    if not isinstance(model, MDE) or model.preserve != "neighbors":
        raise InvalidParameterError('model must be a winkel.MDE with preserve="neighbors".')
    read = [as_table(table, name=f"tables[{t}]") for t, table in enumerate(tables)]
    names = _names(read, ids)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    strength, sweeps = number("tie", tie, 0.0), integer("n_sweeps", n_sweeps, 0)
    lists = [each.tolist() for each in names]
    return Series(tuple(fit_sequence(read, lists, Settings.of(model), strength, sweeps, run)), tuple(names))


def _names(tables: Sequence[Any], ids: Sequence[ArrayLike] | None) -> list[NDArray[Any]]:
    if ids is not None and len(ids) != len(tables):
        raise InvalidParameterError(
            f"ids must have one entry for each of the {len(tables)} tables; got {len(ids)}."
        )
    entries: Any = ids
    found = []
    for t, table in enumerate(tables):
        n = table.shape[0]
        given = np.arange(n) if table.ids is None else table.ids
        names = np.asarray(given if ids is None else list(entries[t]))
        if names.shape != (n,):
            raise InvalidInputError(
                f"ids[{t}] must name the {n} rows of tables[{t}]; got shape {names.shape}."
            )
        if len(set(names.tolist())) < n:
            raise InvalidInputError(
                f"ids[{t}] names an item twice; an item may only have one row in a table."
            )
        found.append(names)
    if (
        ids is None
        and len({len(names) for names in found}) > 1
        and any(table.ids is None for table in tables)
    ):
        raise InvalidInputError(
            f"tables have {', '.join(str(len(names)) for names in found)} rows and no names of their rows: pass ids, which say "
            "which rows are the same item."
        )
    for t in range(1, len(found)):
        if not set(found[t].tolist()) & set(found[t - 1].tolist()):
            raise InvalidInputError(
                f"tables[{t}] has no item in common with tables[{t - 1}], so their maps could not be compared: its ids are "
                f"such as {found[t].tolist()[0]!r}, those before such as {found[t - 1].tolist()[0]!r}."
            )
    return found
