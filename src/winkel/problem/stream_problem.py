"""The minimum-distortion embedding problem on pairs that come in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidParameterError
from ..resources import resolve_n_jobs
from ..typing import FloatArray, RandomState
from .constraints import Centered, Constraint
from .constraints.base import working_threads
from .distortions import Distortion, as_distortion
from .problem import Problem, Pulls, checked_embedding
from .stream import ArrayStream, EdgeStream

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ..embedding import Embedding

# Pairs worked on at once when nobody says how many: some hundred megabytes.
DEFAULT_BATCH = 1_000_000
LARGEST_PART = 0.1  # of all pairs, as in section 7.3


class StreamProblem:
    """A Problem whose pairs are drawn batch by batch from a stream, and never held together.

    Parameters
    ----------
    stream : EdgeStream
        The pairs: an ArrayStream, a ChunkStream, `open_edges(path)`, or an object with the same methods.
    distortion : callable or Distortion
        What makes the distortion of a batch from the vectors that come with its pairs: `penalties.Quadratic`
        for weights, `losses.Absolute` for deviations, or a function such as
        `lambda w: penalties.PushAndPull(w, penalties.Log1p, penalties.Log)`. A distortion that holds no data
        of pairs may be given as it is.
    n_components, constraint, pulls, n_jobs
        As in Problem.
    """

    def __init__(
        self,
        stream: EdgeStream,
        distortion: Callable[..., Any] | Distortion | object,
        *,
        n_components: int = 2,
        constraint: Constraint | None = None,
        pulls: Pulls | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.stream = stream
        self.distortion = distortion if callable(distortion) else _for_any_pairs(distortion)
        self.n_components = n_components
        self.constraint = Centered() if constraint is None else constraint
        self.pulls = pulls
        self.n_threads = resolve_n_jobs(n_jobs)
        self.batch(0, min(self.n_pairs, 1024), 0)  # a first look, so that what does not fit shows at once

    @classmethod
    def of(cls, problem: Problem) -> StreamProblem:
        """A problem in memory, to be solved in batches."""
        rows = np.arange(problem.n_pairs)
        return cls(
            ArrayStream(problem.edges, rows, n_items=problem.n_items),
            problem.distortion.take,
            n_components=problem.n_components,
            constraint=problem.constraint,
            pulls=problem.pulls,
            n_jobs=problem.n_threads,
        )

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.stream.n_items

    @property
    def n_pairs(self) -> int:
        """The number of pairs p."""
        return self.stream.n_pairs

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an embedding."""
        return (self.n_items, self.n_components)

    @property
    def default_batch_size(self) -> int:
        """A tenth of the pairs, but no more than fit well in memory."""
        return int(min(max(LARGEST_PART * self.n_pairs, 1), DEFAULT_BATCH))

    def n_batches(self, size: int) -> int:
        """The number of batches of about `size` pairs that make one pass."""
        return self.stream.n_batches(size)

    def batch(self, t: int, size: int, seed: int) -> Problem:
        """The Problem of batch t, whose objective has that of all pairs for its mean over a pass."""
        drawn = self.stream.batch(t, size, seed)
        pulls = self.pulls
        if pulls is not None:
            # A batch divides by its own number of pairs; the pulls must count as they do among all of them.
            part = len(drawn.edges) / self.n_pairs
            pulls = Pulls(pulls.indices, pulls.targets, pulls.weights * part)
        distortion = self.distortion
        return Problem(
            drawn.edges,
            distortion if isinstance(distortion, Distortion) else as_distortion(distortion(*drawn.data)),
            n_items=self.n_items,
            n_components=self.n_components,
            constraint=self.constraint,
            pulls=pulls,
            n_jobs=self.n_threads,
        )

    def average_distortion(self, Y: ArrayLike) -> float:
        """The objective over all pairs, in one pass."""
        return self.evaluate_all(self.check_embedding(Y))[0]

    def residual(self, Y: ArrayLike) -> float:
        """Norm of the projected gradient of the objective over all pairs, in one pass."""
        return self.measure(self.check_embedding(Y))[1]

    def measure(
        self, Y: FloatArray, size: int | None = None, seed: int = 0, epoch: int = 0
    ) -> tuple[float, float]:
        """Average distortion and residual over all pairs, in one pass."""
        value, gradient = self.evaluate_all(Y, size, seed, epoch)
        tangent = self.project_tangent(Y.astype(np.float64), gradient)
        return value, float(np.linalg.norm(tangent))

    def evaluate_all(
        self, Y: FloatArray, size: int | None = None, seed: int = 0, epoch: int = 0
    ) -> tuple[float, FloatArray]:
        """Average distortion over all pairs and its gradient (float64), from pass number `epoch` over the batches."""
        size = self.default_batch_size if size is None else size
        count = self.n_batches(size)
        total, gradient = 0.0, np.zeros(self.shape)
        for t in range(epoch * count, (epoch + 1) * count):
            part = self.batch(t, size, seed)
            value, slope = part.evaluate(Y)
            share = part.n_pairs / self.n_pairs
            total += share * value
            gradient += share * slope
        return total, gradient

    def project(self, Y: FloatArray) -> FloatArray:
        """The allowed embedding nearest to Y."""
        with working_threads(self.n_threads):
            return self.constraint.project(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """The direction nearest to G that the constraint allows at Y."""
        with working_threads(self.n_threads):
            return self.constraint.project_tangent(Y, G)

    def check_embedding(self, Y: ArrayLike) -> FloatArray:
        """Y as a contiguous float array of the right shape, checked to be finite."""
        return checked_embedding(Y, self.shape)

    def solve(
        self,
        init: ArrayLike | None = None,
        *,
        batch_size: int | None = None,
        max_iter: int = 300,
        tol: float = 1e-5,
        memory: int = 10,
        random_state: RandomState = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] = (),
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
        keep_frames: int = 0,
    ) -> Embedding:
        """The Embedding that the stochastic proximal method finds in `max_iter` rounds of `batch_size` pairs.

        It ends before that when the residual over all pairs, taken after each pass, is at most `tol`. The
        rest is as in `Problem.solve`.
        """
        # The one look upwards, so that a problem can be solved where it stands.
        from ..methods.mde import solve

        return solve(
            self,
            init=init,
            solver="stochastic",
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            memory=memory,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
            time_limit=time_limit,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            keep_frames=keep_frames,
        )


def _for_any_pairs(distortion: object) -> Distortion:
    made = as_distortion(distortion)
    if made.n_pairs is not None:
        raise InvalidParameterError(
            f"The distortion of a stream must hold no data of pairs, since the stream gives them; got {made!r}. "
            "Give its class, or a function that makes it from the stream's vectors."
        )
    return made
