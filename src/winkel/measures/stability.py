"""`stability`: what stays the same when a map is made again, from another seed or from part of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import choice, integer, number
from ..graph import Graph
from ..run import Run
from ..typing import FloatArray, IntArray, RandomState
from .faithfulness import html_table
from .fits import Data, check_estimator, fit_map, fresh, other_seed, shared_graph
from .similarity import align, similarity
from .sources import map_neighbors

_KINDS = {"seeds": ("seed",), "rows": ("rows",), "both": ("seed", "rows")}


@dataclass(frozen=True, eq=False)
class Repeat:
    """One repeated map: its rows, its places (rotated and scaled to match the first map), and its similarity to that map."""

    kind: str
    rows: IntArray
    Y: FloatArray
    neighbors: NDArray[np.float64]
    displacement: NDArray[np.float64]
    similarity: float


@dataclass(frozen=True, eq=False)
class Stability:
    """What stays the same when a map is made again: the result of `winkel.stability`. It prints as a sentence.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components)
        The first map; all others were rotated to match it.
    n_neighbors : int
        Size of the neighbourhoods that were compared.
    runs : tuple of Repeat
        The repeated maps.
    neighbors : ndarray of shape (n,)
        For each point, the share of its neighbours in the map that stay its neighbours, on average over runs; NaN for a point
        that was in no run.
    displacement : ndarray of shape (n,)
        For each point, the distance by which it moves (root mean square over runs), relative to the radius of the map.
    value : float
        Mean of `neighbors`.
    interval : tuple of float or None
        The 95 % interval of `value`, over runs.
    chance : float
        The value of maps that have nothing in common.
    similarity : float
        How similar the overall shapes are (`winkel.similarity`), on average over runs.
    shared_graph : bool
        Whether all maps started from one neighbour graph.

    Examples
    --------
    >>> import winkel as wk
    >>> from sklearn.decomposition import PCA
    >>> found = wk.stability(PCA(2), wk.datasets.load_digits().X[:200], n_runs=2, vary="rows")
    >>> len(found.runs), found.neighbors.shape
    (2, (200,))
    """

    Y: FloatArray
    n_neighbors: int
    runs: tuple[Repeat, ...]
    neighbors: NDArray[np.float64]
    displacement: NDArray[np.float64]
    value: float
    interval: tuple[float, float] | None
    chance: float
    similarity: float
    shared_graph: bool

    def by(self, kind: str) -> float:
        """The value of the runs of one kind: "seed" or "rows"."""
        found = [float(run.neighbors.mean()) for run in self.runs if run.kind == kind]
        return float(np.mean(found)) if found else math.nan

    def __str__(self) -> str:
        counts = {kind: sum(run.kind == kind for run in self.runs) for kind in ("seed", "rows")}
        made = " and ".join(
            text
            for kind, text in (
                ("seed", f"{counts['seed']} other seeds (agreement {self.by('seed'):.3f})"),
                ("rows", f"{counts['rows']} subsamples (agreement {self.by('rows'):.3f})"),
            )
            if counts[kind]
        )
        between = "" if self.interval is None else f", 95 % {self.interval[0]:.3f} – {self.interval[1]:.3f}"
        graph = "one neighbour graph for all" if self.shared_graph else "neighbours searched anew each time"
        return (
            f"stability {self.value:.3f} ({self.n_neighbors} neighbours{between}; chance {self.chance:.3f}), similarity of "
            f"shapes {self.similarity:.3f}; from {made}; {graph}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = [("runs", "neighbours that stay", "similarity of shapes")]
        for kind, name in (("seed", "other seeds"), ("rows", "subsamples")):
            runs = [run for run in self.runs if run.kind == kind]
            if runs:
                alike = float(np.mean([run.similarity for run in runs]))
                table.append((f"{len(runs)} {name}", f"{self.by(kind):.3f}", f"{alike:.3f}"))
        table.append(("by chance", f"{self.chance:.3f}", ""))
        return html_table(str(self).split("; from")[0], table)


def stability(
    estimator: Any,
    X: Any,
    *,
    n_runs: int = 5,
    vary: str = "both",
    share: float = 0.9,
    n_neighbors: int = 15,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Stability:
    """What stays the same when an estimator makes its map again; repeated maps are rotated and scaled to match the first.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit_transform` and scikit-learn's parameters. If a `winkel.Graph` is all it needs
        (`graph_suffices`), neighbours are searched once for all runs; otherwise each run starts from the rows.
    X : array, data frame, sparse matrix, AnnData, Graph or whatever the estimator takes
        The data. For an AnnData object this is its `X`; use `winkel.scverse.table` for another array.
    n_runs : int, default=5
        Number of repeated maps of each kind.
    vary : {"both", "seeds", "rows"}, default="both"
        What changes from run to run: the seed, the rows (each run uses a random `share` of them), or first one and then the other.
    share : float, default=0.9
        Share of the rows in a subsample.
    n_neighbors : int, default=15
        Size of the neighbourhoods in the map that are compared.
    random_state : int, numpy Generator or None, default=0
        The seed of the first map, from which the seeds of the others follow.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Whether to show progress.

    Returns
    -------
    Stability
        One value, and for every point whether it keeps its neighbours and its place.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> found = wk.stability(wk.MDE(max_iter=20), X, n_runs=1)
    >>> found.chance < found.value <= 1
    True
    """
    check_estimator(estimator)
    n_runs = integer("n_runs", n_runs, 1)
    kinds = _KINDS[choice("vary", vary, _KINDS)]
    share = number("share", share, 0.0, 1.0, low_open=True, high_open=True)
    run = Run.of(random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    data = Data.for_fits(X, estimator)
    n = data.n
    k = min(integer("n_neighbors", n_neighbors, 1), max(1, (n - 1) // 2))
    graph = shared_graph(estimator, data, run)
    whole = data.for_estimator(estimator) if graph is None else graph
    first = fit_map(fresh(estimator, run.seed), whole).Y
    plan = [(kind, r) for kind in kinds for r in range(n_runs)]
    repeats = []
    for kind, r in run.progress(plan, "maps made again", len(plan)):
        rows = np.arange(n) if kind == "seed" else _subsample(n, share, run, r)
        part = whole if kind == "seed" else _part(estimator, data, graph, rows)
        seed = run.seed if kind == "rows" else other_seed(run, r)
        Y = fit_map(fresh(estimator, seed), part).Y
        repeats.append(compare_maps(kind, first, Y, rows, k, run))
    return _summary(first, tuple(repeats), k, graph is not None)


def compare_maps(kind: str, first: FloatArray, Y: FloatArray, rows: IntArray, k: int, run: Run) -> Repeat:
    """One map of these rows against the first map of all."""
    there = np.ascontiguousarray(first[rows])
    k = min(k, len(rows) - 1)
    turned = align(Y, there, scale=True)
    a, b = (map_neighbors(np.ascontiguousarray(M), k, run) for M in (there, Y))
    kept = (np.sort(a, axis=1)[:, :, None] == b[:, None, :]).any(axis=2).mean(axis=1)
    radius = float(np.sqrt(np.mean(np.sum((there - there.mean(axis=0)) ** 2, axis=1))))
    moved = np.sqrt(np.sum((turned - there).astype(np.float64) ** 2, axis=1)) / (radius or 1.0)
    return Repeat(kind, rows, turned, kept, moved, similarity(there, Y))


def _summary(first: FloatArray, runs: tuple[Repeat, ...], k: int, shared: bool) -> Stability:
    n = len(first)
    seen, kept, moved = np.zeros(n), np.zeros(n), np.zeros(n)
    for run in runs:
        seen[run.rows] += 1
        kept[run.rows] += run.neighbors
        moved[run.rows] += run.displacement**2
    with np.errstate(invalid="ignore"):  # a point in no run is NaN
        kept, moved = kept / seen, np.sqrt(moved / seen)
    values = np.array([run.neighbors.mean() for run in runs])
    return Stability(
        first, k, runs, kept, moved, float(values.mean()), run_interval(values), k / (n - 1),
        float(np.mean([run.similarity for run in runs])), shared,
    )  # fmt: skip


def run_interval(values: NDArray[np.float64]) -> tuple[float, float] | None:
    """The 95 % interval of a mean over runs, by Student's t; None for a single run."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, 0.975)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(0.0, float(values.mean()) - half), min(1.0, float(values.mean()) + half)


def _subsample(n: int, share: float, run: Run, repeat: int) -> IntArray:
    size = max(3, round(share * n))
    return np.sort(run.stream(f"subsample {repeat}").permutation(n)[:size])


def _part(estimator: Any, data: Data, graph: Graph | None, rows: IntArray) -> Any:
    return data.rows(rows).for_estimator(estimator) if graph is None else graph.subgraph(rows)
