"""Neighbours to be preserved: what draws them together, by their distances, and what keeps others apart.

In the default map a row gives a part of its attraction to all of its `n_neighbors` nearest alike, which keeps that set; a part to the same rows
by their distances, which keeps their order; and the rest to a wider surrounding, which keeps the shape of what is farther away.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...checks import array, choice
from ...errors import DataWarning, InvalidInputError
from ...graph import Graph, neighbor_graph
from ...graph.edges import random_pairs
from ...graph.graph import graph_of_lists
from ...graph.knn import count_items
from ...problem import Centered, Constraint, Problem, penalties
from ...problem.distortions import Distortion
from ...problem.distortions.base import HEAVIEST, as_penalty, scaled
from ...run import Run
from ...typing import FloatArray, IntArray, Metric

# Of its attraction a row gives EVEN to its n_neighbors nearest alike, NEAR_SHARE by a Gaussian of perplexity NEAR times n_neighbors (12 for
# the usual 15), and the rest by one of perplexity WIDE times n_neighbors (60).
EVEN, NEAR, NEAR_SHARE, WIDE = 0.3, 0.8, 0.5, 4.0
# The least and the greatest length of the neighbour lists, as multiples of n_neighbors. In between, lists have PAIRS entries in all:
# for few rows, long lists are found as fast as short ones; for many rows they are not.
SHORTEST, LONGEST, PAIRS = 2, 10, 2_000_000
_SURROUNDING = 5  # a list holds at most a fifth of all rows: more is no neighbourhood
# The attraction of a row by all its neighbours together, divided by its Cauchy repulsion by each other row. It is 2.5 for up to 4 000
# rows and grows with the square root of their number from there on. In t-SNE the mean of Σ 1/(1 + d²) over the rows stands in its
# place, and ends at similar values; since ours is constant, a map of few rows cannot grow without bound, as t-SNE's does.
CAUCHY_NORMALIZER, CAUCHY_ROWS, CAUCHY_GROWTH = 2.5, 4000, 0.5
# The repulsion of a row by all others together is at least this many times its attraction; otherwise small maps would be pulled
# together more than spread out.
CAUCHY_LEAST = 50.0
# The weights of a neighbour graph (2 if both rows list each other, else 1) are raised to this power: rows that list each other are
# more often of one kind.
CAUCHY_MUTUAL = 2
WIDEST = 1e12  # the largest weight of a pair, as a multiple of the median weight of similar pairs
_PAIRS = ("auto", "sampled", "all")


@dataclass(frozen=True)
class Forces:
    """What draws neighbours together, what keeps others apart (None: nothing), and whether all pairs repel or a sample."""

    attractive: Distortion
    repulsive: Distortion | None
    all_pairs: bool

    @property
    def short_ranged(self) -> bool:
        """Whether only close pairs feel the repulsion, so that no sample can stand for all."""
        return isinstance(self.repulsive, penalties.Cauchy)

    @property
    def cauchy(self) -> bool:
        """Whether all pairs repel by the Cauchy penalty."""
        return self.all_pairs and self.short_ranged

    @classmethod
    def of(
        cls,
        attractive: object,
        repulsive: object,
        repulsive_pairs: str,
        n_components: int,
        constraint: Constraint,
    ) -> Forces:
        """The penalties meant, each a name, a class, or an object with `value` and `derivative`.

        What "auto" stands for: repulsive is "cauchy" for a centred map in two or three dimensions with attractive="auto",
        else "log". Pairs are "all" for the Cauchy penalty, else "sampled". attractive is Log1p(exponent=2) beside the Cauchy penalty,
        as in t-SNE; beside others it is Log1p(exponent=1.3), which on MNIST keeps more neighbours than the usual 1.5
        (recall 0.136 against 0.116) at the same accuracy of labels (0.973 against 0.972).
        """
        choice("repulsive_pairs", repulsive_pairs, _PAIRS)
        free = isinstance(attractive, str) and attractive == "auto"
        if isinstance(repulsive, str) and repulsive == "auto":
            field = (
                n_components in (2, 3) and isinstance(constraint, Centered) and repulsive_pairs != "sampled"
            )
            repulsive = "cauchy" if field and free else "log"
        repel = None if repulsive is None else as_penalty("repulsive", repulsive)
        cauchy = isinstance(repel, penalties.Cauchy)
        attract = (
            penalties.Log1p(exponent=2.0 if cauchy else 1.3) if free else as_penalty("attractive", attractive)
        )
        return cls(attract, repel, repulsive_pairs == "all" or (repulsive_pairs == "auto" and cauchy))


def list_length(n: int, n_neighbors: int) -> int:
    """How many neighbours of each of n rows the affinities want."""
    most = int(np.clip(PAIRS // n, SHORTEST * n_neighbors, LONGEST * n_neighbors))
    return min(most, n // _SURROUNDING)


def listed_neighbors(data: Any, n_neighbors: int, forces: Forces, run: Run, metric: Metric) -> Graph:
    """The neighbour graph that `neighbor_problem` wants: its lists are longer where all pairs repel by the Cauchy penalty."""
    k = n_neighbors
    if forces.cauchy:
        n = count_items(data)
        given = (
            np.shape(data[0])[-1] if isinstance(data, tuple) else n
        )  # lists that were given cannot be made longer
        k = max(k, min(list_length(n, n_neighbors), given))
    return neighbor_graph(data, k, run, metric=metric)


def shortened(graph: Graph, n_neighbors: int) -> Graph:
    """The graph of the first `n_neighbors` of each list."""
    index, distance = graph.knn_indices, graph.knn_distances
    if index is None or distance is None or index.shape[1] <= n_neighbors:
        return graph
    origin = replace(graph.origin, n_neighbors=n_neighbors)
    return graph_of_lists(index[:, :n_neighbors], distance[:, :n_neighbors], origin)


def neighbor_problem(
    graph: Graph,
    forces: Forces,
    n_neighbors: int,
    fraction: float,
    constraint: Constraint,
    n_components: int,
    run: Run,
    sample_weight: FloatArray | None = None,
) -> Problem:
    """The Problem whose similar pairs are the edges of `graph`, with `fraction` times the usual repulsion.

    Beside the Cauchy penalty, neighbours attract by their distances (`affinities`); in a graph without lists, and beside other
    penalties, by its weights.
    """
    edges: IntArray
    weights: FloatArray
    if forces.cauchy and has_full_lists(graph):
        edges, weights = affinities(graph, n_neighbors, run)
    else:
        edges, weights = _pairs_of(graph, CAUCHY_MUTUAL if forces.cauchy else 1)
    background: Distortion | None = None
    if forces.repulsive is not None:
        count = 0 if forces.cauchy else _dissimilar_count(graph, fraction)
        if forces.cauchy:
            attraction = 2 * float(_with_ends(weights, edges, sample_weight).sum()) / graph.n
            background = cauchy_repulsion(forces.repulsive, fraction, attraction, graph.n)
        elif forces.all_pairs:
            background = scaled(forces.repulsive, -count / (graph.n * (graph.n - 1) / 2))
        else:
            dissimilar = random_pairs(graph.n, count, run, avoid=edges)
            edges = np.concatenate([edges, dissimilar])
            weights = np.concatenate([weights, np.full(count, -1.0)])
    pulls = penalties.PushAndPull(
        _with_ends(weights, edges, sample_weight), forces.attractive, forces.repulsive or penalties.Log()
    )
    return Problem(
        edges,
        pulls,
        n_items=graph.n,
        n_components=n_components,
        constraint=constraint,
        background=background,
        n_jobs=run.n_jobs,
    )


def mid_near_problem(
    pairs: NDArray[np.int32],
    piece: NDArray[np.integer[Any]],
    forces: Forces,
    n_components: int,
    run: Run,
    sample_weight: FloatArray | None = None,
) -> Problem | None:
    """The attraction of mid-near pairs by the penalty of neighbours, as much as theirs if all pairs were taken; None if none is.

    Taken are pairs between two pieces of the neighbour graph (`piece` of each row), of whose arrangement neighbours know nothing.
    Within a piece the pairs would hold apart the halves of a group that start in two places.
    """
    between = pairs[piece[pairs[:, 0]] != piece[pairs[:, 1]]]
    if not len(between):
        return None
    weights = _with_ends(np.full(len(between), len(between) / len(pairs)), between, sample_weight)
    attraction = penalties.PushAndPull(weights, forces.attractive, penalties.Log())
    return Problem(between, attraction, n_items=len(piece), n_components=n_components, n_jobs=run.n_jobs)


def has_full_lists(graph: Graph) -> bool:
    """Whether the graph lists as many neighbours, with their distances, for every row."""
    return (
        graph.knn_indices is not None
        and graph.knn_distances is not None
        and graph.knn_indices.shape[1] > 0
        and bool(np.isfinite(graph.knn_distances[:, -1]).all())
    )


def affinities(graph: Graph, n_neighbors: int, run: Run) -> tuple[NDArray[np.int32], FloatArray]:
    """Pairs i < j of rows of which one lists the other, and what each of the two gives to the other, summed; one on average.

    All rows give as much in all (`given`).
    """
    index, distance = graph.knn_indices, graph.knn_distances
    assert index is not None
    assert distance is not None
    lists, gifts = np.ascontiguousarray(index), given(distance, n_neighbors, run)
    pairs, _, sums = _core.sum_directions(lists, gifts, run.n_jobs)
    del gifts, _
    weights = np.asarray(sums, dtype=np.float64)
    weights /= weights.mean()
    pairs.flags.writeable = weights.flags.writeable = False
    return pairs, weights


def given(distance: FloatArray, n_neighbors: int, run: Run) -> FloatArray:
    """What each row gives to those that it lists, nearest first, by their distances: one in all, each row by itself.

    It is a weighted mean of equal gifts to the `n_neighbors` nearest and of two Gaussians of the distances, whose perplexities (Hinton and
    Roweis 2002) are `NEAR` and `WIDE` times `n_neighbors`; a list shorter than that is weighed evenly.
    """
    lengths = np.ascontiguousarray(distance)
    gifts = np.asarray(_core.calibrate_perplexity(lengths, max(1.0, NEAR * n_neighbors), run.n_jobs))
    wide = _core.calibrate_perplexity(lengths, WIDE * n_neighbors, run.n_jobs)
    gifts *= gifts.dtype.type(NEAR_SHARE)
    wide *= gifts.dtype.type(1 - EVEN - NEAR_SHARE)
    gifts += wide
    nearest = gifts[:, :n_neighbors]
    nearest += gifts.dtype.type(EVEN / nearest.shape[1])
    return gifts


def _pairs_of(graph: Graph, mutual: int) -> tuple[IntArray, FloatArray]:
    """The edges of a graph, and its weights; those of a neighbour graph to the power `mutual`."""
    if graph.n_edges == 0:
        raise InvalidInputError("the graph has no edges, so there are no neighbours to preserve.")
    weights = graph.weights.astype(np.float64)
    _check_pair_weights(weights)
    return graph.edges, weights if graph.knn_indices is None else weights**mutual


def _check_pair_weights(weights: FloatArray) -> None:
    """Raise where no pair attracts, or where one does so much that single precision would know no other."""
    positive_weights = weights[weights > 0]
    if not len(positive_weights):
        raise InvalidInputError(
            "No weight of the graph is above zero, so nothing attracts; give similar pairs positive weights."
        )
    largest, usual = float(np.abs(weights).max()), float(np.median(positive_weights))
    if largest > WIDEST * usual or largest > HEAVIEST:
        raise InvalidInputError(
            f"The largest weight of the graph is {largest:.3g}, and the median {usual:.3g}: compared with it, other pairs would not count. "
            f"Clip or rescale the weights to at most {min(WIDEST * usual, HEAVIEST):.3g}."
        )


def cauchy_repulsion(penalty: Distortion, fraction: float, attraction: float, n: int) -> Distortion:
    """The repulsion between all n rows, of which each is attracted by `attraction` in all."""
    return scaled(penalty, -fraction * attraction / cauchy_normalizer(n))


def cauchy_normalizer(n: int) -> float:
    """The attraction of a row over its repulsion by each other row, in a map of n rows."""
    return min(CAUCHY_NORMALIZER * max(1.0, n / CAUCHY_ROWS) ** CAUCHY_GROWTH, n / CAUCHY_LEAST)


def repulsion_of_a_row(problem: Problem, graph: Graph) -> float:
    """Total repulsive weight that a row of `neighbor_problem(graph)` meets on average, where each neighbour attracts by 1."""
    shared = 0.0 if problem.background is None else -float(problem.background.weights) * (graph.n - 1)  # type: ignore[attr-defined]
    weights = np.asarray(problem.distortion.weights)  # type: ignore[attr-defined]
    repulsion = shared - 2 * float(np.sum(weights[weights < 0])) / graph.n
    attractive = weights > 0
    drawn = weights if attractive.all() else weights[attractive]  # not copied if it is all of them
    attraction = 2 * float(np.sum(drawn)) / graph.n
    n_neighbors = 1 if graph.knn_indices is None else graph.knn_indices.shape[1]
    return repulsion * n_neighbors / attraction


def check_weights(sample_weight: ArrayLike, n: int, *, zero: bool = False) -> FloatArray:
    """One weight a row, positive, or at least zero where `zero` is allowed."""
    return array("sample_weight", sample_weight, (n,), low=0.0, low_open=not zero)


def _with_ends(weights: FloatArray, edges: IntArray, sample_weight: FloatArray | None) -> FloatArray:
    """Weights of pairs times the root of the sample weights of both their ends."""
    if sample_weight is None:
        return weights
    root = np.sqrt(sample_weight)
    return weights * root[edges[:, 0]] * root[edges[:, 1]]


def _dissimilar_count(graph: Graph, fraction: float) -> int:
    free = graph.n * (graph.n - 1) // 2 - graph.n_edges
    if free == 0:
        warnings.warn(
            f"all {graph.n} rows are neighbours of each other, so nothing repels and the map may shrink to a "
            "point. Use fewer neighbours, or constraint 'standardized'.",
            DataWarning,
            stacklevel=4,
        )
    return min(round(fraction * graph.n_edges), free)
