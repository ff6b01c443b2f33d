"""The plan of one map: what attracts, what repels, where it starts, by which stages and for how many iterations.

    Source (rows or distances, graph, weights) + Settings ──> make_plan ──> Plan ──> problem.solve

Everything that depends on the data is decided here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...algebra import log, power
from ...checks import choice, integer, number, optional, positive, refuse
from ...data import Table
from ...errors import InvalidParameterError
from ...graph import Graph, path_matrix
from ...graph.graph import component_roots
from ...graph.knn import count_items, neighbor_graph, search_memory, usable_neighbors
from ...graph.precomputed import distances_by_function
from ...problem import Anchored, Centered, Constraint, Problem, SolverSettings, Stage
from ...problem.constraints import as_constraint
from ...problem.distortions import Distortion
from ...problem.distortions.base import as_loss
from ...run import Run
from ...typing import FloatArray, Metric
from ..starts import (
    mid_near_pairs,
    mid_near_partners,
    pivot_start,
    principal_start,
    rows_compared,
    spectral_start,
    wide_start,
)
from .arrangement import CLARITY, Compared, arranged
from .grouped import GROUPS_FROM, attracts_everywhere, grouped_start
from .lengths import PAIR_BYTES, Asked, distance_problem, flat_problem
from .neighbors import (
    Forces,
    cauchy_normalizer,
    list_length,
    listed_neighbors,
    mid_near_problem,
    neighbor_problem,
    shortened,
)

# Stages of weak repulsion that lead up to the full Cauchy penalty: the share of the repulsion, the share of the iterations, and the
# factor by which the map is stretched afterwards, since more repulsion means a wider map. The first stage has next to no repulsion. It
# is long enough for the halves of a group that principal components show in two places to find each other, which later stages cannot
# mend (benchmarks/results/gathering.md). The last number is the attraction of mid-near pairs relative to that of neighbours.
CAUCHY_STAGES = (
    Stage(0.0002, 0.25, 1.3, 0.3),
    Stage(0.005, 0.12, 1.5, 0.3),
    Stage(0.03, 0.09, 1.7, 0.3),
    Stage(0.2, 0.09, 2.0),
)
# The stage after which islands of the map are moved to where the distances of the data want them (arrangement.py): the whole repulsion,
# so that rows have settled before, and a few iterations are left for the seams.
ARRANGED = Stage(1.0, 0.32, 1.0)
# L-BFGS iterations after which a map has visually settled: without stages; with stages, up to _FEW_ROWS rows; and the least number.
# From _FEW_ROWS on they fall with the root of the number of rows.
ITERATIONS, _STAGED_ITERATIONS, _LEAST_ITERATIONS, _FEW_ROWS = 300, 350, 150, 20_000
# The ends of the line from shape to neighbours have names. "flat" is not on this line.
NAMED, FLAT = {"shape": 0.0, "neighbors": 1.0}, "flat"
# The share of the repulsion at "shape"; between the ends, its logarithm is interpolated linearly. At "shape" the repulsion of a row by all
# others together is at least SHAPE_LEAST times its attraction; otherwise few rows would fall into one point.
SHAPE_SHARE, SHAPE_LEAST = 0.0025, 2.0
# The first stage of a "shape" map has this many times the repulsion: a surface has no halves that must find each other, and would only
# lose its arrangement.
_SHAPE_FIRST = 5.0
# In the first stage the repulsion of a row by all others together is at least this part of its attraction, for the same reason.
_FIRST_LEAST = 0.1
# "auto" is "shape" for data of at most this dimension (a line or a surface) of which at least this part is connected: a map in the plane
# can show such data whole, and more repulsion would only tear them.
SURFACE, WHOLE = 2.5, 0.9
# It is "flat" if all rows are connected, too, and the lengths of paths from _WITNESSES rows have at least this correlation with distances
# in the plane.
FLATNESS, _WITNESSES = 0.98, 20
FOCUS_SETTINGS = ("focus", "focus_reason")

_PRESERVES = ("neighbors", "distances")
_STARTS = ("auto", "pca", "spectral", "random")
_SOLVERS = ("auto", "lbfgs", "stochastic")


@dataclass(frozen=True)
class Focus:
    """Whether a map keeps the shape of the whole (0) or the neighbours of each row (1), or lies flat, and a sentence that says why.

    The places on this line are shares of the repulsion. Much of it spreads rows out until each sees its neighbours, as t-SNE does;
    little of it keeps what hangs together in one piece, as UMAP does and, at its end, the quadratic methods (Böhm, Berens and
    Kobak 2022). Beside the line stands "flat", without repulsion: the lengths of paths along a surface are kept, which unrolls it.
    """

    value: float | str
    reason: str

    @property
    def flat(self) -> bool:
        """Whether lengths of paths are kept."""
        return self.value == FLAT

    @property
    def settings(self) -> dict[str, float | str]:
        """What the settings of a result say of it."""
        return dict(zip(FOCUS_SETTINGS, (self.value, self.reason), strict=True))

    def share(self, n: int) -> float:
        """What the repulsion in a map of n rows is multiplied by."""
        if isinstance(self.value, str):
            return 0.0
        at_shape = max(SHAPE_SHARE, SHAPE_LEAST * cauchy_normalizer(n) / n)
        return float(power(at_shape, 1 - self.value))


def check_focus(focus: object) -> str | float:
    """ "auto", "flat", "shape", "neighbors" or a number in [0, 1]."""
    if isinstance(focus, str):
        return choice("focus", focus, ("auto", FLAT, *NAMED), also="a number from 0 (shape) to 1 (neighbors)")
    return number("focus", focus, 0.0, 1.0)


@dataclass(frozen=True)
class Settings:
    """What was asked for. None and "auto" are left to the plan, which knows the data."""

    n_components: int
    preserve: str
    n_neighbors: int
    metric: Metric
    forces: Forces
    repulsive_fraction: float
    focus: str | float
    loss: Callable[[FloatArray], Distortion]
    max_distances: int
    constraint: Constraint
    init: str | FloatArray
    solver: str
    max_iter: int | None
    tol: float
    memory_size: int

    @classmethod
    def of(cls, wishes: Any) -> Settings:
        """The parameters of an estimator, checked."""
        n_components = integer("n_components", wishes.n_components, 1)
        constraint = _constraint(wishes.constraint, wishes.anchors)
        max_iter = optional(integer, "max_iter", wishes.max_iter, 0)
        choice("solver", wishes.solver, _SOLVERS)
        SolverSettings(tol=wishes.tol, memory_size=wishes.memory_size)
        if isinstance(wishes.init, str):
            choice("init", wishes.init, _STARTS, also="an array of positions")
        return cls(
            n_components=n_components,
            preserve=choice("preserve", wishes.preserve, _PRESERVES),
            n_neighbors=integer("n_neighbors", wishes.n_neighbors, 1),
            metric=wishes.metric,
            forces=Forces.of(
                wishes.attractive,
                wishes.repulsive,
                _repulsive_pairs(wishes.repulsive_pairs, wishes.solver),
                n_components,
                constraint,
            ),
            repulsive_fraction=positive("repulsive_fraction", wishes.repulsive_fraction),
            focus=check_focus(wishes.focus),
            loss=as_loss(wishes.loss),
            max_distances=integer("max_distances", wishes.max_distances, 1),
            constraint=constraint,
            init=wishes.init if isinstance(wishes.init, str) else np.asarray(wishes.init),
            solver=wishes.solver,
            max_iter=max_iter,
            tol=float(wishes.tol),
            memory_size=int(wishes.memory_size),
        )

    def solving(self, usual_iterations: int) -> SolverSettings:
        """What the solver is told, with `usual_iterations` where none were asked for."""
        return SolverSettings(
            solver=self.solver,
            max_iter=usual_iterations if self.max_iter is None else self.max_iter,
            tol=self.tol,
            memory_size=self.memory_size,
            expects_convergence=False,
        )


def _constraint(constraint: object, anchors: object) -> Constraint:
    """The constraint that a name or an object stands for, or that of `anchors`, (indices, positions)."""
    if anchors is None:
        return as_constraint(constraint)
    if not (isinstance(constraint, str) and constraint == "centered"):
        refuse("constraint", "'centered' with anchors, which fix the map's place and scale", constraint)
    if not isinstance(anchors, tuple | list) or len(anchors) != 2:
        refuse("anchors", "None or (indices, positions)", anchors)
    return Anchored(*anchors)


def _repulsive_pairs(asked: str, solver: str) -> str:
    """What was asked for; batches of pairs know no sum over all pairs, so "auto" is a sample with them."""
    auto = isinstance(asked, str) and asked == "auto"
    return "sampled" if auto and isinstance(solver, str) and solver == "stochastic" else asked


# Bytes of a fit, measured (tests/fire/memory.py). Where all pairs repel, for each entry of the lists and for each mid-near pair, while pairs
# are packed and while the map is solved, and for the grid of a row in the plane and in space (in double and in single precision). Where a sample repels,
# for each pair and each row. For each row beside those, for each coordinate of a row; and whatever the size.
_PACKING, _SOLVING, _GRID = (60.0, 40.0), (40.0, 24.0), {2: (400.0, 0.0), 3: (4000.0, 2000.0)}
_MID_NEAR_PACKING, _MID_NEAR_SOLVING = 16.0, 44.0
_PAIR, _ROW, _START, _COORDINATE, _FIXED = 48.0, 200.0, 1000.0, 8.0, 6e6


def forecast(data: Any, settings: Settings, n_jobs: int) -> float:
    """Bytes that a map of `data` takes at most, beside the data: an upper estimate, where no two rows list each other.

    Whether the data are a surface that can be laid flat shows only in their graph; what that takes is asked for then (lengths.py).
    """
    n = count_items(data)
    coordinates = n * settings.n_components * _COORDINATE * (2 * settings.memory_size + 12)
    if settings.preserve == "distances":
        return _FIXED + coordinates + PAIR_BYTES * min(n * (n - 1) // 2, settings.max_distances)
    k = min(settings.n_neighbors, n - 1)
    if settings.forces.cauchy:
        k = max(k, list_length(n, k))
        sparse = isinstance(data, Table) and issparse(
            data.values
        )  # whose rows seldom list each other: more pairs
        single = getattr(data, "dtype", None) == np.float32
        entries, mid_near = n * k * (1.2 if sparse else 1.0), n * mid_near_partners(n)
        packing = _PACKING[single] * entries + _MID_NEAR_PACKING * mid_near
        solving = _SOLVING[single] * entries + _MID_NEAR_SOLVING * mid_near + coordinates
        if settings.n_components in _GRID:
            solving += n * _GRID[settings.n_components][single]
        held = max(packing, solving) + n * _ROW
    else:
        held = n * (_PAIR * k * (1 + settings.repulsive_fraction) + _START) + coordinates
    rows = 40.0 * data.values.nnz if isinstance(data, Table) and issparse(data.values) else 0.0
    return _FIXED + max(search_memory(data, k, settings.metric, n_jobs), held + rows)


@dataclass(frozen=True)
class Source:
    """What is embedded: rows (a Table) or what stands in their place, their graph if one is needed, their weights."""

    data: Any
    graph: Graph | None
    weights: FloatArray | None
    lists: Graph | None = None  # longer lists than those of `graph`, if the problem wants them

    @classmethod
    def of(cls, data: Any, settings: Settings, run: Run, weights: FloatArray | None = None) -> Source:
        """The source of a Table, a Graph, or precomputed distances or items with a function to compare them."""
        if isinstance(data, Graph):
            return cls(data, data, weights)
        metric, preserves_distances = settings.metric, settings.preserve == "distances"
        if preserves_distances:
            if isinstance(data, Table):
                return cls(data, None, weights)
            if callable(metric):
                data = distances_by_function(data, metric, run.quiet())
            metric = "precomputed"
        k = usable_neighbors(settings.n_neighbors, count_items(data))
        if preserves_distances:
            return cls(data, neighbor_graph(data, k, run, metric=metric), weights)
        lists = listed_neighbors(data, k, settings.forces, run, metric)
        return cls(data, shortened(lists, k), weights, lists)

    def without_lists(self) -> Source:
        """The source once its problem is made: the longer lists take memory, and nothing else wants them."""
        return replace(self, lists=None)

    @property
    def precision(self) -> type[np.floating[Any]]:
        """That of the map: double where the data are."""
        return np.float64 if getattr(self.data, "dtype", None) == np.float64 else np.float32


@dataclass(frozen=True)
class Plan:
    """How a map is made.

    `problem` holds what attracts and what repels, `start` the positions to begin with, `stages` the problems of weaker
    repulsion on the way, and `solving` the solver and its iterations. Distances are preserved times `scale`.
    """

    problem: Problem
    start: FloatArray
    stages: tuple[Stage, ...]
    solving: SolverSettings
    scale: float = 1.0


def make_plan(source: Source, settings: Settings, run: Run) -> Plan:
    """The plan that suits the data and what was asked for."""
    asked = make_problem(source, settings, settings.constraint, run)
    problem, distances, scale = asked.problem, asked.distances, asked.scale
    if not isinstance(settings.init, str):  # the user knows where to begin, so there is nothing to lead up to
        return Plan(problem, settings.init, (), settings.solving(ITERATIONS), scale)
    stages: tuple[Stage, ...] = ()
    if distances is None and settings.forces.cauchy:
        focus = focus_of(source, settings, run)
        stages = stages_for(
            focus, problem.n_items, _stages(problem), lambda: _mid_near(problem, source, settings, run)
        ) + last_stage(problem, source, settings, focus, run)
    start = _start(problem, source, settings, run)
    if distances is not None:
        start = fit_scale(problem, start, distances)
    start = np.asarray(start, dtype=source.precision)
    iterations = staged_iterations(len(start)) if stages else ITERATIONS
    return Plan(problem, start, stages, settings.solving(iterations), scale)


def make_problem(
    source: Source, settings: Settings, constraint: Constraint, run: Run, scale: float | None = None
) -> Asked:
    """What is asked of the map under a constraint, by distances that are times `scale` of the data's (see `distance_problem`)."""
    data, graph, m = source.data, source.graph, settings.n_components
    if settings.preserve == "neighbors":
        assert graph is not None
        focus = focus_of(source, settings, run)
        if focus.flat:
            return flat_problem(graph, constraint, m, run, source.weights, scale)
        forces, fraction = settings.forces, settings.repulsive_fraction * focus.share(graph.n)
        lists, k = source.lists or graph, settings.n_neighbors
        return Asked(neighbor_problem(lists, forces, k, fraction, constraint, m, run, source.weights))
    # Neighbour lists and sparse matrices hold some distances only; the others are paths between them.
    partial = graph is not None and (isinstance(data, tuple) or issparse(data))
    return distance_problem(
        graph if partial else data,
        settings.metric if graph is None else "precomputed",
        settings.loss,
        settings.max_distances,
        constraint,
        m,
        run,
        source.weights,
        scale,
    )


