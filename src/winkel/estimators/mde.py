"""`MDE`, minimum-distortion embedding as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph, knn, knn_query
from ..graph.metrics import metric_name
from ..methods.mde import solve
from ..methods.placement import Neighbors, landmarks, place_by_distances, place_by_neighbors
from ..methods.recipes import (
    ATTRACTIVE,
    LOSSES,
    MAX_DISTANCES,
    REPULSIVE,
    fit_scale,
    named,
    pivot_start,
    preserve_distances,
    preserve_neighbors,
    principal_start,
    spectral_start,
)
from ..problem import Anchored, Centered, Constraint, Problem, Standardized
from ..problem.distortions import Distortion
from ..problem.distortions.losses import Loss
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .base import Embedder, usable_neighbors

_CONSTRAINTS = {"centered": Centered, "standardized": Standardized}


class MDE(Embedder):
    """A map by minimum-distortion embedding (Agrawal, Ali and Boyd 2021).

    Parameters
    ----------
    n_components : dimension of the map.
    preserve : "neighbors" (who is near whom), or "distances" (how far apart all are).
    n_neighbors, metric : the neighbour graph, as in `winkel.graph.knn`; metric="precomputed" takes distances. X may also be
        a `winkel.Graph`, whose edges are then the similar pairs (or the roads, with preserve="distances").
    attractive, repulsive : penalties for similar and dissimilar pairs, by name ("log1p" is Log1p(exponent=1.25)) or as
        `winkel.penalties`; repulsive=None has
        no dissimilar pairs (then use constraint="standardized").
    repulsive_fraction : dissimilar pairs drawn for each similar one.
    loss, max_distances : for preserve="distances": a name of `winkel.losses` or what makes one, and the most pairs to use.
    constraint : "centered", "standardized", or a `winkel.Constraint`.
    anchors : (indices, positions): rows that are to stay in given places.
    init : "quadratic" (spectral embedding of the graph; with preserve="distances" classical scaling), "random", or an
        array of positions.
    solver : "auto", "lbfgs", or "stochastic" (a tenth of the pairs at a time), as in `winkel.Problem.solve`.
    max_iter, tol, memory : iterations at most; residual at which to stop; steps that L-BFGS remembers.
    keep_frames : how many iterates to keep on the way, in `embedding_.frames`.

    Attributes
    ----------
    embedding_ : the Embedding; also `graph_`, `objective_`, `history_`, `status_`, `n_iter_` read from it.
    problem_ : the Problem that was solved, for its diagnostics; not kept in model files.

    The same `random_state` gives the same bytes for any `n_jobs`. `transform` places each new row by itself, and gives a
    row that equals a fitted one that row's place.
    """

    _fitted = ("n_features_in_", "feature_names_in_", "_rows", "_repulsion")

    def __init__(
        self,
        n_components: int = 2,
        *,
        preserve: str = "neighbors",
        n_neighbors: int = 15,
        metric: Metric = "euclidean",
        attractive: str | type[Distortion] | Distortion = "log1p",
        repulsive: str | type[Distortion] | Distortion | None = "log",
        repulsive_fraction: float = 1.0,
        loss: str | Callable[[FloatArray], Distortion] = "absolute",
        max_distances: int = MAX_DISTANCES,
        constraint: str | Constraint = "centered",
        anchors: tuple[ArrayLike, ArrayLike] | None = None,
        init: str | ArrayLike = "quadratic",
        solver: str = "auto",
        max_iter: int = 300,
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
        """Find the map of the rows of X; y is ignored."""
        seed = resolve_seed(self.random_state)
        self._check_choices()
        rows, graph = self._rows_and_graph(X, seed)
        problem = self._problem(rows, graph, sample_weight, seed)
        start = self._start(rows, graph, problem, seed)
        result = solve(
            problem,
            init=start,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            memory=self.memory,
            random_state=seed,
            verbose=self.verbose,
            callbacks=self.callbacks or (),
            keep_frames=self.keep_frames,
        )
        self._rows = rows
        self._repulsion = (
            2 * problem.n_pairs / problem.n_items - 2 * graph.n_edges / graph.n if graph else 0.0
        )
        self.problem_ = problem
        self.embedding_ = replace(result, graph=graph)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        rows = self._read_new(X)
        if self._rows is None:
            raise InvalidInputError(
                "This map was made from a graph or from precomputed distances, so there are no rows to compare new ones "
                "with. Fit on data, or on a graph that holds the new items too (with the old ones as anchors)."
            )
        Y, n_jobs = self.embedding_.Y, resolve_n_jobs(self.n_jobs)
        common = np.result_type(rows, self._rows)
        rows, fitted = rows.astype(common, copy=False), self._rows.astype(common, copy=False)
        k = min(self.n_neighbors, len(fitted))
        index, distance = knn_query(rows, fitted, k, metric=str(self.metric), n_jobs=n_jobs)
        if self.preserve == "neighbors":
            placed = self._place_near(Neighbors(index, distance, 1.0), n_jobs)
        else:
            marks = landmarks(len(fitted), int(self.embedding_.seed or 0))
            placed = self._place_far(rows, fitted, marks, n_jobs)
        placed = np.asarray(placed, dtype=Y.dtype)
        same = distance[:, 0] == 0
        placed[same] = Y[index[same, 0]]
        return placed

    def _place_near(self, near: Neighbors, n_jobs: int) -> FloatArray:
        attractive = named("attractive", self.attractive, ATTRACTIVE)
        repulsive = None if self.repulsive is None else named("repulsive", self.repulsive, REPULSIVE)
        seed = int(self.embedding_.seed or 0)
        return place_by_neighbors(
            self.embedding_.Y, near, attractive, repulsive, self._repulsion, seed, n_jobs
        )

    def _place_far(self, rows: FloatArray, fitted: FloatArray, marks: Any, n_jobs: int) -> FloatArray:
        index, distance = knn_query(rows, fitted[marks], len(marks), metric=str(self.metric), n_jobs=n_jobs)
        far = np.empty(index.shape)
        np.put_along_axis(far, index.astype(np.int64), distance.astype(np.float64), axis=1)
        make = LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
        return place_by_distances(self.embedding_.Y, marks, far, make(far[0]), n_jobs)

    def _check_choices(self) -> None:
        for name, value, allowed in (
            ("preserve", self.preserve, ("neighbors", "distances")),
            ("solver", self.solver, ("auto", "lbfgs", "stochastic")),
        ):
            if value not in allowed:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}."
                )

    def _rows_and_graph(self, X: Any, seed: int) -> tuple[Any, Graph | None]:
        """The validated rows (None where there are none to compare new ones with) and the neighbour graph."""
        if isinstance(X, Graph):
            self.n_features_in_ = X.n
            return None, X
        given = callable(self.metric) or self.metric == "precomputed"
        rows = X if given else self._read(X).values
        n = (
            len(rows[0])
            if isinstance(rows, tuple)
            else (rows.shape[0] if hasattr(rows, "shape") else len(rows))
        )
        if given:
            self.n_features_in_ = n
        else:
            metric_name(str(self.metric))
        if self.preserve == "distances" and not given:
            return rows, None
        graph = knn(
            rows,
            usable_neighbors(self.n_neighbors, n),
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=seed,
            max_memory=self.max_memory,
            verbose=bool(self.verbose),
        )
        return (None if given else rows), graph

    def _problem(self, rows: Any, graph: Graph | None, sample_weight: ArrayLike | None, seed: int) -> Problem:
        constraint = self._constraint()
        if self.preserve == "neighbors":
            return preserve_neighbors(
                graph,
                self.n_components,
                attractive=self.attractive,
                repulsive=self.repulsive,
                repulsive_fraction=self.repulsive_fraction,
                sample_weight=sample_weight,
                constraint=constraint,
                n_jobs=self.n_jobs,
                random_state=seed,
            )
        return preserve_distances(
            rows if graph is None else graph,
            self.n_components,
            metric=str(self.metric),
            loss=self.loss,
            max_distances=self.max_distances,
            constraint=constraint,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _constraint(self) -> Constraint:
        if self.anchors is not None:
            if self.constraint != "centered":
                raise InvalidParameterError(
                    "anchors fix the map's place and scale, so no other constraint can be given."
                )
            return Anchored(*self.anchors)
        if isinstance(self.constraint, str):
            if self.constraint not in _CONSTRAINTS:
                raise InvalidParameterError(
                    f"constraint must be 'centered', 'standardized' or a winkel.Constraint; got {self.constraint!r}."
                )
            return _CONSTRAINTS[self.constraint]()
        return self.constraint

    def _start(self, rows: Any, graph: Graph | None, problem: Problem, seed: int) -> FloatArray:
        """Positions to begin with, in the precision of the data."""
        if not isinstance(self.init, str):
            return np.asarray(self.init)
        if self.init not in ("quadratic", "random"):
            raise InvalidParameterError(f"init must be 'quadratic', 'random' or an array; got {self.init!r}.")
        if self.init == "random":
            Y = problem.constraint.initialize(*problem.shape, seed)
        elif graph is not None and self.preserve == "distances":
            Y = pivot_start(graph, self.n_components, seed, self.n_jobs)
        elif graph is not None:
            Y = spectral_start(graph, self.n_components, seed, self.n_jobs)
        else:
            Y = principal_start(rows, self.n_components)
        if isinstance(problem.distortion, Loss):
            Y = fit_scale(problem, Y, problem.distortion.deviations)
        precise = getattr(rows, "dtype", None) == np.float64
        return np.asarray(Y, dtype=np.float64 if precise else np.float32)
