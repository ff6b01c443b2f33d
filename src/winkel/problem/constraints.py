"""Constraints on a whole embedding: where it starts, the nearest allowed embedding, and the directions in which it may move.

Each constraint has three methods (Agrawal et al. 2021, sections 2.4, 5 and 6.1.2); a user's own is a subclass of Constraint.
`Constrained` is the base of every problem under a constraint: its projections, threads, and `solve`.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..algebra import eigh, matmul
from ..checks import instance
from ..errors import InvalidInputError, InvalidParameterError
from ..run import CHECKPOINT_SECONDS, Run, Stream, resolve_n_jobs
from ..typing import FloatArray, IntArray, RandomState
from .distortions.base import class_named, needs_arguments, register, registered

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ..embedding import Embedding
    from .problem import Problem
    from .stream_problem import StreamProblem


class Constraint(ABC):
    """A set of allowed embeddings; a subclass of your own needs three methods.

    Arrays are n × m, float32 or float64, and results keep the precision. If a subclass can be made without arguments, it can be named
    in snake case, as in ``MDE(constraint="on_sphere")``.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> class OnSphere(wk.Constraint):
    ...     def initialize(self, n, m, seed):
    ...         return self.project(np.random.default_rng(seed).normal(size=(n, m)))
    ...     def project(self, Y):
    ...         return Y / np.linalg.norm(Y, axis=1, keepdims=True)
    ...     def project_tangent(self, Y, G):
    ...         return G - Y * np.sum(Y * G, axis=1, keepdims=True)
    >>> problem = wk.Problem([[0, 1], [1, 2], [2, 3]], wk.penalties.Quadratic(), n_components=3, constraint=OnSphere())
    >>> Y = problem.solve(random_state=0).Y
    >>> np.allclose(np.linalg.norm(Y, axis=1), 1)
    True
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register("constraints", cls)

    def with_threads(self, n_threads: int) -> Self:
        """The same constraint with this number of threads; the constraint itself if it does not use threads."""
        return self

    def check(self, n: int, m: int) -> None:  # noqa: B027 (most constraints allow some embedding of any size)
        """Raise InvalidParameterError if no embedding of n items in m dimensions is allowed."""

    @abstractmethod
    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        """An allowed random embedding (float64) that depends only on the arguments."""

    @abstractmethod
    def project(self, Y: FloatArray) -> FloatArray:
        """The allowed embedding nearest to Y, as a new array."""

    @abstractmethod
    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """The direction nearest to G in which an allowed Y stays allowed to first order, as a new array."""


class _Threaded(Constraint):
    """A constraint whose projections are work for several threads; the results have the same bytes for any number."""

    n_threads = 1  # of the problem it is used in

    def with_threads(self, n_threads: int) -> Self:
        other = copy.copy(self)
        object.__setattr__(other, "n_threads", n_threads)
        return other


@dataclass(frozen=True)
class Centered(_Threaded):
    """Yᵀ1 = 0: only removes the freedom to shift the whole embedding.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.Centered().project([[0.0, 1.0], [2.0, 3.0]])
    array([[-1., -1.],
           [ 1.,  1.]])
    """

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        return self.project(_random_normal(n, m, seed))

    def project(self, Y: FloatArray) -> FloatArray:
        Z = np.ascontiguousarray(Y)
        mean = _core.column_sums(Z, self.n_threads) / len(Z)
        return np.asarray(_core.subtract_row(Z, mean, self.n_threads))

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        return self.project(G)