def focus_of(source: Source, settings: Settings, run: Run, *, may_lie_flat: bool = True) -> Focus:
    """Where between shape and neighbours the map is to be; other forces than the default have no such place."""
    lengths = source.graph is not None and source.graph.has_distances
    centred = isinstance(settings.constraint, Centered | Anchored)
    if settings.focus == FLAT and not (lengths and centred):
        raise InvalidParameterError(
            'focus="flat" keeps lengths of paths, so it needs a centred map of rows, or of a graph with distances.'
        )
    if settings.preserve != "neighbors" or not settings.forces.cauchy or source.graph is None:
        if settings.focus != "auto":
            raise InvalidParameterError(
                f"focus={settings.focus!r} is for neighbours that all pairs repel by the Cauchy penalty, the default. "
                "Use repulsive_fraction with other penalties."
            )
        return Focus(1.0, "focus is only for the default forces.")
    return choose_focus(settings.focus, source.graph, run, may_lie_flat=may_lie_flat and centred)


def choose_focus(focus: str | float, graph: Graph, run: Run, *, may_lie_flat: bool = True) -> Focus:
    """The place that was asked for; "auto" looks at the neighbour graph, and takes "flat" only where it may."""
    if not isinstance(focus, str):
        return Focus(focus, f"focus {focus:g} was asked for.")
    if focus != "auto":
        return Focus(NAMED.get(focus, focus), f'focus "{focus}" was asked for.')
    dimension = intrinsic_dimension(graph)
    if dimension is None:
        return Focus(
            1.0, 'focus "neighbors": the graph has no distances that would tell the dimension of the data.'
        )
    if dimension > SURFACE:
        return Focus(
            1.0,
            f'focus "neighbors": the data have about {dimension:.1f} dimensions, more than a map can show whole.',
        )
    _, component = graph.components()
    whole = float(np.mean(component == 0))
    if whole < WHOLE:
        return Focus(
            1.0,
            f'focus "neighbors": the data have about {dimension:.1f} dimensions but are in pieces, the largest with '
            f"{whole:.0%} of the rows.",
        )
    if may_lie_flat and whole == 1 and flatness(graph, run) > FLATNESS:
        return Focus(
            FLAT,
            f'focus "flat": the data are a surface of about {dimension:.1f} dimensions that lies flat in the plane when the '
            "lengths of paths along it are kept.",
        )
    return Focus(
        0.0,
        f'focus "shape": the data are connected and have about {dimension:.1f} dimensions, which a map can show whole.',
    )


