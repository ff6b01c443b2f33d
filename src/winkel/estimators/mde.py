"""`MDE`, minimum-distortion embedding as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from ..embedding import Embedding
from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph, knn_query
from ..graph.precomputed import function_distances
from ..methods.placement import Neighbors, landmarks, place_by_distances, place_by_neighbors
from ..methods.recipes import (
    CAUCHY_ITERATIONS,
    ITERATIONS,
    MAX_DISTANCES,
    cauchy_stages,
    choose_penalties,
    fit_scale,
    grouped_start,
    has_groups,
    loss_maker,
    pivot_start,
    preserve_distances,
    preserve_neighbors,
    principal_start,
    repulsion_of_a_row,
    spectral_start,
)
from ..problem import Anchored, Centered, Constraint, Problem, SolverSettings, Stage, Standardized, solve
from ..problem.distortions import Distortion
from ..problem.distortions.losses import Loss
from ..resources import parse_memory, resolve_n_jobs, resolve_seed
from ..run import Run
from ..typing import FloatArray, Metric, RandomState
from .base import GraphEmbedder

_BLOCK = 4096  # new rows placed at a time, which bounds the memory
_CONSTRAINTS = {"centered": Centered, "standardized": Standardized}


class MDE(GraphEmbedder):
    """A map by minimum-distortion embedding (Agrawal, Ali and Boyd 2021).

    Parameters
    ----------
    n_components : dimension of the map.
    preserve : "neighbors" (who is near whom), or "distances" (how far apart all are).
    n_neighbors, metric : the neighbour graph, as in `winkel.graph.knn`; metric="precomputed" takes distances. X may also be
        a `winkel.Graph`, whose edges are then the similar pairs (or the roads, with preserve="distances").
    attractive, repulsive : penalties for similar and dissimilar pairs, by name or as `winkel.penalties`; repulsive=None
        has no dissimilar pairs (then use constraint="standardized"). repulsive="auto" is "cauchy" for a centred map in
        the plane, whose neighbours are kept as by t-SNE, and "log" for any other. "log1p" is Log1p(exponent=2) beside
        "cauchy" and Log1p(exponent=1.3) beside others.
    repulsive_fraction : dissimilar pairs drawn for each similar one; where all pairs repel, how strongly they do.
    repulsive_pairs : "sampled", or "all": no pairs are drawn, all repel, without the noise of sampling; in two and three
        dimensions by a field, in others by the exact sum. "auto" is "all" for "cauchy", else "sampled".
    loss, max_distances : for preserve="distances": a name of `winkel.losses` or what makes one, and the most pairs to use.
    constraint : "centered", "standardized", or a `winkel.Constraint`.
    anchors : (indices, positions): rows that are to stay in given places.
    init : "quadratic" (spectral embedding of the graph, with repulsive="cauchy" and 1 000 rows or more of groups of
        neighbours, which are mapped first; with preserve="distances" classical scaling), "random", or an array of positions.
    solver : "auto", "lbfgs", or "stochastic" (a tenth of the pairs at a time), as in `winkel.Problem.solve`.
    max_iter, tol, memory : iterations at most (None: 160 with repulsive="cauchy", else 300); residual at which to stop;
        steps that L-BFGS remembers.
    keep_frames : how many iterates to keep on the way, in `embedding_.frames`.

    Attributes
    ----------
    embedding_ : the Embedding; also `graph_`, `objective_`, `history_`, `status_`, `n_iter_` read from it.
    problem_ : the Problem that was solved, for its diagnostics; not kept in model files.

    `extend` lets the map grow: new rows are embedded together while the fitted ones keep their places.

    The same `random_state` gives the same bytes for any `n_jobs`. `transform` places each new row by itself, and gives a
    row that equals a fitted one that row's place.
    """

    _rows: Any  # the fitted rows, or None where the map was made from something else
    _repulsion: float  # mean repulsive weight of a row
    _fitted = ("n_features_in_", "feature_names_in_", "_rows", "_repulsion")

    def __init__(
        self,
        n_components: int = 2,
        *,
        preserve: str = "neighbors",
        n_neighbors: int = 15,
        metric: Metric = "euclidean",
        attractive: str | type[Distortion] | Distortion = "log1p",
        repulsive: str | type[Distortion] | Distortion | None = "auto",
        repulsive_fraction: float = 1.0,
        repulsive_pairs: str = "auto",
        loss: str | Callable[[FloatArray], Distortion] = "absolute",
        max_distances: int = MAX_DISTANCES,
        constraint: str | Constraint = "centered",
        anchors: tuple[ArrayLike, ArrayLike] | None = None,
        init: str | ArrayLike = "quadratic",
        solver: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-5,
        memory: int = 10,
        keep_frames: int = 0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.preserve = preserve
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.attractive = attractive
        self.repulsive = repulsive
        self.repulsive_fraction = repulsive_fraction
        self.repulsive_pairs = repulsive_pairs
        self.loss = loss
        self.max_distances = max_distances
        self.constraint = constraint
        self.anchors = anchors
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.keep_frames = keep_frames
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> MDE:
        """Find the map of the rows of X; y is ignored. `sample_weight` makes rows weigh more (preserve="neighbors")."""
        seed = resolve_seed(self.random_state)
        self._check_choices(sample_weight)
        data = self._data(X)
        graph = self._graph(data, seed)
        problem = self._problem(data, graph, self._constraint(), sample_weight, seed)
        stages = cauchy_stages(problem) if isinstance(self.init, str) else ()
        result = self._solve(problem, self._start(data, graph, problem, seed), seed, stages)
        self._rows = data if self._has_rows(X) else None
        self._repulsion = 0.0
        if self.preserve == "neighbors" and graph is not None:
            self._repulsion = repulsion_of_a_row(problem, graph)
        self.problem_ = problem
        self.embedding_ = replace(result, graph=graph)
        self._say_faithfulness(data)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        self._check_rows()
        rows, fitted = self._read_new(X), self._rows
        lists = None if self.graph_ is None else self.graph_.knn_indices
        k = 1 if lists is None or self.preserve == "distances" else lists.shape[1]
        index, distance = knn_query(rows, fitted, k, metric=str(self.metric), n_jobs=self.n_jobs)
        Y = self.embedding_.Y
        placed: FloatArray = Y[index[:, 0]]
        new = np.flatnonzero(distance[:, 0] > 0)  # a row that equals a fitted one has that row's place
        for first in range(0, len(new), _BLOCK):
            some = new[first : first + _BLOCK]
            if self.preserve == "neighbors":
                placed[some] = self._place_near(Neighbors(index[some], distance[some], 1.0))
            else:
                placed[some] = self._place_far(rows[some], fitted)
        return placed

    def extend(self, X: Any) -> FloatArray:
        """Positions of new rows, found together while all fitted rows keep their places; then fitted rows too.

        So a map grows with its data: `transform` compares with all rows, and `embedding_` holds them, the new ones last;
        its objective is over the pairs that have a new row.
        """
        self._check_rows()
        new, seed, n = self._read_new(X), self._seed, self._rows.shape[0]
        Y = np.concatenate([self.embedding_.Y, self.transform(X)])
        rows = _stacked(self._rows, new)
        graph = self._graph(rows, seed)
        problem = self._problem(rows, graph, Anchored(np.arange(n), Y[:n]), None, seed)
        # Pairs of fitted rows no longer change.
        problem = problem.restricted(np.flatnonzero((problem.edges >= n).any(axis=1)))
        result = self._solve(problem, Y, seed)
        self._rows, self.problem_, self.embedding_ = rows, problem, replace(result, graph=graph)
        return np.array(result.Y[n:])

    @property
    def _seed(self) -> int:
        return int(self.embedding_.seed or 0)

    def _solve(
        self,
        problem: Problem,
        start: FloatArray,
        seed: int,
        stages: Sequence[Stage] = (),
    ) -> Embedding:
        usual = CAUCHY_ITERATIONS if stages else ITERATIONS
        settings = SolverSettings(
            solver=self.solver,
            max_iter=usual if self.max_iter is None else self.max_iter,
            tol=self.tol,
            memory_size=self.memory,
            expects_convergence=False,
        )
        run = Run.of(
            random_state=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            callbacks=self.callbacks,
            keep_frames=self.keep_frames,
        )
        return solve(problem, start, settings, run, stages)

    def _penalties(self) -> tuple[Distortion, Distortion | None, bool]:
        return choose_penalties(
            self.attractive, self.repulsive, self.repulsive_pairs, self.n_components, self._constraint()
        )

    def _check_rows(self) -> None:
        """Raise unless there are fitted rows with which new ones can be compared."""
        check_is_fitted(self, "embedding_")
        if self._rows is None:
            raise InvalidInputError(
                "This map was made from a graph, from precomputed distances or by a function, so there are no rows to "
                "compare new ones with. Fit on data, or on a graph that holds the new items too (with the old ones as "
                "anchors)."
            )

    def _place_near(self, near: Neighbors) -> FloatArray:
        attractive, repulsive, _ = self._penalties()
        Y, n_jobs = self.embedding_.Y, resolve_n_jobs(self.n_jobs)
        return place_by_neighbors(Y, near, attractive, repulsive, self._repulsion, self._seed, n_jobs)

    def _place_far(self, rows: Any, fitted: FloatArray) -> FloatArray:
        marks = landmarks(len(fitted), self._seed)
        index, distance = knn_query(
            rows, fitted[marks], len(marks), metric=str(self.metric), n_jobs=self.n_jobs
        )
        far = np.empty(index.shape)
        np.put_along_axis(far, index.astype(np.int64), distance.astype(np.float64), axis=1)
        n_jobs = resolve_n_jobs(self.n_jobs)
        return place_by_distances(self.embedding_.Y, marks, far, loss_maker(self.loss), n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.preserve == "neighbors" and self.metric in ("euclidean", "l2", "cosine")
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _check_choices(self, sample_weight: ArrayLike | None) -> None:
        for name, value, allowed in (
            ("preserve", self.preserve, ("neighbors", "distances")),
            ("solver", self.solver, ("auto", "lbfgs", "stochastic")),
        ):
            if value not in allowed:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}."
                )
        if sample_weight is not None and self.preserve == "distances":
            raise InvalidParameterError(
                'sample_weight goes with preserve="neighbors". For weighted distances give a loss that holds weights.'
            )

    @property
    def accepts_graph(self) -> bool:
        """With preserve="neighbors"; otherwise the edges of a graph are roads, and distances the paths along them."""
        return self.preserve == "neighbors"

    def _data(self, X: Any) -> Any:
        """Validated rows, or the graph, distances or items that are to be used as they are."""
        data = self._items(X, allow_sparse=self.preserve == "neighbors")
        if callable(self.metric) and self.preserve == "distances" and not isinstance(X, Graph):
            return function_distances(X, self.metric, parse_memory(self.max_memory), _quietly)
        return data

    def _graph(self, data: Any, seed: int) -> Graph | None:
        """The neighbour graph, which is not needed for distances of rows."""
        if self.preserve == "neighbors" or isinstance(data, Graph):
            return self._neighbor_graph(data, self.metric, seed)
        return None if self._has_rows(data) else self._neighbor_graph(data, "precomputed", seed)

    def _problem(
        self,
        data: Any,
        graph: Graph | None,
        constraint: Constraint,
        sample_weight: ArrayLike | None,
        seed: int,
    ) -> Problem:
        if self.preserve == "neighbors":
            attractive, repulsive, all_pairs = self._penalties()
            return preserve_neighbors(
                graph,
                self.n_components,
                attractive=attractive,
                repulsive=repulsive,
                repulsive_fraction=self.repulsive_fraction,
                repulsive_pairs="all" if all_pairs else "sampled",
                sample_weight=sample_weight,
                constraint=constraint,
                n_jobs=self.n_jobs,
                random_state=seed,
            )
        # Neighbour lists and sparse matrices hold some distances only; the others are paths between them.
        partial = isinstance(data, tuple) or (graph is not None and issparse(data))
        return preserve_distances(
            graph if partial else data,
            self.n_components,
            metric=self.metric if graph is None else "precomputed",
            loss=self.loss,
            max_distances=self.max_distances,
            constraint=constraint,
            n_jobs=self.n_jobs,
            random_state=seed,
            max_memory=self.max_memory,
        )

    def _constraint(self) -> Constraint:
        if self.anchors is not None:
            if self.constraint != "centered":
                raise InvalidParameterError(
                    "anchors fix the map's place and scale, so no other constraint can be given."
                )
            if not isinstance(self.anchors, tuple | list) or len(self.anchors) != 2:
                raise InvalidParameterError(f"anchors must be (indices, positions); got {self.anchors!r}.")
            return Anchored(*self.anchors)
        if isinstance(self.constraint, str):
            if self.constraint not in _CONSTRAINTS:
                raise InvalidParameterError(
                    f"constraint must be 'centered', 'standardized' or a winkel.Constraint; got {self.constraint!r}."
                )
            return _CONSTRAINTS[self.constraint]()
        return self.constraint

    def _start(self, data: Any, graph: Graph | None, problem: Problem, seed: int) -> FloatArray:
        """Positions to begin with, in the precision of the data."""
        if not isinstance(self.init, str):
            return np.asarray(self.init)
        if self.init not in ("quadratic", "random"):
            raise InvalidParameterError(f"init must be 'quadratic', 'random' or an array; got {self.init!r}.")
        if self.init == "random":
            Y = problem.constraint.initialize(*problem.shape, seed)
        elif graph is not None and self.preserve == "distances":
            Y = pivot_start(graph, self.n_components, seed, self.n_jobs)
        elif graph is not None and has_groups(problem):
            Y = grouped_start(problem, graph, seed, self.n_jobs)
        elif graph is not None:
            Y = spectral_start(graph, self.n_components, seed, self.n_jobs)
        else:
            Y = principal_start(data, self.n_components)
        if isinstance(problem.distortion, Loss):
            Y = fit_scale(problem, Y, problem.distortion.deviations)
        precise = getattr(data, "dtype", None) == np.float64
        return np.asarray(Y, dtype=np.float64 if precise else np.float32)


def _stacked(above: Any, below: Any) -> Any:
    """Rows of both, dense or sparse as those above."""
    if issparse(above):
        return vstack([above, csr_matrix(below)], format="csr")
    return np.concatenate([above, below.toarray() if issparse(below) else below])


def _quietly(steps: Any, what: str) -> Any:
    return steps