@dataclass(frozen=True)
class Standardized(_Threaded):
    """(1/n) YᵀY = I and Yᵀ1 = 0: uncorrelated coordinates of unit variance, which forces the points to spread out.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> Y = wk.Standardized().initialize(100, 2, seed=0)
    >>> np.allclose(Y.T @ Y / 100, np.eye(2))
    True
    """

    @staticmethod
    def natural_length(n: int, m: int) -> float:
        """√(2nm/(n−1)): the root mean square of all distances in a standardized embedding (section 2.4.3)."""
        return math.sqrt(2.0 * n * m / (n - 1))

    def check(self, n: int, m: int) -> None:
        if n <= m:
            raise InvalidParameterError(
                f"A standardized embedding in {m} dimensions needs more than {m} items; got {n}. "
                "Use fewer components or Centered()."
            )

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        return self.project(_random_normal(n, m, seed))

    def project(self, Y: FloatArray) -> FloatArray:
        """√n UVᵀ for the centred Y = UΣVᵀ (equation 6.5), by the eigenvectors of the m × m matrix YᵀY.

        If Y does not have full rank, there are many nearest points; a small fixed displacement then selects one of them.
        """
        Z = np.ascontiguousarray(Y)
        n, m = Z.shape
        values, vectors, mean = self._spectrum(Z)
        if not values[0] > 1e-10 * values[-1]:
            scale = 1e-3 * np.sqrt(values[-1] / n) if values[-1] > 0 else 1.0
            Z = Z + (scale * _random_normal(n, m, 0)).astype(Z.dtype)
            values, vectors, mean = self._spectrum(Z)
        root = matmul(vectors * np.sqrt(n / values), vectors.T)
        return np.asarray(_core.multiply(Z, mean, np.ascontiguousarray(root), self.n_threads))

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """G minus its mean and minus Y·sym(YᵀG)/n.

        Equation 5.10 has GᵀY instead of the symmetric part. Both agree for gradients of pairwise distortions,
        for which YᵀG is symmetric; this form is the nearest tangent for any G.
        """
        G, Y = np.ascontiguousarray(G), np.ascontiguousarray(Y)
        mean = _core.column_sums(G, self.n_threads) / len(G)
        # Y is centred, so that its product with G is that with G less its mean.
        cross = _core.gram(Y, G, self.n_threads) / len(Y)
        symmetric = np.ascontiguousarray(0.5 * (cross + cross.T))
        return np.asarray(_core.subtract_product(G, mean, Y, symmetric, self.n_threads))

    def _spectrum(self, Z: FloatArray) -> tuple[NDArray[np.float64], ...]:
        """Eigenvalues (ascending) and eigenvectors of the centred ZᵀZ, and the mean of the rows."""
        mean = np.asarray(_core.column_sums(Z, self.n_threads)) / len(Z)
        gram = _core.gram(Z, Z, self.n_threads) - len(Z) * np.outer(mean, mean)
        values, vectors = eigh(gram)
        return values, vectors, mean


@dataclass(frozen=True, eq=False, repr=False)
class Anchored(Constraint):
    """yᵢ = its position for each anchored item i; the other items are free.

    Parameters
    ----------
    indices : array of int, shape (k,)
        The anchored items.
    values : array of shape (k, n_components)
        Their positions.

    Examples
    --------
    >>> import winkel as wk
    >>> path = wk.Problem(
    ...     [[0, 1], [1, 2]], wk.penalties.Quadratic(), n_components=1, constraint=wk.Anchored([0, 2], [[0.0], [4.0]])
    ... )
    >>> path.solve().Y.ravel()
    array([0., 2., 4.])
    """

    indices: Any
    values: Any

    def __post_init__(self) -> None:
        indices, values = as_placed_items("Anchored", self.indices, self.values)
        object.__setattr__(self, "indices", indices)
        object.__setattr__(self, "values", values)

    def check(self, n: int, m: int) -> None:
        check_placed_items("Anchored", self.indices, self.values, n, m)

    def initialize(self, n: int, m: int, seed: int) -> FloatArray:
        # Free items start around the anchors, on their scale, so that neither set is out of reach of the other.
        Y = _random_normal(n, m, seed)
        spread = float(self.values.std()) if len(self.values) > 1 else 1.0
        Y = self.values.mean(axis=0) + (spread if spread > 0 else 1.0) * Y
        return self.project(Y)

    def project(self, Y: FloatArray) -> FloatArray:
        out = np.array(Y)
        out[self.indices] = self.values
        return out

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        out = np.array(G)
        out[self.indices] = 0
        return out

    def __repr__(self) -> str:
        return f"Anchored({len(self.indices)} items)"


