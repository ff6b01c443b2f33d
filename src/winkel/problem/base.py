"""What a Problem and a StreamProblem share: pairs, checked and packed for the core; a constraint, threads, and `solve`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..checks import integer
from ..errors import InvalidInputError, InvalidParameterError
from ..resources import resolve_n_jobs
from ..run import CHECKPOINT_SECONDS, Run
from ..typing import FloatArray, IntArray, RandomState
from .constraints import Constraint
from .distortions import FusedPart

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Self

    from ..embedding import Embedding
    from .problem import Problem
    from .stream_problem import StreamProblem


def checked_components(n_components: int, n: int) -> int:
    """`n_components`, checked to fit n items."""
    m = integer("n_components", n_components, 1)
    if n * (m + 7) >= 2**31:  # the core pads rows by up to seven components
        raise InvalidParameterError(
            f"An embedding may have just under 2**31 entries; {n} items in {n_components} dimensions are more. "
            "Use fewer components, or embed a sample as landmarks."
        )
    return m


def checked_edges(edges: ArrayLike, n_items: int | None) -> NDArray[np.int32]:
    """Pairs as a read-only contiguous int32 array, checked."""
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            "edges must be an integer array of shape (p, 2) with at least one pair; "
            f"got an array of {array.dtype}, shape {array.shape}."
        )
    n = 2**31 - 1 if n_items is None else integer("n_items", n_items, 2, 2**31 - 1)
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


@dataclass(frozen=True)
class PairPlan:
    """Packed pairs, and whether they carry a fused distortion or take factors from outside at each evaluation."""

    core: Any  # PairPlan32 or PairPlan64, as the embedding's precision asks
    fused: bool


def pack_pairs(
    edges: IntArray, parts: tuple[FusedPart, ...], n: int, m: int, dtype: np.dtype[np.generic]
) -> PairPlan:
    """The plan for `edges` with the fused `parts` of their distortion, or without when there are none."""
    plan_type = _core.PairPlan64 if dtype == np.float64 else _core.PairPlan32
    core: Any = plan_type(n, m)
    for part in parts:
        pairs = edges if part.pairs is None else np.ascontiguousarray(edges[part.pairs])
        weights = np.asarray(part.weights, dtype=np.float64)
        same = weights.ndim == 0 or bool((weights == weights[0]).all())
        common = float(weights.flat[0])
        deviations = None if part.deviations is None else np.asarray(part.deviations, dtype=np.float64)
        core.add(
            part.kernel,
            part.first,
            part.second,
            part.floor,
            pairs,
            None if same else weights,
            common,
            deviations,
        )
    if not parts:
        core.add("factors", 0.0, 0.0, 0.0, edges, None, 1.0, None)
    return PairPlan(core, bool(parts))


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
            Where to begin; the nearest allowed embedding is taken. None draws a random one.
        solver : {"auto", "lbfgs", "stochastic", "linear", "eigen"}, default="auto"
            "lbfgs" is projected L-BFGS. "stochastic" works on `batch_size` pairs at a time; a StreamProblem takes no
            other. "linear" solves anchored quadratic problems exactly, in double precision, whatever the start, and "eigen"
            standardized ones. "auto" takes an exact solver where there is one, and "lbfgs" elsewhere.
        batch_size : int or None, default=None
            Pairs in a batch of the stochastic solver; None takes a tenth of them, or a million if that is less.
        trust : float or None, default=None
            λ of the stochastic solver (section 6.2): the larger, the further a round may move from the last; None is 30, and
            the paper has 10.
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
