"""`stability`: what stays when a map is made again, from another seed or from part of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameterError
from ..graph import Graph
from ..random import Stream
from ..resources import resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .align import align
from .fits import (
    check_estimator,
    check_repeats,
    count_rows,
    fit_map,
    fresh,
    pick_rows,
    progress,
    shared_graph,
)
from .nearest import map_neighbors
from .similarity import similarity


@dataclass(frozen=True, eq=False)
class Run:
    """One map made again: its rows, its places turned and scaled onto the first map, and how alike it is."""

    kind: str
    rows: IntArray
    Y: FloatArray
    neighbors: NDArray[np.float64]
    displacement: NDArray[np.float64]
    similarity: float


@dataclass(frozen=True, eq=False)
class Stability:
    """What stays when a map is made again.

    Y : the first map, onto which the others were turned; `runs` are those others.
    neighbors : for each point the share of its nearest in the map that stay its nearest, mean over runs; NaN for a point
        that was in none.
    displacement : for each point the distance it moves, root mean square over runs, as a share of the map's radius.
    value : mean of `neighbors`, with the `interval` (95 %, over runs) that so few runs allow; `chance` is the value of maps
        that have nothing in common. `similarity` compares the large shapes (`winkel.similarity`), mean over runs.
    """

    Y: FloatArray
    n_neighbors: int
    runs: tuple[Run, ...]
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


def stability(
    estimator: Any,
    X: Any,
    *,
    n_runs: int = 5,
    vary: str = "both",
    share: float = 0.9,
    n_neighbors: int = 15,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Stability:
    """What stays of the estimator's map of X when it is made again, after turning and scaling each onto the first.

    Parameters
    ----------
    estimator : anything with `fit_transform` and scikit-learn's parameters. Where it can start from a `winkel.Graph`
        (`accepts_graph`), neighbours are searched once for all runs; otherwise each run starts from the rows.
    n_runs : maps made again of each kind.
    vary : "seeds", "rows" (subsamples with a `share` of the rows each), or "both".
    n_neighbors : size of the neighbourhoods in the map that are compared.
    """
    check_estimator(estimator)
    n_runs, n = check_repeats("n_runs", n_runs), count_rows(X)
    kinds = _kinds(vary, share)
    k = min(check_repeats("n_neighbors", n_neighbors), max(1, (n - 1) // 2))
    seed = resolve_seed(random_state)
    graph = shared_graph(estimator, X, seed=seed, n_jobs=n_jobs)
    data = X if graph is None else graph
    first = fit_map(fresh(estimator, seed), data).Y
    plan = [(kind, r) for kind in kinds for r in range(n_runs)]
    runs = []
    for kind, r in progress(plan, "maps made again", verbose, len(plan)):
        rows = np.arange(n) if kind == "seed" else _subsample(n, share, seed, r)
        part = data if kind == "seed" else _part(data, rows)
        other = seed if kind == "rows" else other_seed(seed, r)
        Y = fit_map(fresh(estimator, other), part).Y
        runs.append(compare_maps(kind, first, Y, rows, k, n_jobs))
    return _summary(first, tuple(runs), k, graph is not None)


def compare_maps(
    kind: str, first: FloatArray, Y: FloatArray, rows: IntArray, k: int, n_jobs: int | None
) -> Run:
    """One map of some rows against the first map of all."""
    there = np.ascontiguousarray(first[rows])
    k = min(k, len(rows) - 1)
    turned = align(Y, there, scale=True)
    a, b = (map_neighbors(np.ascontiguousarray(M), k, n_jobs) for M in (there, Y))
    kept = (np.sort(a, axis=1)[:, :, None] == b[:, None, :]).any(axis=2).mean(axis=1)
    radius = float(np.sqrt(np.mean(np.sum((there - there.mean(axis=0)) ** 2, axis=1))))
    moved = np.sqrt(np.sum((turned - there).astype(np.float64) ** 2, axis=1)) / (radius or 1.0)
    return Run(kind, rows, turned, kept, moved, similarity(there, Y))


def _summary(first: FloatArray, runs: tuple[Run, ...], k: int, shared: bool) -> Stability:
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
    """The 95 % interval of a mean over runs, by Student's t; None for a single one."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, 0.975)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(0.0, float(values.mean()) - half), min(1.0, float(values.mean()) + half)


def other_seed(seed: int, run: int) -> int:
    return int(Stream.named(seed, "seeds").bits(1, start=run)[0] >> np.uint64(1))


def _subsample(n: int, share: float, seed: int, run: int) -> IntArray:
    size = max(3, round(share * n))
    return np.sort(Stream.named(seed, f"subsample {run}").permutation(n)[:size])


def _part(data: Any, rows: IntArray) -> Any:
    return data.subgraph(rows) if isinstance(data, Graph) else pick_rows(data, rows)


def _kinds(vary: str, share: float) -> tuple[str, ...]:
    allowed = {"seeds": ("seed",), "rows": ("rows",), "both": ("seed", "rows")}
    if vary not in allowed:
        raise InvalidParameterError(f"vary must be 'seeds', 'rows' or 'both'; got {vary!r}.")
    if not 0 < share < 1:
        raise InvalidParameterError(f"share must lie between 0 and 1; got {share!r}.")
    return allowed[vary]
