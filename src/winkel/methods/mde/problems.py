"""Problems of minimum-distortion embedding, from data or a graph: neighbours to be preserved, or distances."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...checks import array, choice, integer, positive, refuse
from ...data import Table, as_matrix
from ...errors import DataWarning, InvalidInputError, InvalidParameterError
from ...graph import Graph, neighbor_graph, sample_paths
from ...graph.knn import count_items
from ...graph.metrics import pair_distances
from ...graph.precomputed import as_distances, distances_by_function
from ...problem import Anchored, Centered, Constraint, Problem, Standardized, penalties
from ...problem.constraints import as_constraint
from ...problem.distortions import Custom, Distortion, Weighted
from ...problem.distortions.base import as_loss, as_penalty
from ...problem.distortions.losses import Quadratic
from ...run import Run
from ...typing import FloatArray, IntArray, Metric, RandomState
from .affinities import affinities, has_full_lists, list_length, shortened
from .focus import check_focus, choose_focus

# A row's attraction by all its neighbours together, over its Cauchy repulsion by each other row: 5 for up to 4 000 rows, and
# from there on growing with the root of their number. In t-SNE this is the mean over the rows of Σ 1/(1 + d²), which ends at about such numbers; as a
# constant it does not let a map of few rows grow for ever, as t-SNE's does.
CAUCHY_NORMALIZER, CAUCHY_ROWS, CAUCHY_GROWTH = 5.0, 4000, 0.5
# By all others together the repulsion is at least so many times the attraction: few rows are else held together more than apart.
CAUCHY_LEAST = 50.0
# Weights 2 and 1 of a neighbour graph to this power: rows that list each other more often are of one kind. On MNIST 2
# instead of 1 brings recall from 0.365 to 0.378 and label accuracy from 0.973 to 0.976.
CAUCHY_MUTUAL = 2
# Of a surface that lies flat, paths for each row whose lengths are kept beside those of its edges, and the rows they start from.
FLAT_PATHS, FLAT_SOURCES = 20, 256
_LEAST_LENGTH = 1e-3  # of mean edges: shorter ones count as these, whose errors count most
MAX_DISTANCES = 5 * 10**7  # pairs whose distances are preserved at most, which take about 4.5 GB
WIDEST = 1e12  # times the median weight of similar pairs, that a weight may have
HEAVIEST = 1e30  # weight of a pair, with squares of distances still a number in single precision
PAIR_BYTES = 90.0  # measured peak of listing, packing and solving, for each pair


_CONSTRAINTS: dict[str, type[Constraint]] = {"centered": Centered, "standardized": Standardized}
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


def preserve_neighbors(
    data: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    attractive: str | type[Distortion] | Distortion = "auto",
    repulsive: str | type[Distortion] | Distortion | None = "auto",
    repulsive_fraction: float = 1.0,
    repulsive_pairs: str = "auto",
    focus: str | float = "auto",
    sample_weight: ArrayLike | None = None,
    constraint: str | Constraint = "centered",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
    verbose: bool = False,
) -> Problem:
    """The Problem that puts neighbours close to each other and other pairs apart, as `winkel.MDE` poses it.

    Parameters
    ----------
    data : array, data frame, sparse matrix, Graph, or what `winkel.graph.knn` takes
        The rows; or a graph, whose edges are then the similar pairs with its weights. A neighbour graph has weight 2
        where two rows list each other and 1 where one lists the other.
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=15
        Neighbours of each row, which attract it.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`.
    attractive : str, class or penalty, default="auto"
        The penalty of similar pairs: a name, one of `winkel.penalties`, or an object with `value` and `derivative`. "auto" is
        Log1p(exponent=2) beside the Cauchy penalty and Log1p(exponent=1.3) beside others.
    repulsive : str, class, penalty or None, default="auto"
        The penalty of dissimilar pairs. "auto" is "cauchy" for a centred map in two or three dimensions with
        attractive="auto", else "log". None leaves dissimilar pairs out.
    repulsive_fraction : float, default=1.0
        Dissimilar pairs drawn for each similar one; where all pairs repel, how strongly they do.
    repulsive_pairs : {"auto", "sampled", "all"}, default="auto"
        "sampled" draws dissimilar pairs, weight −1, uniformly among the pairs that are not similar. "all" draws none: the
        same total repulsion is shared by all pairs of rows, summed as a field in two and three dimensions. "auto" is "all"
        for the Cauchy penalty, else "sampled". The Cauchy penalty is felt by close rows only, so it is not shared out:
        each row repels each other with a fifth of its attraction (less where there are more than 4 000 rows), and neighbours
        attract by their distances.
    focus : {"auto", "flat", "shape", "neighbors"} or float, default="auto"
        As in `winkel.MDE`: how much of the Cauchy repulsion there is; with "flat" there is none, and lengths of paths are preserved.
    sample_weight : array of shape (n_rows,) or None, default=None
        Positive numbers; the weight of a pair is multiplied by the root of those of its two rows.
    constraint : {"centered", "standardized"} or Constraint, default="centered"
        Which maps are allowed.
    random_state : int, numpy Generator or None, default=None
        The seed of the neighbour search and of dissimilar pairs.
    n_jobs : int or None, default=None
        Number of threads; None uses every core.
    max_memory : int, str or None, default=None
        Most memory to use, in bytes or as text such as "4GB".
    verbose : bool, default=False
        Whether to show the progress of the neighbour search.

    Returns
    -------
    Problem
        Solve it with `problem.solve()`.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> problem = wk.preserve_neighbors(digits.X[:200], n_neighbors=8, random_state=0)
    >>> problem.n_items, problem.background
    (200, Cauchy(weights=..., exponent=1.0))
    >>> problem.solve(max_iter=20, random_state=0).Y.shape
    (200, 2)
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory, verbose=verbose)
    n_components = integer("n_components", n_components, 1)
    allowed = named_constraint(constraint)
    forces = Forces.of(attractive, repulsive, repulsive_pairs, n_components, allowed)
    fraction = positive("repulsive_fraction", repulsive_fraction)
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    graph = data if isinstance(data, Graph) else listed_neighbors(data, n_neighbors, forces, run, metric)
    weights = None if sample_weight is None else check_weights(sample_weight, graph.n)
    place = check_focus(focus)
    if forces.cauchy:
        short = shortened(graph, n_neighbors)
        chosen = choose_focus(place, short, run, may_lie_flat=isinstance(allowed, Centered))
        if chosen.flat:
            return flat_problem(short, allowed, n_components, run, weights).problem
        fraction *= chosen.share
    return neighbor_problem(graph, forces, n_neighbors, fraction, allowed, n_components, run, weights)


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
            background = _scaled(forces.repulsive, -count / (graph.n * (graph.n - 1) / 2))
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
            f"The largest weight of the graph is {largest:.3g}, and the median {usual:.3g}: beside it other pairs would not count. "
            f"Clip or rescale the weights to at most {min(WIDEST * usual, HEAVIEST):.3g}."
        )


def cauchy_repulsion(penalty: Distortion, fraction: float, attraction: float, n: int) -> Distortion:
    """The repulsion between all n rows, of which each is attracted by `attraction` in all."""
    return _scaled(penalty, -fraction * attraction / cauchy_normalizer(n))


def cauchy_normalizer(n: int) -> float:
    """The attraction of a row over its repulsion by each other row, in a map of n rows."""
    return min(CAUCHY_NORMALIZER * max(1.0, n / CAUCHY_ROWS) ** CAUCHY_GROWTH, n / CAUCHY_LEAST)


def repulsion_of_a_row(problem: Problem, graph: Graph) -> float:
    """Total repulsive weight that a row of `neighbor_problem(graph)` meets on average, where each neighbour attracts by 1."""
    shared = 0.0 if problem.background is None else -float(problem.background.weights) * (graph.n - 1)  # type: ignore[attr-defined]
    weights = np.asarray(problem.distortion.weights)  # type: ignore[attr-defined]
    repulsion = shared - 2 * float(np.sum(weights[weights < 0])) / graph.n
    attraction = 2 * float(np.sum(weights[weights > 0])) / graph.n
    n_neighbors = 1 if graph.knn_indices is None else graph.knn_indices.shape[1]
    return repulsion * n_neighbors / attraction


def preserve_distances(
    data: Any,
    n_components: int = 2,
    *,
    metric: Metric = "euclidean",
    loss: str | Callable[[FloatArray], Distortion] = "absolute",
    max_distances: int = MAX_DISTANCES,
    constraint: str | Constraint = "centered",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Problem:
    """The Problem whose pairs ask for the distances they have in the data, as `winkel.MDE(preserve="distances")` poses it.

    A standardized map has its size from the constraint. Distances are then brought to it: multiplied so that their root mean
    square is the map's, √(2nm/(n−1)) for n rows in m dimensions (section 4.2), so the unit of the data does not matter.

    Parameters
    ----------
    data : array, data frame, matrix of distances, sequence of items, or Graph
        Rows, whose distances are by `metric`; with metric="precomputed" a symmetric matrix of distances; with a function
        as metric any items; or a graph, whose distances are lengths of shortest paths (pairs without a path are left out).
    n_components : int, default=2
        Dimension of the map.
    metric : str or callable, default="euclidean"
        A metric of `winkel.graph.knn`, "precomputed", or a symmetric function of two items.
    loss : str or callable, default="absolute"
        A name of `winkel.losses`, or what makes a distortion from the vector of original distances.
    max_distances : int, default=50000000
        All pairs are used if there are no more than these, else so many drawn at random.
    constraint : {"centered", "standardized"} or Constraint, default="centered"
        Which maps are allowed.
    random_state : int, numpy Generator or None, default=None
        The seed of the drawn pairs.
    n_jobs : int or None, default=None
        Number of threads; None uses every core.
    max_memory : int, str or None, default=None
        Most memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Problem
        Solve it with `problem.solve()`.

    Examples
    --------
    >>> import winkel as wk
    >>> corners = [[0, 0], [0, 3], [4, 0], [4, 3]]
    >>> problem = wk.preserve_distances(corners)
    >>> problem.distortion.deviations
    array([3., 4., 5., 5., 4., 3.])
    >>> problem.average_distortion(corners)
    0.0
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory)
    n_components = integer("n_components", n_components, 1)
    make, most = as_loss(loss), integer("max_distances", max_distances, 1)
    allowed = named_constraint(constraint)
    return distance_problem(data, metric, make, most, allowed, n_components, run).problem


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a map; and where distances are to be preserved, these, as they are asked for, times `scale` of the data's."""

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

    They are multiplied by `scale`; None brings them to the natural length under Standardized, and else leaves them.
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
    """Sammon's loss (d − δ)²/δ of lengths δ in mean edges: an error of a long path counts less than the same of a short one."""
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
    """The Problem of pairs and their distortion, each pair weighed by the product of its rows' weights."""
    if sample_weight is not None:
        both = sample_weight[edges].prod(axis=1)
        distortion = _scaled(distortion, both / both.mean())
    return Problem(
        edges, distortion, n_items=n, n_components=n_components, constraint=constraint, n_jobs=run.n_jobs
    )


def _natural_scale(distances: FloatArray, n: int, m: int) -> float:
    """What brings the root mean square of distances to that of a standardized map (section 4.2)."""
    square = float(np.mean(np.square(distances, dtype=np.float64)))
    return Standardized.natural_length(n, m) / math.sqrt(square) if square > 0 else 1.0


def random_pairs(n: int, count: int, run: Run, *, avoid: IntArray | None = None) -> NDArray[np.int32]:
    """`count` different pairs i < j of n items, sorted, uniform among those that `avoid` (sorted pairs i < j) leaves."""
    barred = np.empty(0, dtype=np.int64) if avoid is None else avoid[:, 0].astype(np.int64) * n + avoid[:, 1]
    free = n * (n - 1) // 2 - len(barred)
    if not 0 <= count <= free:
        raise InvalidParameterError(f"{count} pairs were asked for; {n} items leave {free} to choose from.")
    if count <= free // 2:
        return _core.sample_pairs(n, count, run.seed, barred, run.n_jobs)
    # Most pairs are wanted, so they can all be listed: leave some out.
    i, j = np.triu_indices(n, 1)
    every = np.delete(np.arange(len(i)), np.searchsorted(i.astype(np.int64) * n + j, barred))
    if count < free:
        every = every[np.sort(run.stream("random pairs").permutation(free)[:count])]
    return np.stack([i[every], j[every]], axis=1).astype(np.int32)


def check_weights(sample_weight: ArrayLike, n: int, *, zero: bool = False) -> FloatArray:
    """One weight a row, positive, or at least zero where `zero` is allowed."""
    return array("sample_weight", sample_weight, (n,), low=0.0, low_open=not zero)


def _scaled(distortion: Distortion, factor: float | FloatArray) -> Distortion:
    """`distortion` times one factor, or times one for each pair."""
    weighted = distortion if isinstance(distortion, Weighted) else Custom(distortion)
    return weighted.scaled(factor)


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
            f"all {graph.n} rows are neighbours of each other, so nothing is pushed apart and the map may shrink to a "
            "point. Use fewer neighbours, or constraint 'standardized'.",
            DataWarning,
            stacklevel=4,
        )
    return min(round(fraction * graph.n_edges), free)


def _comparable(data: Any, metric: Metric, run: Run) -> FloatArray:
    """Validated rows, or the matrix of distances that was passed or that a function makes."""
    if callable(metric):
        return distances_by_function(data, metric, run.quiet())
    if metric != "precomputed":
        return as_matrix(data, allow_sparse=False)
    return as_distances(data.values if isinstance(data, Table) else data)


def named_constraint(constraint: object, anchors: object = None) -> Constraint:
    """The constraint that a name or an object stands for, or that of `anchors`, (indices, positions)."""
    if anchors is not None:
        if not (isinstance(constraint, str) and constraint == "centered"):
            refuse("constraint", "'centered' beside anchors, which fix the map's place and scale", constraint)
        if not isinstance(anchors, tuple | list) or len(anchors) != 2:
            refuse("anchors", "None or (indices, positions)", anchors)
        return Anchored(*anchors)
    if isinstance(constraint, str):
        return _CONSTRAINTS[choice("constraint", constraint, _CONSTRAINTS, also="a winkel.Constraint")]()
    return as_constraint(constraint)