def flatness(graph: Graph, run: Run) -> float:
    """The correlation of path lengths with distances in the plane when those lengths are scaled to it; 1 for a sheet of paper, however bent."""
    Y = pivot_start(graph, 2, run)
    rows = np.sort(run.stream("witnesses").permutation(graph.n)[:_WITNESSES])
    lengths = path_matrix(graph, run, rows).astype(np.float64).ravel()
    offsets = Y[rows][:, None] - Y[None]
    distances = np.sqrt((offsets * offsets).sum(axis=2)).ravel()
    a, b = lengths - lengths.mean(), distances - distances.mean()
    spread = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / spread if spread > 0 else 0.0


def intrinsic_dimension(graph: Graph) -> float | None:
    """The dimension of the data by the maximum likelihood estimate of Levina and Bickel (2005) over neighbour lists; None without.

    The estimates of the rows are averaged by their inverses, as MacKay and Ghahramani advise.
    """
    distance = graph.knn_distances
    if distance is None or distance.shape[1] < 3:
        return None
    usable = np.isfinite(distance).all(axis=1) & (distance[:, 0] > 0)
    if not usable.any():
        return None
    logs = log(distance[usable].astype(np.float64))
    inverse = float(np.mean(logs[:, -1:] - logs[:, :-1])) * (distance.shape[1] - 1) / (distance.shape[1] - 2)
    return 1 / inverse if inverse > 0 else None


