"""The minimum-distortion embedding problem on pairs that come in batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import norm
from ..errors import InvalidParameterError
from ..run import resolve_n_jobs
from ..typing import FloatArray
from .constraints import Constrained, Constraint, as_constraint
from .distortions import Distortion, as_distortion
from .problem import Problem, Pulls
from .stream import ArrayStream, EdgeStream

# Pairs worked on at once when nobody says how many: some hundred megabytes.
DEFAULT_BATCH = 1_000_000
PARTS = 10  # batches that make a pass, at least, as in section 7.3


class StreamProblem(Constrained):
    """A Problem whose pairs are drawn batch by batch from a stream, and are never all in memory.

    Parameters
    ----------
    stream : EdgeStream
        The pairs: an ArrayStream, a ChunkStream, `open_edges(path)`, or an object with the same methods.
    distortion : callable or Distortion
        A callable that makes the distortion of a batch from the vectors that come with its pairs: `penalties.Quadratic`
        for weights, `losses.Absolute` for deviations, or a function such as
        `lambda w: penalties.PushAndPull(w, penalties.Log1p, penalties.Log)`. A distortion that holds no data
        of pairs may be passed directly.
    n_components : int, default=2
        The dimension of the embedding.
    constraint : Constraint, str or None, default=None
        As in `Problem`.
    pulls : Pulls or None, default=None
        As in `Problem`.
    n_jobs : int or None, default=None
        The number of threads. Results have the same bytes for any number.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> from winkel.problem import ArrayStream, StreamProblem
    >>> edges = np.stack(np.triu_indices(30, 1), axis=1)
    >>> distances = np.abs(edges[:, 0] - edges[:, 1]) / 10
    >>> problem = StreamProblem(ArrayStream(edges, distances), wk.losses.Quadratic, n_components=1)
    >>> found = problem.solve(batch_size=100, max_iter=20, random_state=0)
    >>> found.Y.shape
    (30, 1)
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
        self.n_threads = resolve_n_jobs(n_jobs)
        self.constraint = as_constraint(constraint).with_threads(self.n_threads)
        self.pulls = pulls
        self.batch(0, min(self.n_pairs, 1024), 0)  # a first look, so that what does not fit shows at once

    @classmethod
    def of(cls, problem: Problem) -> StreamProblem:
        """The StreamProblem of a problem in memory, so that it can be solved in batches."""
        rows = np.arange(problem.n_pairs)
        return cls(
            ArrayStream(problem.edges, rows, n_items=problem.n_items),
            partial(problem.distortion.take, n_pairs=problem.n_pairs),
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
        """A tenth of the pairs, but not more than fit easily into memory."""
        return min(-(-self.n_pairs // PARTS), DEFAULT_BATCH)

    def n_batches(self, size: int) -> int:
        """The number of batches of about `size` pairs that make one pass."""
        return self.stream.n_batches(size)

    def batch(self, t: int, size: int, seed: int) -> Problem:
        """The Problem of batch t. The mean of the batches' objectives over a pass is the objective of all pairs."""
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
        return value, norm(tangent)

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


def _for_any_pairs(distortion: object) -> Distortion:
    made = as_distortion(distortion)
    if made.n_pairs is not None:
        raise InvalidParameterError(
            f"The distortion of a stream must hold no data of pairs, since the stream gives them; got {made!r}. "
            "Give its class, or a function that makes it from the stream's vectors."
        )
    return made
