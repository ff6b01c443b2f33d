"""The minimum-distortion embedding problem: average distortion, gradient and diagnostics of any embedding."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInputError, InvalidParameterError
from ..resources import resolve_n_jobs
from ..run import CHECKPOINT_SECONDS, Run
from ..typing import FloatArray, IntArray, RandomState
from .constraints import Constraint, as_constraint, as_placed_items, check_placed_items
from .distortions import as_distortion
from .distortions.base import as_weights
from .field import Field, Kernel
from .packing import PairPlan, pack_pairs
from .validation import GroupBias, Redundancy, distortion_cdf, group_bias, redundancy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from ..embedding import Embedding
    from .stream_problem import StreamProblem


class Pulls:
    """Soft positions: each named item is drawn to its target by w‖yᵢ − tᵢ‖²."""

    def __init__(self, indices: ArrayLike, targets: ArrayLike, weights: ArrayLike = 1.0) -> None:
        self.indices, self.targets = as_placed_items("Pulls", indices, targets)
        self.weights = np.asarray(as_weights(weights))
        if self.weights.ndim and len(self.weights) != len(self.indices):
            raise InvalidParameterError(
                f"Pulls needs a weight for all items or one each; got {len(self.weights)} for {len(self.indices)} items."
            )
        if (self.weights < 0).any():
            raise InvalidParameterError("Pulls needs weights that are zero or positive; got a negative one.")

    def add(self, Y: FloatArray, scale: float, gradient: FloatArray) -> float:
        """Sum of the terms; adds `scale` times their gradient to `gradient`."""
        offset = Y[self.indices].astype(np.float64) - self.targets
        weighted = self.weights[..., None] * offset
        gradient[self.indices] += (2.0 * scale * weighted).astype(gradient.dtype)
        return float(np.sum(weighted * offset))


class Constrained(ABC):
    """What every problem has: the embeddings it allows, threads to work with, and a solution."""

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
        """The same problem worked on by another number of threads."""
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
            Where to begin; the nearest allowed embedding is taken. None draws a random one.
        solver : {"auto", "lbfgs", "stochastic", "linear", "eigen"}, default="auto"
            "lbfgs" is projected L-BFGS. "stochastic" works on `batch_size` pairs at a time; a StreamProblem takes no
            other. "linear" solves anchored quadratic problems exactly, in double precision, whatever the start, and "eigen"
            standardized ones. "auto" takes an exact solver where there is one, and "lbfgs" elsewhere.
        batch_size : int or None, default=None
            Pairs in a batch of the stochastic solver; None takes a tenth of them, or a million if that is less.
        max_iter : int, default=300
            Iterations at most; for the stochastic solver, rounds.
        tol : float, default=1e-5
            Stop when the residual is at most this. The stochastic solver finds the residual after each pass over the pairs.
        memory_size : int, default=10
            Steps that L-BFGS remembers.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the start and of batches; None draws one, which the Embedding keeps.
        n_jobs : int or None, default=None
            Number of threads; None is that of the problem. Results have the same bytes for any.
        verbose : bool or int, default=False
            Whether to show progress.
        callbacks : list of functions or None, default=None
            Called after each iteration with an IterationInfo; one that returns True stops the solver.
        time_limit : float or None, default=None
            Seconds after which to stop with what is there.
        checkpoint : path or None, default=None
            File to write on the way, and to go on from if it exists.
        checkpoint_every : float, default=60
            Seconds between two checkpoints.
        keep_frames : int, default=0
            How many iterates to keep on the way.

        Returns
        -------
        Embedding
            The embedding, its objective and residual, the history, and how the solver ended.
        """
        from .solving import SolverSettings, solve

        settings = SolverSettings(
            solver=solver, batch_size=batch_size, max_iter=max_iter, tol=tol, memory_size=memory_size
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


class Problem(Constrained):
    """Minimise (1/p) Σ f(dᵢⱼ) over embeddings Y that a constraint allows, where dᵢⱼ = ‖yᵢ − yⱼ‖ for p pairs (i, j).

    Parameters
    ----------
    edges : array of int, shape (p, 2)
        The pairs. Items are numbered from 0; no item is paired with itself, and no pair is listed twice.
    distortion : Distortion
        One of `winkel.penalties` or `winkel.losses`, an object with `value(d)` and `derivative(d)`, or a
        function of a torch vector of distances.
    n_items : int, optional
        The number of items; by default the largest in `edges`, plus one.
    n_components : int
        The dimension of the embedding.
    constraint : Constraint
        Centered(), Standardized(), Anchored(indices, values) or a user's own.
    pulls : Pulls, optional
        Soft positions, adding (1/p) Σ w‖yᵢ − tᵢ‖² to the average distortion.
    background : penalty, optional
        A penalty with one weight for all pairs of items, adding (1/p) Σ_{i<j} w f(dᵢⱼ): repulsion without sampling.
        In two and three dimensions it is summed as a field, within a relative error of 10⁻³ of the forces.
    charges : array, shape (n_items,), optional
        How much each item counts in the background: the term of a pair is multiplied by those of its two items.
    n_jobs : int, optional
        The number of threads. Results have the same bytes for any.

    Embeddings are float64 when given so, and float32 otherwise.
    """

    def __init__(
        self,
        edges: ArrayLike,
        distortion: object,
        *,
        n_items: int | None = None,
        n_components: int = 2,
        constraint: Constraint | None = None,
        pulls: Pulls | None = None,
        background: object | None = None,
        charges: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.edges = _checked_edges(edges, n_items)
        self.n_items = int(self.edges.max()) + 1 if n_items is None else int(n_items)
        self.n_components = _checked_components(n_components, self.n_items)
        self.distortion = as_distortion(distortion)
        self.n_threads = resolve_n_jobs(n_jobs)
        self.constraint = as_constraint(constraint).with_threads(self.n_threads)
        self.pulls = pulls
        self.background = None if background is None else as_distortion(background)
        self.charges = None if charges is None else np.asarray(charges, dtype=np.float64)
        self._kernel = None if self.background is None else Kernel.of(self.background)
        self._plans: dict[str, PairPlan] = {}
        self._check_parts()

    @property
    def n_pairs(self) -> int:
        """The number of pairs p."""
        return len(self.edges)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an embedding."""
        return (self.n_items, self.n_components)

    def with_jobs(self, n_jobs: int | None) -> Problem:
        """The same problem worked on by another number of threads; the packed pairs are shared."""
        other = super().with_jobs(n_jobs)
        other._plans = self._plans
        return other

    def __getstate__(self) -> dict[str, object]:
        """What a pickle or a copy holds: all but the packed pairs, which are made again when needed."""
        return {**self.__dict__, "_plans": {}}

    def restricted(self, pairs: ArrayLike) -> Problem:
        """The problem of some of the pairs, given by their numbers; pairs keep their order."""
        numbers = np.unique(np.asarray(pairs, dtype=np.int64))
        if not len(numbers) or numbers[0] < 0 or numbers[-1] >= self.n_pairs:
            raise InvalidParameterError(
                f"pairs must name at least one of the pairs 0 to {self.n_pairs - 1}; got {pairs!r}."
            )
        other = copy.copy(self)
        other.edges = self.edges[numbers]
        other.edges.flags.writeable = False
        other.distortion = self.distortion.take(numbers, self.n_pairs)
        return other

    def distances(self, Y: ArrayLike) -> FloatArray:
        """The distance of each pair, shape (p,)."""
        return self._distances(self.check_embedding(Y))

    def distortions(self, Y: ArrayLike) -> FloatArray:
        """The distortion of each pair, shape (p,)."""
        return self.distortion.value(self.distances(Y))

    def average_distortion(self, Y: ArrayLike) -> float:
        """The objective: mean distortion of the pairs, with pulls and background if there are any."""
        return self.evaluate(self.check_embedding(Y))[0]

    def gradient(self, Y: ArrayLike) -> tuple[float, FloatArray]:
        """The average distortion and its gradient, from one pass over the pairs."""
        return self.evaluate(self.check_embedding(Y))

    def residual(self, Y: ArrayLike) -> float:
        """Frobenius norm of the gradient projected on the constraint's tangents at Y: zero where Y is stationary."""
        array = self.check_embedding(Y)
        tangent = self.project_tangent(array, self.evaluate(array)[1])
        return float(np.sqrt(np.sum(np.square(tangent, dtype=np.float64))))

    def high_distortion_pairs(self, Y: ArrayLike, k: int) -> tuple[IntArray, FloatArray]:
        """The k pairs of largest distortion, shape (k, 2), and their distortions, largest first."""
        if not 1 <= k <= self.n_pairs:
            raise InvalidParameterError(f"k must lie in [1, {self.n_pairs}], the number of pairs; got {k}.")
        distortions = self.distortions(Y)
        worst = np.argsort(-distortions, kind="stable")[:k]
        return self.edges[worst].astype(np.int64), distortions[worst]

    def distortion_cdf(self, Y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Distortions of all pairs in ascending order, and the share of pairs with at most that distortion."""
        return distortion_cdf(self, Y)

    def group_bias(self, Y: ArrayLike, groups: Mapping[Any, ArrayLike] | ArrayLike) -> GroupBias:
        """Average distortion of the pairs that touch each group; see `winkel.problem.validation`."""
        return group_bias(self, Y, groups)

    def redundancy(
        self, fraction: float = 0.2, *, init: ArrayLike | None = None, random_state: RandomState = None
    ) -> Redundancy:
        """Average distortion of held-out pairs against that of fitted ones; see `winkel.problem.validation`."""
        return redundancy(self, fraction, init=init, random_state=random_state)

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """`gradient` for a Y already checked; this is what solvers call."""
        plan, scale = self._plan(Y), 1.0 / self.n_pairs
        gradient = np.empty_like(Y)
        if plan.fused:
            total = plan.core.evaluate(Y, scale, None, gradient, self.n_threads)
        else:
            d = self._distances(Y)
            value, slope = self.distortion.value_and_derivative(d)
            # slope is proportional to d below the floor, so the quotient has a limit and no pair divides by zero.
            factors = slope / np.maximum(d, np.finfo(d.dtype).tiny)
            total = float(np.sum(value, dtype=np.float64))
            plan.core.evaluate(Y, scale, factors.astype(Y.dtype), gradient, self.n_threads)
        if self.pulls is not None:
            total += self.pulls.add(Y, scale, gradient)
        if self._kernel is not None:
            sums = self._field.evaluate(Y, self.charges)
            total += sums.total
            forces = sums.forces if sums.charges is None else sums.charges[:, None] * sums.forces
            gradient += Y.dtype.type(scale) * forces
        return total * scale, gradient

    @property
    def _field(self) -> Field:
        assert self._kernel is not None
        tolerance = self._kernel.tolerance
        return Field(self._kernel, self.n_components, tolerance=tolerance, n_jobs=self.n_threads)

    def with_background(self, share: float) -> Problem:
        """The same problem with `share` times its background; the packed pairs are shared."""
        assert self._kernel is not None
        other = copy.copy(self)
        other._plans = self._plans
        other._kernel = replace(self._kernel, weight=share * self._kernel.weight)
        return other

    def _distances(self, Y: FloatArray) -> FloatArray:
        return np.asarray(_core.pair_distances(self.edges, Y, self.n_threads))

    def _plan(self, Y: FloatArray) -> PairPlan:
        key = Y.dtype.name
        if key not in self._plans:
            self._plans[key] = pack_pairs(self.edges, self.distortion.fused(), *self.shape, Y.dtype)
        return self._plans[key]

    def _check_parts(self) -> None:
        needed = self.distortion.n_pairs
        if needed is not None and needed != self.n_pairs:
            raise InvalidParameterError(
                f"The distortion holds data for {needed} pairs, and edges lists {self.n_pairs}; they must be as many."
            )
        self.constraint.check(*self.shape)
        if self.pulls is not None:
            check_placed_items("Pulls", self.pulls.indices, self.pulls.targets, *self.shape)
        q = self.charges
        if q is not None and (
            self.background is None or q.shape != (self.n_items,) or not np.isfinite(q).all()
        ):
            raise InvalidParameterError(
                f"charges go with a background and must be finite, of shape ({self.n_items},); "
                f"got shape {q.shape} and background={self.background!r}."
            )


def _checked_components(n_components: int, n: int) -> int:
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer) or n_components < 1:
        raise InvalidParameterError(f"n_components must be a positive integer; got {n_components!r}.")
    if n * (int(n_components) + 7) >= 2**31:  # the core pads rows by up to seven components
        raise InvalidParameterError(
            f"An embedding may have just under 2**31 entries; {n} items in {n_components} dimensions are more. "
            "Use fewer components, or embed a sample as landmarks."
        )
    return int(n_components)


def _checked_edges(edges: ArrayLike, n_items: int | None) -> NDArray[np.int32]:
    """Pairs as a read-only contiguous int32 array, checked."""
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            "edges must be an integer array of shape (p, 2) with at least one pair; "
            f"got an array of {array.dtype}, shape {array.shape}."
        )
    if n_items is not None and (isinstance(n_items, bool) or not 2 <= n_items < 2**31):
        raise InvalidParameterError(f"n_items must lie in [2, 2**31); got {n_items!r}.")
    n = 2**31 - 1 if n_items is None else int(n_items)
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n:
        k = int(np.argmax(((array < 0) | (array >= n)).any(axis=1)))
        raise InvalidInputError(
            f"edges must name items from 0 to {n - 1}; pair {k} is {tuple(map(int, array[k]))}."
        )
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        k = int(np.argmax(loops))
        raise InvalidInputError(
            f"edges must pair different items; pair {k} is {tuple(map(int, array[k]))}. Drop such pairs."
        )
    _check_unique(array)
    out = np.array(array, dtype=np.int32, order="C")
    out.flags.writeable = False
    return out


def _check_unique(edges: IntArray) -> None:
    keys = edges.min(axis=1).astype(np.int64) * 2**31 + edges.max(axis=1)
    if (keys[1:] > keys[:-1]).all():
        return
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if len(same):
        a, b = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise InvalidInputError(
            f"edges must list each pair once; pairs {a} and {b} are both {tuple(map(int, edges[a]))} "
            f"({len(same)} repeats). Merge them and add up their weights."
        )