def _stages(problem: Problem) -> tuple[Stage, ...]:
    if isinstance(problem.constraint, Centered):
        return CAUCHY_STAGES
    # Other constraints know how wide the map is.
    return tuple(replace(stage, stretch=1.0) for stage in CAUCHY_STAGES)


def staged_iterations(n: int) -> int:
    """Iterations of a map of n rows that is led up to by stages."""
    return max(_LEAST_ITERATIONS, round(_STAGED_ITERATIONS * min(1.0, _FEW_ROWS / n) ** 0.5))


def stages_for(
    focus: Focus, n: int, stages: tuple[Stage, ...], mid_near: Callable[[], Problem | None]
) -> tuple[Stage, ...]:
    """The stages that suit a focus and n rows, at which mid-near pairs attract if there are any.

    The more a map is to keep the shape, the less these do: along a bent shape, distances in space say little.
    """
    place = float(focus.value)
    share = stages[0].share * float(power(_SHAPE_FIRST, 1 - place))
    stages = (replace(stages[0], share=max(share, _FIRST_LEAST * cauchy_normalizer(n) / n)), *stages[1:])
    pairs = mid_near() if place > 0 else None
    if pairs is None:
        return stages
    return tuple(
        replace(stage, weight=place * stage.weight, beside=pairs if stage.weight > 0 else None)
        for stage in stages
    )


