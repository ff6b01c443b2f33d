"""`AttractRepel`: PCA, LLE, t-SNE and UMAP by attractions and repulsions, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..errors import InvalidInputError, InvalidParameterError
from ..graph import Graph, knn, knn_query
from ..methods.forces.kernels import DENSE_KERNELS_X, rbf_gamma, similarity_matrix
from ..methods.forces.objective import Objective, build
from ..methods.forces.pca import PcaProblem, centred_gram
from ..methods.forces.place import Balance, near_weights, place_near, place_on_gram
from ..methods.forces.problem import ForceProblem
from ..methods.forces.run import Schedule, scaled_start, schedule, solve_forces
from ..methods.recipes import principal_start, spectral_start
from ..random import Stream
from ..resources import check_memory, parse_memory, resolve_n_jobs, resolve_seed
from ..typing import FloatArray, Metric, RandomState
from .base import GraphEmbedder, usable_neighbors

_BLOCK = 1024  # new rows placed at a time, which bounds the memory
_INITS = ("auto", "pca", "spectral", "random")


class AttractRepel(GraphEmbedder):
    """A map by attractions and repulsions between all pairs of rows (Draganov and Dohn 2023).

    Parameters
    ----------
    n_components : dimension of the map.
    objective : "lle" (locally linear embedding with a kernel on the map too), "tsne", "umap", "two_kernel_pca", or "pca".
    kernel_x, kernel_y : kernels on the data and on the map, None for those of the objective; see
        `winkel.methods.forces.Objective`, which also says what the losses are. kernel_x="precomputed" takes X as a
        symmetric matrix of similarities.
    pairs : how all pairs are summed: "exact", "field" (two and three dimensions), "sampled", or "auto": exact up to 2 000
        rows, else a field where there is one.
    n_neighbors, perplexity, metric : neighbours of the graph ("tsne": three times the perplexity), and how they are found.
    min_dist, spread : of UMAP's kernel on the map. negative_sample_rate : repulsion of "umap"; None for its cross-entropy.
    reg, gamma : regularisation of LLE's weights; width of the RBF kernel.
    rank : for "pca", the rank of the similarities by which forces are approximated; `history_` then holds Lemma 3's two
        sides, "error" ≥ "lemma3" being its condition, and the cosine of both gradients, "agreement".
    init : "pca", "spectral", "random", an array, or "auto" ("random" for "pca", "spectral" for "umap", else "pca").
    solver : "gains" (momentum with a gain for every coordinate), "adam", "momentum", or "auto"; "pca" has its own.
    learning_rate, exaggeration, exaggeration_iter, max_iter, tol : None for what suits the objective.
    keep_frames : how many iterates to keep on the way, in `embedding_.frames`.

    Attributes
    ----------
    embedding_ : the Embedding; also `graph_`, `objective_`, `history_`, `status_`, `n_iter_` read from it.
    problem_ : the loss, with `gradient(Y)`; not kept in model files.

    The same `random_state` gives the same bytes for any `n_jobs`. `transform` places each new row by itself where the
    forces of the fitted rows balance, and gives a row that equals a fitted one that row's place.
    """

    _rows: Any  # the fitted rows, or None where the map was made from something else
    _scale: float  # Σ k_y of a t-SNE map, by which its repulsion is divided
    _degree: float  # mean row sum of UMAP's memberships
    _gamma: float | None
    _fitted = ("n_features_in_", "feature_names_in_", "_rows", "_scale", "_degree", "_gamma")

    def __init__(
        self,
        n_components: int = 2,
        *,
        objective: str = "lle",
        kernel_x: str | None = None,
        kernel_y: str | None = None,
        pairs: str = "auto",
        n_neighbors: int = 15,
        perplexity: float = 30.0,
        metric: Metric = "euclidean",
        min_dist: float = 0.1,
        spread: float = 1.0,
        negative_sample_rate: float | None = 5.0,
        reg: float = 1e-2,
        gamma: float | None = None,
        rank: int | None = None,
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        learning_rate: float | None = None,
        exaggeration: float | None = None,
        exaggeration_iter: int | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        keep_frames: int = 0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.kernel_x = kernel_x
        self.kernel_y = kernel_y
        self.pairs = pairs
        self.n_neighbors = n_neighbors
        self.perplexity = perplexity
        self.metric = metric
        self.min_dist = min_dist
        self.spread = spread
        self.negative_sample_rate = negative_sample_rate
        self.reg = reg
        self.gamma = gamma
        self.rank = rank
        self.init = init
        self.solver = solver
        self.learning_rate = learning_rate
        self.exaggeration = exaggeration
        self.exaggeration_iter = exaggeration_iter
        self.max_iter = max_iter
        self.tol = tol
        self.keep_frames = keep_frames
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> AttractRepel:
        """Find the map of the rows of X; y is ignored."""
        seed = resolve_seed(self.random_state)
        self._check_components()
        objective = self._objective()
        plan = self._schedule(objective)
        data = self._data(X, objective)
        graph = self._graph(data, objective, seed)
        n = data.shape[0] if graph is None else graph.n
        objective = objective.usable(n)
        problem = self._problem(data, graph, objective, seed)
        start = self._start(data, graph, objective, plan, n, seed)
        result = solve_forces(
            problem,
            start,
            objective,
            plan,
            seed=seed,
            verbose=self.verbose,
            callbacks=self.callbacks or (),
            keep_frames=self.keep_frames,
        )
        self._keep(X, data, problem, objective, result.Y)
        self.problem_ = problem
        self.embedding_ = replace(result, graph=graph)
        self._say_faithfulness(data)
        return self

    @property
    def accepts_graph(self) -> bool:
        """With objective="umap"; others need the rows, or look for another number of neighbours."""
        return self.objective == "umap"

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        check_is_fitted(self, "embedding_")
        if self._rows is None:
            raise InvalidInputError(
                "This map was made from a graph, from precomputed distances or similarities or by a function, so there "
                "are no rows to compare new ones with. Fit on data."
            )
        rows, fitted = self._read_new(X), self._rows
        objective = self._objective().usable(fitted.shape[0])
        dense = objective.name == "pca" or (objective.x_kernel in DENSE_KERNELS_X and objective.name != "lle")
        k = 1 if objective.name == "pca" else fitted.shape[0] if dense else self._listed(objective)
        placed = np.empty((rows.shape[0], self.embedding_.Y.shape[1]), self.embedding_.Y.dtype)
        for first in range(0, rows.shape[0], _BLOCK):
            some = rows[first : first + _BLOCK]
            index, distance = knn_query(some, fitted, k, metric=str(self.metric), n_jobs=self.n_jobs)
            placed[first : first + _BLOCK] = self.embedding_.Y[index[:, 0]]
            new = np.flatnonzero(distance[:, 0] > 0)  # a row that equals a fitted one has that row's place
            if len(new):
                placed[first + new] = self._place(objective, some[new], fitted, index[new], distance[new])
        return placed

    def _listed(self, objective: Objective) -> int:
        lists = self.graph_.knn_indices
        return objective.neighbors_for(self.graph_.n) if lists is None else int(lists.shape[1])

    def _place(
        self,
        objective: Objective,
        rows: Any,
        fitted: Any,
        index: NDArray[np.int32],
        distance: FloatArray,
    ) -> NDArray[np.float64]:
        Y, n_jobs = self.embedding_.Y, resolve_n_jobs(self.n_jobs)
        if objective.name == "pca":
            return place_on_gram(rows, _dense(fitted), Y, objective.x_kernel, self._gamma)
        weights = near_weights(objective, rows, fitted, index, distance, self._gamma, n_jobs)
        return place_near(Y, index, distance, weights, self._balance(objective), self._seed, n_jobs)

    def _balance(self, objective: Objective) -> Balance:
        """What a new row meets, as a fitted one did in the mean."""
        kernel, n = objective.map_kernel(), len(self.embedding_.Y)
        if objective.name == "lle":
            return Balance(kernel, "kernel", "kernel", 1 / n)
        if objective.name == "tsne":
            return Balance(kernel, "neg_log", "kernel", n / self._scale)
        if objective.name == "two_kernel_pca":
            return Balance(kernel, "kernel", "square", 1.0)
        if objective.negative_sample_rate is None:
            return Balance(kernel, "logit", "apart", 1.0)
        return Balance(kernel, "neg_log", "apart", objective.negative_sample_rate / (2 * n), self._degree)

    @property
    def _seed(self) -> int:
        return int(self.embedding_.seed or 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric in ("euclidean", "l2", "cosine")
        tags.input_tags.pairwise = self.metric == "precomputed" or self.kernel_x == "precomputed"
        return tags

    def _check_components(self) -> None:
        m = self.n_components
        if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
            raise InvalidParameterError(f"n_components must be a positive integer; got {m!r}.")

    def _objective(self) -> Objective:
        return Objective(
            self.objective,
            kernel_x=self.kernel_x,
            kernel_y=self.kernel_y,
            n_neighbors=self.n_neighbors,
            perplexity=self.perplexity,
            min_dist=self.min_dist,
            spread=self.spread,
            negative_sample_rate=self.negative_sample_rate,
            reg=self.reg,
            gamma=self.gamma,
        )

    def _schedule(self, objective: Objective) -> Schedule:
        return schedule(
            objective,
            solver=self.solver,
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            exaggeration=self.exaggeration,
            exaggeration_iter=self.exaggeration_iter,
            tol=self.tol,
        )

    def _data(self, X: Any, objective: Objective) -> Any:
        """Validated rows, or similarities, or what the neighbour graph is to be made of."""
        if objective.x_kernel == "precomputed":
            table = self._read(X)
            return similarity_matrix(table.values)
        if not objective.needs_graph and not self._has_rows(X):
            raise InvalidInputError(
                f"kernel_x={objective.x_kernel!r} needs rows; a graph, distances or a function go with "
                '"perplexity" and "fuzzy".'
            )
        return self._items(X)

    def _graph(self, data: Any, objective: Objective, seed: int) -> Graph | None:
        if not objective.needs_graph:
            return None
        if isinstance(data, Graph):
            return data
        first = data[0] if isinstance(data, tuple) else data
        n = first.shape[0] if hasattr(first, "shape") else len(first)
        wanted = objective.neighbors_for(n)
        return knn(
            data,
            wanted if objective.x_kernel == "perplexity" else usable_neighbors(wanted, n),
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=seed,
            max_memory=self.max_memory,
            verbose=bool(self.verbose),
        )

    def _problem(
        self, data: Any, graph: Graph | None, objective: Objective, seed: int
    ) -> ForceProblem | PcaProblem:
        limit, n_jobs = parse_memory(self.max_memory), resolve_n_jobs(self.n_jobs)
        if objective.name == "pca":
            linear = objective.x_kernel in ("linear", "centered_linear")
            _check_square(0 if linear else data.shape[0], 24, limit)
            return PcaProblem.of(centred_gram(data, objective.x_kernel, self.gamma), self.rank, seed)
        if self.rank is not None:
            raise InvalidParameterError(f'rank={self.rank!r} goes with objective="pca".')
        if not objective.needs_graph:
            _check_square(data.shape[0], 40, limit)
        rows = None if isinstance(data, Graph) else data
        return build(
            objective,
            rows,
            graph,
            n_components=self.n_components,
            pairs=self.pairs,
            n_jobs=n_jobs,
            seed=seed,
            dtype=_precision(data),
        ).problem

    def _start(
        self, data: Any, graph: Graph | None, objective: Objective, plan: Schedule, n: int, seed: int
    ) -> FloatArray:
        """Positions to begin with, in the precision of the data."""
        shape = (n, self.n_components)
        if not isinstance(self.init, str):
            Y = np.array(self.init, dtype=_precision(data))
            if Y.shape != shape or not np.isfinite(Y).all():
                raise InvalidInputError(f"init must be finite, of shape {shape}; got shape {Y.shape}.")
            return Y
        if self.init not in _INITS:
            raise InvalidParameterError(
                f"init must be one of {', '.join(map(repr, _INITS))} or an array; got {self.init!r}."
            )
        how = self._usual_start(data, objective) if self.init == "auto" else self.init
        if how == "random":
            Y = Stream.named(seed, "init").normal(shape)
        elif how == "spectral":
            if graph is None:
                raise InvalidParameterError('init="spectral" needs a neighbour graph; use "pca" or "random".')
            Y = spectral_start(graph, self.n_components, seed, self.n_jobs)
        else:
            if isinstance(data, Graph) or not hasattr(data, "shape") or objective.x_kernel == "precomputed":
                raise InvalidParameterError('init="pca" needs rows; use "spectral" or "random".')
            Y = principal_start(_dense(data), self.n_components)
        return scaled_start(Y, plan.start_spread, seed).astype(_precision(data))

    def _usual_start(self, data: Any, objective: Objective) -> str:
        if objective.name == "pca" or (objective.x_kernel == "precomputed"):
            return "random"
        rows = not isinstance(data, Graph) and self._has_rows(data)
        return "pca" if rows and objective.name != "umap" else "spectral"

    def _keep(
        self, X: Any, data: Any, problem: ForceProblem | PcaProblem, objective: Objective, Y: FloatArray
    ) -> None:
        """What `transform` needs."""
        has_rows = self._has_rows(X) and objective.x_kernel != "precomputed"
        self._rows = data if has_rows else None
        self._scale, self._degree, self._gamma = 1.0, 0.0, None
        if has_rows and objective.x_kernel == "rbf":
            self._gamma = rbf_gamma(_dense(data), self.gamma)
        if isinstance(problem, ForceProblem):
            if problem.normalized:
                self._scale = problem.parts(Y).normalizer
            if problem.charges is not None:
                self._degree = float(np.mean(problem.charges))


def _check_square(n: int, bytes_each: int, limit: int | None) -> None:
    check_memory(
        float(bytes_each) * n * n,
        limit,
        f"A matrix of the similarities of all {n} rows",
        'Use kernel_x="perplexity" or "fuzzy", which look at neighbours only.',
    )


def _precision(data: Any) -> Any:
    return np.float32 if getattr(data, "dtype", None) == np.float32 else np.float64


def _dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows
