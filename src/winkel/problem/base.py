"""What a Problem and a StreamProblem share: a constraint, threads, and `solve`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInputError
from ..resources import resolve_n_jobs
from ..run import CHECKPOINT_SECONDS, Run
from ..typing import FloatArray, RandomState
from .constraints import Constraint

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Self

    from ..embedding import Embedding
    from .problem import Problem
    from .stream_problem import StreamProblem


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