def arranging(focus: Focus, arrange: Callable[[FloatArray, float], FloatArray]) -> tuple[Stage, ...]:
    """The stage after which islands are moved: fewer and clearer ones, the more a map is to keep the shape, and none at "shape"."""
    place = float(focus.value)
    if place == 0:
        return ()
    return (replace(ARRANGED, rearranged=lambda Y: arrange(Y, CLARITY / place)),)


def _compared(source: Source, settings: Settings, run: Run) -> Compared | None:
    """Distances of any rows; None where those of most pairs are not known."""
    data = source.data
    if isinstance(data, np.ndarray):
        return lambda i, J: data[i[:, None], J]
    if not isinstance(data, Table) or callable(settings.metric):
        return None
    return rows_compared(data.values, settings.metric, run)


def last_stage(
    problem: Problem, source: Source, settings: Settings, focus: Focus, run: Run
) -> tuple[Stage, ...]:
    """`arranging`, where islands may be moved and the distances between them are known."""
    compared = _compared(source, settings, run)
    if compared is None or not isinstance(problem.constraint, Centered):
        return ()
    return arranging(focus, lambda Y, clarity: arranged(Y, compared, run, clarity))


def _mid_near(problem: Problem, source: Source, settings: Settings, run: Run) -> Problem | None:
    """The attraction of mid-near pairs; None where the graph is connected, or the distances of most pairs are not known."""
    assert source.graph is not None
    compared = _compared(source, settings, run)
    piece = component_roots(source.graph)  # that each row is in, by its first row
    if compared is None or not (piece > 0).any():
        return None
    pairs = mid_near_pairs(problem.n_items, compared, run)
    return mid_near_problem(pairs, piece, settings.forces, settings.n_components, run, source.weights)


