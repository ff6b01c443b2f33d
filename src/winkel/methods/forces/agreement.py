"""What an objective does to a map, pair by pair (`forces`), and how far two objectives agree (`gradient_agreement`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...data import as_matrix
from ...errors import InvalidInputError
from ...graph import Graph, knn
from ...random import Stream
from ...resources import resolve_n_jobs, resolve_seed
from ...typing import FloatArray, Metric, RandomState
from .kernels import MapKernel, similarity_matrix
from .objective import Built, Objective, build
from .pca import PcaProblem, centred_gram
from .problem import ForceProblem
from .run import scaled_start, schedule, solve_forces
from .weights import Pairs

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forces:
    """What an objective does to a map: ∇_i = −c Σ_j (A_ij − R_ij) k_y'(s_ij) (y_i − y_j), s the squared distance.

    `attractive` and `repulsive` are the two parts of `gradient` (n × m); steps go against them. `attraction`, `repulsion` and
    `slope` are A, R and k_y' for all pairs, n × n with zeros on the diagonal, up to 3 000 rows; `scalars` gives them for any
    pairs. `scale` is c.
    """

    objective: Objective
    value: float
    gradient: FloatArray
    attractive: FloatArray
    repulsive: FloatArray
    scale: float
    _Y: FloatArray
    _rule: Any

    def scalars(self, i: ArrayLike, j: ArrayLike) -> tuple[Matrix, Matrix, Matrix]:
        """A, R and k_y' of the pairs (i, j)."""
        return self._rule(np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))

    @property
    def attraction(self) -> Matrix:
        """A for all pairs."""
        return self._matrix(0)

    @property
    def repulsion(self) -> Matrix:
        """R for all pairs."""
        return self._matrix(1)

    @property
    def slope(self) -> Matrix:
        """k_y' for all pairs."""
        return self._matrix(2)

    def _matrix(self, which: int) -> Matrix:
        n = len(self._Y)
        if n > MOST_ROWS:
            raise InvalidInputError(
                f"the matrix of all pairs of {n} rows is too large; use scalars(i, j) for some of them."
            )
        i, j = np.divmod(np.arange(n * n), n)
        found = self.scalars(i, j)[which].reshape(n, n)
        np.fill_diagonal(found, 0)
        return found


MOST_ROWS = 3000


