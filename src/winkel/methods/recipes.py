"""Recipes for minimum-distortion embedding (Agrawal et al. 2021): from data or a graph to a Problem, and to a start."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..data import as_matrix
from ..errors import DataWarning, InvalidInputError, InvalidParameterError
from ..graph import Graph, knn, path_distances, shortest_paths, spectral_embedding
from ..graph.metrics import pair_distances
from ..graph.precomputed import as_distances, function_distances
from ..graph.structure import graph_of_groups, neighbor_groups
from ..problem import Centered, Constraint, Problem, Stage, losses, penalties
from ..problem.distortions import Distortion, as_distortion
from ..random import Stream
from ..resources import check_memory, parse_memory, resolve_n_jobs, resolve_seed
from ..solvers import iterate
from ..solvers.lbfgs import LBFGS
from ..typing import FloatArray, IntArray, Metric, RandomState
from .pairs import random_pairs

# What a name means. On MNIST exponent 1.3 keeps more neighbours than the usual 1.5 (recall 0.136 against 0.116) at about
# the same label accuracy (0.973 against 0.972).
ATTRACTIVE: dict[str, Callable[[], Distortion]] = {
    "linear": penalties.Linear,
    "quadratic": penalties.Quadratic,
    "cubic": penalties.Cubic,
    "power": penalties.Power,
    "huber": penalties.Huber,
    "logistic": penalties.Logistic,
    "log1p": partial(penalties.Log1p, exponent=1.3),
}
REPULSIVE: dict[str, Callable[[], Distortion]] = {
    "cauchy": penalties.Cauchy,
    "log": penalties.Log,
    "inv_power": penalties.InvPower,
    "log_ratio": penalties.LogRatio,
}
LOSSES = {
    "absolute": losses.Absolute,
    "quadratic": losses.Quadratic,
    "weighted_quadratic": losses.WeightedQuadratic,
    "cubic": losses.Cubic,
    "power": losses.Power,
    "huber": losses.Huber,
    "logistic": losses.Logistic,
    "fractional": losses.Fractional,
    "soft_fractional": losses.SoftFractional,
}
# A row's Cauchy repulsion by each other row, in terms of its attraction by all its neighbours together. More keeps
# more neighbours (on MNIST 70 000 a recall of 0.387 for 1/50, 0.345 for 1/100), less keeps classes apart.
CAUCHY_SHARE = 1 / 75
# By all others together it is at least so much: few rows are else held together more than apart.
CAUCHY_LEAST = 100.0
# Weights 2 and 1 of a neighbour graph to this power: rows that list each other more often are of one kind. On MNIST 2
# instead of 1 brings recall from 0.365 to 0.378 and label accuracy from 0.973 to 0.976.
CAUCHY_MUTUAL = 2
# To begin with: classes come apart before neighbours do. A map that repels more is wider, by about the root of how much
# more; with these factors 100 iterations end on MNIST below what 160 reached without.
CAUCHY_STAGES = (
    Stage(0.01, 0.125, 1.2),
    Stage(0.04, 0.19, 1.4),
    Stage(0.12, 0.16, 1.7),
    Stage(0.4, 0.125, 2.2),
)
CAUCHY_ITERATIONS, ITERATIONS = 100, 300
# From so many rows on, groups of neighbours go first: with this share of the repulsion, and so many iterations.
GROUPS_FROM, GROUPS_SHARE, GROUPS_ITERATIONS = 1000, 0.001, 100
_GROUP_SPREAD = 0.3  # standard deviation of the rows about their group, in units of the Cauchy penalty
MAX_DISTANCES = 5 * 10**7
_PIVOTS = 100
_PAIR_BYTES = 110.0  # measured peak of listing, packing and solving


def preserve_neighbors(
    data: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    attractive: str | type[Distortion] | Distortion = "log1p",
    repulsive: str | type[Distortion] | Distortion | None = "log",
    repulsive_fraction: float = 1.0,
    repulsive_pairs: str = "auto",
    sample_weight: ArrayLike | None = None,
    constraint: Constraint | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    max_memory: int | float | str | None = None,
    verbose: bool = False,
) -> Problem:
    """The Problem that puts neighbours near each other and other pairs apart.

    `data` is anything that `winkel.graph.knn` takes, or a Graph, whose edges are then the similar pairs with its weights:
    for a neighbour graph 2 where two rows list each other and 1 where one lists the other. Dissimilar pairs, weight −1,
    are drawn uniformly among the pairs that are not similar, `repulsive_fraction` as many as there are similar ones; with
    repulsive=None there are none. With repulsive_pairs="all" no pairs are drawn: the same total repulsion is shared by all
    pairs of rows, summed as a field in two and three dimensions. Weights of a pair are multiplied by the root of its ends' sample weights.

    What "auto" stands for: see `choose_penalties`. The Cauchy penalty over all pairs acts between near rows only, so its
    weight is not shared out: each row repels each other with `CAUCHY_SHARE` of its attraction, times `repulsive_fraction`.
    Beside it rows that list each other weigh 4, not 2 (`CAUCHY_MUTUAL`).
    """
    seed = resolve_seed(random_state)
    graph = (
        data
        if isinstance(data, Graph)
        else knn(
            data,
            n_neighbors,
            metric=metric,
            n_jobs=n_jobs,
            random_state=seed,
            max_memory=max_memory,
            verbose=verbose,
        )
    )
    if graph.n_edges == 0:
        raise InvalidInputError("the graph has no edges, so there are no neighbours to preserve.")
    edges: IntArray = graph.edges
    weights: FloatArray = graph.weights.astype(np.float64)
    attract, repel, all_pairs = choose_penalties(
        attractive, repulsive, repulsive_pairs, n_components, constraint
    )
    background: Distortion | None = None
    if repel is not None:
        count = _repulsive_count(graph, repulsive_fraction)
        if all_pairs and isinstance(repel, penalties.Cauchy):
            if graph.knn_indices is not None:
                weights = weights**CAUCHY_MUTUAL
            share = max(CAUCHY_SHARE, CAUCHY_LEAST / graph.n)
            share *= repulsive_fraction * float(weights.sum()) / graph.n
            background = replace(repel, weights=-float(repel.weights) * share)  # type: ignore[arg-type]
        elif all_pairs:
            background = _shared_by_all(repel, count, graph.n)
        else:
            dissimilar = random_pairs(graph.n, count, seed, avoid=edges, n_jobs=resolve_n_jobs(n_jobs))
            edges = np.concatenate([edges, dissimilar])
            weights = np.concatenate([weights, np.full(count, -1.0)])
    return Problem(
        edges,
        penalties.PushAndPull(
            _weighted(weights, edges, sample_weight, graph.n), attract, repel or penalties.Log()
        ),
        n_items=graph.n,
        n_components=n_components,
        constraint=constraint,
        background=background,
        n_jobs=n_jobs,
    )


def choose_penalties(
    attractive: str | type[Distortion] | Distortion,
    repulsive: str | type[Distortion] | Distortion | None,
    repulsive_pairs: str,
    n_components: int,
    constraint: Constraint | None,
) -> tuple[Distortion, Distortion | None, bool]:
    """The attractive and the repulsive penalty, and whether all pairs repel.

    repulsive="auto" is "cauchy" for a centred map in two dimensions with the attraction "log1p", else "log", and
    repulsive_pairs="auto" is "all" for the Cauchy penalty, else "sampled". "log1p" is Log1p(exponent=2) beside the Cauchy
    penalty, as in t-SNE, and Log1p(exponent=1.3) beside others.
    """
    if repulsive_pairs not in ("auto", "sampled", "all"):
        raise InvalidParameterError(
            f"repulsive_pairs must be 'auto', 'sampled' or 'all'; got {repulsive_pairs!r}."
        )
    if isinstance(repulsive, str) and repulsive == "auto":
        free = constraint is None or isinstance(constraint, Centered)
        smooth = n_components == 2 and free and attractive == "log1p" and repulsive_pairs != "sampled"
        repulsive = "cauchy" if smooth else "log"
    repel = None if repulsive is None else named("repulsive", repulsive, REPULSIVE)
    if isinstance(repel, penalties.Cauchy) and attractive == "log1p":
        attractive = penalties.Log1p(exponent=2.0)
    all_pairs = repulsive_pairs == "all" or (
        repulsive_pairs == "auto" and isinstance(repel, penalties.Cauchy)
    )
    return named("attractive", attractive, ATTRACTIVE), repel, all_pairs


def cauchy_stages(problem: Problem) -> tuple[Stage, ...]:
    """The stages of weak repulsion that lead to `problem`, if its background is the Cauchy penalty."""
    if not isinstance(problem.background, penalties.Cauchy):
        return ()
    free = isinstance(problem.constraint, Centered)  # other constraints know how wide the map is
    return tuple(replace(stage, stretch=stage.stretch if free else 1.0) for stage in CAUCHY_STAGES)


def has_groups(problem: Problem) -> bool:
    """Whether `grouped_start` is worth its while: many rows, all of whose pairs attract, beside the Cauchy penalty."""
    return (
        problem.n_items >= GROUPS_FROM
        and isinstance(problem.background, penalties.Cauchy)
        and float(np.min(problem.distortion.weights)) > 0  # type: ignore[attr-defined]
    )


def _shared_by_all(repel: Distortion, count: int, n: int) -> Distortion:
    """The repulsion of `count` pairs of weight −1, shared evenly by all pairs of n items."""
    if not isinstance(repel, penalties.Penalty):
        raise InvalidParameterError(
            f"repulsive_pairs='all' needs one of {_listed(REPULSIVE)}; got {repel!r}."
        )
    return replace(repel, weights=-float(repel.weights) * count / (n * (n - 1) / 2))  # type: ignore[arg-type]


def repulsion_of_a_row(problem: Problem, graph: Graph) -> float:
    """Total repulsive weight that a row of `preserve_neighbors(graph)` meets in the mean, where each neighbour attracts by 1."""
    shared = 0.0 if problem.background is None else -float(problem.background.weights) * (graph.n - 1)  # type: ignore[attr-defined]
    repulsion = 2 * (problem.n_pairs - graph.n_edges) / graph.n + shared
    attraction = 2 * float(np.sum(problem.distortion.weights[: graph.n_edges])) / graph.n  # type: ignore[attr-defined]
    n_neighbors = 1 if graph.knn_indices is None else graph.knn_indices.shape[1]
    return repulsion * n_neighbors / attraction


def preserve_distances(
    data: Any,
    n_components: int = 2,
    *,
    metric: Metric = "euclidean",
    loss: str | Callable[[FloatArray], Distortion] = "absolute",
    max_distances: int = MAX_DISTANCES,
    constraint: Constraint | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    max_memory: int | float | str | None = None,
) -> Problem:
    """The Problem whose pairs ask for the distances they have in the data.

    `data` is a matrix of rows (distances by `metric`), a symmetric matrix of distances (metric="precomputed"), any sequence
    of items (metric a function of two), or a Graph (lengths of shortest paths; pairs without a path are left out). All pairs
    are used if there are at most `max_distances` of them, else that many drawn at random. `loss` is a name or anything that
    makes a distortion from the vector of original distances.
    """
    make = loss_maker(loss)
    seed, jobs, limit = resolve_seed(random_state), resolve_n_jobs(n_jobs), parse_memory(max_memory)
    if (
        isinstance(max_distances, bool)
        or not isinstance(max_distances, int | np.integer)
        or max_distances < 1
    ):
        raise InvalidParameterError(f"max_distances must be a positive integer; got {max_distances!r}.")
    if isinstance(data, Graph):
        n = data.n
        edges, far = path_distances(
            data, max_pairs=int(max_distances), random_state=seed, n_jobs=n_jobs, max_memory=max_memory
        )
    else:
        data = _comparable(data, metric, limit)
        n = len(data)
        count = min(n * (n - 1) // 2, int(max_distances))
        check_memory(
            _PAIR_BYTES * count, limit, f"A problem of {count} distances", "Give a smaller max_distances."
        )
        edges = random_pairs(n, count, seed, n_jobs=jobs)
        given = callable(metric) or metric == "precomputed"
        far = data[edges[:, 0], edges[:, 1]] if given else pair_distances(data, edges, str(metric), jobs)
    return Problem(
        edges, make(far), n_items=n, n_components=n_components, constraint=constraint, n_jobs=n_jobs
    )


def spectral_start(graph: Graph, n_components: int, seed: int, n_jobs: int | None) -> FloatArray:
    """A start from the graph: its spectral embedding with unit variance in each coordinate.

    This is the quadratic problem's solution, near enough to start from.
    """
    Y = spectral_embedding(graph, n_components, tol=1e-2, random_state=seed, n_jobs=n_jobs)
    spread = Y.std(axis=0)
    return np.asarray((Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1))


def grouped_start(problem: Problem, graph: Graph, seed: int, n_jobs: int | None) -> FloatArray:
    """A start for `preserve_neighbors(graph)` with the Cauchy penalty: groups of neighbours, mapped as rows will be.

    A group attracts others as its rows do together, and repels them as so many rows; its rows begin around its place.
    """
    pulls = problem.distortion
    assert isinstance(pulls, penalties.PushAndPull)
    groups = neighbor_groups(graph, seed)
    coarse = graph_of_groups(graph, groups, pulls.weights)
    spread = Stream.named(seed, "around").normal((graph.n, problem.n_components))
    if coarse.n_edges == 0:  # every component is a group
        return spread
    of_groups = Problem(
        coarse.edges,
        penalties.PushAndPull(coarse.weights, pulls.attractive, pulls.repulsive),
        n_items=coarse.n,
        n_components=problem.n_components,
        background=problem.background,
        charges=np.bincount(groups),
        n_jobs=n_jobs,
    ).with_background(GROUPS_SHARE)
    start = spectral_start(coarse, problem.n_components, seed, n_jobs).astype(np.float32)
    found = iterate(LBFGS(expects_convergence=False), of_groups, start, max_iter=GROUPS_ITERATIONS)
    if found.status.word == "interrupted":
        raise KeyboardInterrupt
    return np.asarray(found.state.Y[groups] + _GROUP_SPREAD * spread)


def principal_start(X: FloatArray, n_components: int) -> FloatArray:
    """A start from the rows: their coordinates along the directions of largest variance."""
    centred = (X - X.mean(axis=0)).astype(np.float64)
    n, m = centred.shape
    with threadpool_limits(1, user_api="blas"):  # the same bytes for any number of threads
        # The smaller of the two products has the same eigenvalues.
        values, vectors = np.linalg.eigh(centred @ centred.T if n < m else centred.T @ centred)
        top = vectors[:, ::-1][:, :n_components]
        Y = top * np.sqrt(np.maximum(values[::-1][:n_components], 0)) if n < m else centred @ top
    return np.pad(Y, ((0, 0), (0, n_components - Y.shape[1]))).astype(X.dtype)


def pivot_start(graph: Graph, n_components: int, seed: int, n_jobs: int | None) -> FloatArray:
    """A start from path lengths: classical scaling of all nodes against some (pivot MDS of Brandes and Pich 2006)."""
    pivots = np.sort(Stream.named(seed, "pivots").permutation(graph.n)[:_PIVOTS])
    far = shortest_paths(graph, pivots, n_jobs=n_jobs).T.astype(np.float64)
    reached = np.isfinite(far)
    far[~reached] = 1.5 * far[reached].max()  # other components stand beside, not infinitely far
    square = far * far
    C = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean())
    with threadpool_limits(1, user_api="blas"):
        _, directions = np.linalg.eigh(C.T @ C)
        Y = C @ directions[:, ::-1][:, :n_components]
    return np.pad(Y / np.linalg.norm(far), ((0, 0), (0, n_components - Y.shape[1])))


def fit_scale(problem: Problem, Y: FloatArray, deviations: ArrayLike) -> FloatArray:
    """Y stretched so that its distances are as near as can be to `deviations`, in squares."""
    d = problem.distances(Y).astype(np.float64)
    # Sums, not inner products, whose last bits depend on the number of threads.
    square, cross = float(np.sum(d * d)), float(np.sum(d * np.asarray(deviations, dtype=np.float64)))
    return Y * (cross / square if square > 0 else 1.0)


def named(side: str, given: object, known: Mapping[str, Callable[[], Distortion]]) -> Distortion:
    """The penalty that `given` names, makes or is."""
    if isinstance(given, str):
        if given not in known:
            raise InvalidParameterError(
                f"{side} must be one of {_listed(known)} or a penalty; got {given!r}."
            )
        return known[given]()
    return as_distortion(given() if isinstance(given, type) else given)


def loss_maker(loss: str | Callable[[FloatArray], Distortion]) -> Callable[[FloatArray], Distortion]:
    """What makes the loss that `loss` names, or `loss` itself."""
    make = LOSSES.get(loss) if isinstance(loss, str) else loss
    if not callable(make):
        raise InvalidParameterError(
            f"loss must be one of {_listed(LOSSES)} or make a distortion; got {loss!r}."
        )
    return make


def _listed(known: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name in known)


def _comparable(data: Any, metric: Metric, limit: int | None) -> FloatArray:
    """Validated rows, or the matrix of distances that was given or that a function makes."""
    if callable(metric):
        return function_distances(data, metric, limit, lambda steps, what: steps)
    if metric != "precomputed":
        return as_matrix(data, allow_sparse=False)
    D = as_distances(data)
    if not np.allclose(D, D.T, rtol=1e-4, atol=1e-6 * float(D.max())):
        raise InvalidInputError(
            "the matrix of distances must be symmetric, and it is not. Use (D + D.T) / 2 if that is what is meant."
        )
    return D


def _repulsive_count(graph: Graph, fraction: float) -> int:
    if not isinstance(fraction, int | float | np.number) or not 0 < fraction < np.inf:
        raise InvalidParameterError(f"repulsive_fraction must be a positive number; got {fraction!r}.")
    free = graph.n * (graph.n - 1) // 2 - graph.n_edges
    if free == 0:
        warnings.warn(
            f"all {graph.n} rows are neighbours of each other, so nothing is pushed apart and the map may shrink to a "
            "point. Use fewer neighbours, or constraint 'standardized'.",
            DataWarning,
            stacklevel=3,
        )
    return min(round(fraction * graph.n_edges), free)


def _weighted(weights: FloatArray, edges: IntArray, sample_weight: ArrayLike | None, n: int) -> FloatArray:
    if sample_weight is None:
        return weights
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all() or (given <= 0).any():
        raise InvalidParameterError(
            f"sample_weight must hold one positive, finite number a row, {n} of them; got shape {given.shape}"
            f"{', smallest weight ' + format(given.min(), 'g') if given.size else ''}. Leave rows of zero weight out."
        )
    root = np.sqrt(given)
    return weights * root[edges[:, 0]] * root[edges[:, 1]]