def _start(problem: Problem, source: Source, settings: Settings, run: Run) -> FloatArray:
    graph, m, init = source.graph, settings.n_components, settings.init
    if init == "random":
        return problem.constraint.initialize(*problem.shape, run.seed)
    flat = settings.preserve == "neighbors" and focus_of(source, settings, run).flat
    if flat and init == "auto":
        assert graph is not None
        return pivot_start(graph, m, run)
    cauchy = settings.preserve == "neighbors" and settings.forces.cauchy
    rows = source.data.values if isinstance(source.data, Table) else None
    if init == "pca" and rows is None:
        raise InvalidParameterError('init="pca" needs rows of numbers; got none. Use "spectral" or an array.')
    if rows is not None and (graph is None or init == "pca" or (init == "auto" and cauchy)):
        return principal_start(rows, m) if graph is None else wide_start(rows, m, settings.metric, run)
    assert graph is not None
    if settings.preserve == "distances":
        return pivot_start(graph, m, run)
    if cauchy and graph.n >= GROUPS_FROM and attracts_everywhere(problem):
        return grouped_start(problem, graph, run)
    return spectral_start(graph, m, run)


def fit_scale(problem: Problem, Y: FloatArray, distances: FloatArray) -> FloatArray:
    """Y stretched so that the distances of pairs are as near as can be to `distances`, in squares."""
    d = problem.distances(Y).astype(np.float64)
    # Sums, not inner products, whose last bits depend on the number of threads.
    square, cross = float(np.sum(d * d)), float(np.sum(d * distances.astype(np.float64)))
    return Y * (cross / square if square > 0 else 1.0)