class Constrained(ABC):
    """The base of every problem: its allowed embeddings, its number of threads, and `solve`."""

    constraint: Constraint
    n_threads: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an embedding."""

    def project(self, Y: FloatArray) -> FloatArray:
        """The allowed embedding nearest to Y."""
        return self.constraint.project(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """The direction nearest to G that the constraint allows at Y."""
        return self.constraint.project_tangent(Y, G)

    def check_embedding(self, Y: ArrayLike) -> FloatArray:
        """Y as a contiguous float array of the right shape, checked to be finite."""
        array = np.asarray(Y)
        array = np.ascontiguousarray(array, dtype=np.float64 if array.dtype == np.float64 else np.float32)
        if array.shape != self.shape:
            raise InvalidInputError(f"Y must have shape {self.shape} (items, components); got {array.shape}.")
        finite = np.isfinite(array)
        if not finite.all():
            row = int(np.argmin(finite.all(axis=1)))
            raise InvalidInputError(f"Y must be finite; row {row} is {array[row]}.")
        return array

    def with_jobs(self, n_jobs: int | None) -> Self:
        """The same problem with another number of threads."""
        n_threads = resolve_n_jobs(n_jobs)
        if n_threads == self.n_threads:
            return self
        other = copy.copy(self)
        other.n_threads = n_threads
        other.constraint = self.constraint.with_threads(n_threads)
        return other

    def solve(
        self,
        init: ArrayLike | None = None,
        *,
        solver: str = "auto",
        batch_size: int | None = None,
        trust: float | None = None,
        max_iter: int = 300,
        tol: float = 1e-5,
        memory_size: int = 10,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = CHECKPOINT_SECONDS,
        keep_frames: int = 0,
    ) -> Embedding:
        """The Embedding that `solver` finds from `init`, or from a random start.

        Parameters
        ----------
        init : array of shape (n_items, n_components) or None, default=None
            Where to start; if it is not allowed, the nearest allowed embedding is used. None draws a random one.
        solver : {"auto", "lbfgs", "stochastic", "linear", "eigen"}, default="auto"
            "lbfgs" is projected L-BFGS. "stochastic" works on `batch_size` pairs at a time; it is the only one for a StreamProblem.
            "linear" solves anchored quadratic problems exactly, in double precision, from any start; "eigen" does so for
            standardized ones. "auto" is an exact solver if there is one, otherwise "lbfgs".
        batch_size : int or None, default=None
            Number of pairs in a batch of the stochastic solver; None is a tenth of all pairs, but at most a million.
        trust : float or None, default=None
            λ of the stochastic solver (section 6.2): the larger, the further a round may move from the last; None is 30, and
            the paper has 10.
        max_iter : int, default=300
            Largest number of iterations; for the stochastic solver, of rounds.
        tol : float, default=1e-5
            Stop when the residual is at most this. The stochastic solver computes the residual after each pass over the pairs.
        memory_size : int, default=10
            Number of steps that L-BFGS remembers.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the start and of batches; None draws a seed, which is kept in the Embedding.
        n_jobs : int or None, default=None
            Number of threads; None is that of the problem. Results have the same bytes for any number.
        verbose : bool or int, default=False
            Whether to show progress.
        callbacks : list of functions or None, default=None
            Called after each iteration with an IterationInfo; one that returns True stops the solver.
        time_limit : float or None, default=None
            Seconds after which to stop with the best embedding so far.
        checkpoint : path or None, default=None
            File for intermediate states; if it exists, the solver continues from it.
        checkpoint_every : float, default=60
            Seconds between two checkpoints.
        keep_frames : int, default=0
            Number of intermediate embeddings to keep.

        Returns
        -------
        Embedding
            The embedding, its objective and residual, the history, and how the solver ended.
        """
        from .solving import SolverSettings, solve

        settings = SolverSettings(
            solver=solver,
            batch_size=batch_size,
            trust=trust,
            max_iter=max_iter,
            tol=tol,
            memory_size=memory_size,
        )
        run = Run.of(
            random_state=random_state,
            n_jobs=self.n_threads if n_jobs is None else n_jobs,
            verbose=verbose,
            callbacks=callbacks,
            time_limit=time_limit,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            keep_frames=keep_frames,
        )
        return solve(cast("Problem | StreamProblem", self), init, settings, run)


def as_constraint(constraint: object) -> Constraint:
    """`constraint` itself, or the constraint that it names; Centered() for None."""
    if constraint is None:
        return Centered()
    if isinstance(constraint, str):
        known = {
            name: cls for name, cls in registered("constraints").items() if not needs_arguments(cls)
        }  # a name says no more
        made: Constraint = class_named("constraint", constraint, known, "a winkel.Constraint")()
        return made
    return instance(
        "constraint",
        constraint,
        Constraint,  # type: ignore[type-abstract]
        "Centered(), Standardized(), Anchored(indices, values) or an object of a subclass of winkel.Constraint",
    )


def as_placed_items(what: str, indices: ArrayLike, values: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Items and their positions as read-only arrays, checked against each other."""
    items, positions = np.array(indices), np.array(values, dtype=np.float64)
    if items.ndim != 1 or not np.issubdtype(items.dtype, np.integer) or not len(items):
        raise InvalidParameterError(
            f"{what} needs a vector of item numbers, at least one; got an array of {items.dtype}, shape {items.shape}."
        )
    if positions.ndim != 2 or len(positions) != len(items) or not np.isfinite(positions).all():
        raise InvalidParameterError(
            f"{what} needs one finite position per named item, an array of shape ({len(items)}, n_components); "
            f"got shape {positions.shape}{'' if np.isfinite(positions).all() else ' with values that are not finite'}."
        )
    if len(np.unique(items)) != len(items):
        raise InvalidParameterError(f"{what} names an item more than once; give each item one position.")
    items = items.astype(np.int64)
    items.flags.writeable = positions.flags.writeable = False
    return items, positions


def check_placed_items(what: str, items: IntArray, positions: FloatArray, n: int, m: int) -> None:
    """Raise if the items or positions do not fit n items in m dimensions."""
    if items.min() < 0 or items.max() >= n:
        raise InvalidParameterError(
            f"{what} names items from {items.min()} to {items.max()}; the problem has items 0 to {n - 1}."
        )
    if positions.shape[1] != m:
        raise InvalidParameterError(
            f"{what} gives positions in {positions.shape[1]} dimensions; the problem has n_components={m}."
        )


def _random_normal(n: int, m: int, seed: int) -> FloatArray:
    """Standard normal positions, a pure function of its arguments."""
    return Stream.named(seed, "constraint").normal((n, m))