def forces(
    X: Any,
    Y: ArrayLike,
    objective: str | Objective,
    *,
    metric: Metric = "euclidean",
    pairs: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Forces:
    """The attractions and repulsions that an objective, by name or as an `Objective`, exerts on the map Y of X."""
    chosen = objective if isinstance(objective, Objective) else Objective(objective)
    points = np.ascontiguousarray(np.asarray(Y, dtype=np.float64))
    made = prepare(X, chosen, points.shape, metric, pairs, resolve_seed(random_state), n_jobs)
    if isinstance(made, PcaProblem):
        return _pca_forces(made, chosen, points)
    problem = made.problem
    parts = problem.parts(points)
    near, far = parts.near, parts.far
    local = None
    if made.parts is not None:
        # M holds attractions −(w + wᵀ) and the repulsions WᵀW of Lemma 4; the second belong to the far part.
        local = _listed_gradient(problem, "kernel", made.parts[1], points)
    elif problem.near_form == "logit" and made.similarities is not None:
        # So do the pairs that 1 − p leaves out.
        local = _listed_gradient(problem, "apart", -made.similarities, points)
    if local is not None:
        near, far = near - local, far + local
    value = problem.constant + parts.near_value + parts.far_value
    scale = 8.0 if chosen.name == "two_kernel_pca" else 4.0
    rule = _Scalars(made, chosen, points, parts.normalizer)
    return Forces(chosen, value, parts.near + parts.far, near, far, scale, points, rule)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two objectives' gradients at the iterates of a run of the first: ⟨∇a, ∇b⟩ and its cosine, one a kept iterate."""

    a: Objective
    b: Objective
    iteration: NDArray[np.int64]
    inner: Matrix
    cosine: Matrix

    @property
    def sign(self) -> int:
        """The sign of the mean inner product: Conjecture 1 says +1 for "umap" and "lle"."""
        return int(np.sign(np.mean(self.inner)))


def gradient_agreement(
    X: Any,
    Y: ArrayLike | None,
    a: str | Objective,
    b: str | Objective,
    *,
    n_points: int = 20,
    max_iter: int | None = None,
    metric: Metric = "euclidean",
    pairs: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Agreement:
    """How two objectives' gradients agree along an optimisation of `a` from the map Y (a random one when None).

    This is what Conjecture 1 of Draganov and Dohn (2023) is about: that the inner product of the gradients of "umap" and
    "lle" is positive in the mean.
    """
    seed = resolve_seed(random_state)
    first, second = (given if isinstance(given, Objective) else Objective(given) for given in (a, b))
    n = X.n if isinstance(X, Graph) else len(as_matrix(X)) if not sp.issparse(X) else X.shape[0]
    if Y is None:
        Y = scaled_start(Stream.named(seed, "init").normal((n, 2)), 1.0, seed)
    start = np.ascontiguousarray(np.asarray(Y, dtype=np.float64))
    shape = start.shape
    left = prepare(X, first, shape, metric, pairs, seed, n_jobs)
    right = prepare(X, second, shape, metric, pairs, seed, n_jobs)
    one, two = (made if isinstance(made, PcaProblem) else made.problem for made in (left, right))
    plan = schedule(first, max_iter=max_iter, exaggeration=1.0, exaggeration_iter=0, tol=0.0)
    found = solve_forces(one, start, first, plan, seed=seed, keep_frames=max(2, n_points))
    assert found.frames is not None
    inner, cosine = [], []
    for frame in found.frames.Y:
        at = np.ascontiguousarray(frame, dtype=np.float64)
        g, h = one.gradient(at)[1], two.gradient(at)[1]
        product = float(np.sum(g * h))
        sizes = float(np.sqrt(np.sum(np.square(g)) * np.sum(np.square(h))))
        inner.append(product)
        cosine.append(product / sizes if sizes > 0 else 0.0)
    return Agreement(first, second, found.frames.iteration, np.array(inner), np.array(cosine))


def prepare(
    X: Any,
    objective: Objective,
    shape: tuple[int, ...],
    metric: Metric,
    pairs: str,
    seed: int,
    n_jobs: int | None,
) -> Built | PcaProblem:
    """The problem of an objective on X for maps of a shape, in double precision."""
    data = X if isinstance(X, Graph) else as_matrix(X)
    n = data.n if isinstance(data, Graph) else data.shape[0]
    if len(shape) != 2 or shape[0] != n:
        raise InvalidInputError(f"Y must be a map of the {n} rows of X; got shape {shape}.")
    objective = objective.usable(n)
    if objective.x_kernel == "precomputed":
        data = similarity_matrix(data)
    if objective.name == "pca":
        return PcaProblem.of(centred_gram(data, objective.x_kernel, objective.gamma), None, seed)
    graph = None
    if objective.needs_graph:
        k = objective.neighbors_for(n)
        graph = (
            data
            if isinstance(data, Graph)
            else knn(data, min(k, n - 1), metric=metric, n_jobs=n_jobs, random_state=seed)
        )
    rows = None if isinstance(data, Graph) else data
    jobs = resolve_n_jobs(n_jobs)
    return build(objective, rows, graph, n_components=shape[1], pairs=pairs, n_jobs=jobs, seed=seed)


def _listed_gradient(problem: ForceProblem, form: str, weights: Any, Y: Matrix) -> Matrix:
    """The gradient of Σ w_ij f(s_ij) over the entries of a symmetric matrix."""
    pairs = Pairs.of(weights, np.float64)
    curve = problem.kernel.curve(form)
    weight = pairs.weights.astype(np.float64)
    _, force = _core.listed_forces(curve, Y, pairs.indptr, pairs.indices, weight, False, problem.n_jobs)
    return np.asarray(4 * force)


@dataclass(frozen=True, eq=False)
class _Scalars:
    """A, R and k_y' of pairs, by the formulas of each objective."""

    made: Built
    objective: Objective
    Y: Matrix
    normalizer: float

    def __call__(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
        kernel, problem = self.made.problem.kernel, self.made.problem
        s = np.sum(np.square(self.Y[i] - self.Y[j]), axis=1)
        k, slope = kernel.value(s), kernel.slope(s)
        if self.made.parts is not None:
            W, V = self.made.parts
            return _entries(W, i, j), _entries(V, i, j) + problem.far_weight, slope
        assert self.made.similarities is not None
        p = _entries(self.made.similarities, i, j)
        if self.objective.name == "two_kernel_pca":
            return p, k, slope
        if self.objective.name == "tsne":
            return p / k, np.full(len(s), 1 / self.normalizer), slope
        return p / k, _umap_share(problem, p, i, j) * _over_rest(kernel, s) / slope, slope


def _umap_share(problem: ForceProblem, p: Matrix, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
    """The weight of −log(1 − k) for each pair."""
    if problem.charges is None:
        return 1 - p
    q = np.asarray(problem.charges, dtype=np.float64)
    return np.asarray(problem.far_weight * 0.5 * (q[i] + q[j]))


def _over_rest(kernel: MapKernel, s: Matrix) -> Matrix:
    """k'/(1 − k), as the loss has it: constant below the floor."""
    return np.asarray(_core.curve_values(kernel.curve("apart"), np.ascontiguousarray(s))[1], dtype=np.float64)


def _entries(S: sp.csr_array, i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
    return np.asarray(S[i, j], dtype=np.float64).ravel()


def _pca_forces(problem: PcaProblem, objective: Objective, Y: Matrix) -> Forces:
    """Lemma 2: A and R are the centred similarities of data and map; k_y' is −½."""
    Z = Y - Y.mean(axis=0)
    G = problem.gram
    value, gradient = problem.gradient(Y)

    def rule(i: NDArray[np.int64], j: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
        if G.factor is not None:
            A = np.sum(G.factor[i] * G.factor[j], axis=1)
        else:
            assert G.full is not None
            A = G.full[i, j]
        return A, np.sum(Z[i] * Z[j], axis=1), np.full(len(i), -0.5)

    attractive, repulsive = -4 * G.times(Z), 4 * Z @ (Z.T @ Z)
    return Forces(objective, value, gradient, attractive, repulsive, 8.0, Y, rule)
