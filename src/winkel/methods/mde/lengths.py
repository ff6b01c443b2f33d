"""Problems that give pairs a length: preserved distances, and lengths of paths along a surface that can be laid flat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Table, as_matrix
from ...graph import Graph, sample_paths
from ...graph.edges import random_pairs
from ...graph.metrics import pair_distances
from ...graph.precomputed import as_distances, distances_by_function
from ...problem import Constraint, Problem, Standardized
from ...problem.distortions import Distortion
from ...problem.distortions.base import scaled
from ...problem.distortions.losses import Quadratic
from ...run import Run
from ...typing import FloatArray, IntArray, Metric

MAX_DISTANCES = 5 * 10**7  # pairs whose distances are preserved at most, which take about 3.2 GB
PAIR_BYTES = 64.0  # measured peak of listing, packing and solving, for each pair
# For a surface that is laid flat: number of paths per row whose lengths are kept in addition to those of its edges, and of rows from which they start.
FLAT_PATHS, FLAT_SOURCES = 20, 256
_FLAT_ROW = 6200.0  # measured peak of finding, packing and solving these, bytes for each row
_LEAST_LENGTH = 1e-3  # of mean edges: shorter ones count as these, whose errors count most


@dataclass(frozen=True, eq=False)
class Asked:
    """The problem of a map; and, if distances are preserved, the requested distances, which are `scale` times those of the data."""

    problem: Problem
    distances: FloatArray | None = None
    scale: float = 1.0


def distance_problem(
    data: Any,
    metric: Metric,
    make: Callable[[FloatArray], Distortion],
    max_distances: int,
    constraint: Constraint,
    n_components: int,
    run: Run,
    sample_weight: FloatArray | None = None,
    scale: float | None = None,
) -> Asked:
    """The Problem of the distances in rows, in a matrix of distances, by a function, or along a graph.

    They are multiplied by `scale`; None scales them to the natural length under Standardized, and otherwise leaves them unchanged.
    """
    if isinstance(data, Graph):
        n = data.n
        edges, distances = sample_paths(data, run, max_pairs=max_distances)
    else:
        values = _comparable(data, metric, run)
        n = len(values)
        count = min(n * (n - 1) // 2, max_distances)
        run.check_memory(
            PAIR_BYTES * count, f"A problem of {count} distances", "Give a smaller max_distances."
        )
        edges = random_pairs(n, count, run)
        if callable(metric) or metric == "precomputed":
            distances = values[edges[:, 0], edges[:, 1]]
        else:
            distances = pair_distances(values, edges, str(metric), run.n_jobs)
    if scale is None:
        scale = _natural_scale(distances, n, n_components) if isinstance(constraint, Standardized) else 1.0
    distances = distances if scale == 1.0 else distances * distances.dtype.type(scale)
    problem = _posed(edges, make(distances), n, constraint, n_components, run, sample_weight)
    return Asked(problem, distances, scale)


def flat_problem(
    graph: Graph,
    constraint: Constraint,
    n_components: int,
    run: Run,
    sample_weight: FloatArray | None = None,
    scale: float | None = None,
) -> Asked:
    """The Problem of lengths along a neighbour graph: those of its edges, and of paths from a sample of rows.

    Lengths are multiplied by `scale`; None makes the mean edge one long.
    """
    run.check_memory(
        _FLAT_ROW * graph.n,
        f"a surface of {graph.n} rows that is laid flat",
        'Give focus="shape" or focus="neighbors", which take less, or a larger max_memory.',
    )
    unit = float(np.mean(graph.edge_distances, dtype=np.float64))
    scale = 1 / unit if scale is None and unit > 0 else scale or 1.0
    pairs, lengths = sample_paths(
        graph, run, max_pairs=FLAT_PATHS * graph.n, n_sources=min(graph.n, FLAT_SOURCES)
    )
    edges = np.concatenate([graph.edges, pairs])
    lengths = np.concatenate([graph.edge_distances, lengths])
    # An edge may be among the paths of the sample too, which are no longer than it.
    first = np.unique(edges[:, 0].astype(np.int64) * graph.n + edges[:, 1], return_index=True)[1]
    edges, lengths = edges[first], lengths[first] * lengths.dtype.type(scale)
    return Asked(
        _posed(edges, flat_loss(lengths), graph.n, constraint, n_components, run, sample_weight),
        lengths,
        scale,
    )


def flat_loss(lengths: FloatArray) -> Distortion:
    """Sammon's loss (d − δ)²/δ for lengths δ in units of the mean edge: the same error counts less for a long path than for a short one."""
    return Quadratic(lengths, weights=1 / np.maximum(lengths, _LEAST_LENGTH).astype(np.float64))


def _posed(
    edges: IntArray,
    distortion: Distortion,
    n: int,
    constraint: Constraint,
    n_components: int,
    run: Run,
    sample_weight: FloatArray | None,
) -> Problem:
    """The Problem of pairs and their distortion, with each pair weighted by the product of the weights of its rows."""
    if sample_weight is not None:
        both = sample_weight[edges].prod(axis=1)
        distortion = scaled(distortion, both / both.mean())
    return Problem(
        edges, distortion, n_items=n, n_components=n_components, constraint=constraint, n_jobs=run.n_jobs
    )


def _natural_scale(distances: FloatArray, n: int, m: int) -> float:
    """The factor that makes the root mean square of distances equal to that of a standardized map (section 4.2)."""
    square = float(np.mean(np.square(distances, dtype=np.float64)))
    return Standardized.natural_length(n, m) / math.sqrt(square) if square > 0 else 1.0


def _comparable(data: Any, metric: Metric, run: Run) -> FloatArray:
    """Validated rows, or the matrix of distances that was passed or that a function makes."""
    if callable(metric):
        return distances_by_function(data, metric, run.quiet())
    if metric != "precomputed":
        return as_matrix(data, allow_sparse=False)
    return as_distances(data.values if isinstance(data, Table) else data)
