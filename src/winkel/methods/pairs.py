"""Random pairs of items, never repeated and never among the pairs to avoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InvalidParameterError
from ..random import Stream
from ..typing import IntArray


def random_pairs(
    n: int, count: int, seed: int, *, avoid: IntArray | None = None, n_jobs: int = 1
) -> NDArray[np.int32]:
    """`count` different pairs i < j of n items, sorted, uniform among those that `avoid` (sorted pairs i < j) leaves."""
    barred = np.empty(0, dtype=np.int64) if avoid is None else avoid[:, 0].astype(np.int64) * n + avoid[:, 1]
    free = n * (n - 1) // 2 - len(barred)
    if not 0 <= count <= free:
        raise InvalidParameterError(f"{count} pairs were asked for; {n} items leave {free} to choose from.")
    if count <= free // 2:
        return _core.sample_pairs(n, count, seed, barred, n_jobs)
    # Most pairs are wanted, so they can all be listed: leave some out.
    i, j = np.triu_indices(n, 1)
    every = np.delete(np.arange(len(i)), np.searchsorted(i.astype(np.int64) * n + j, barred))
    if count < free:
        every = every[np.sort(Stream.named(seed, "random pairs").permutation(free)[:count])]
    return np.stack([i[every], j[every]], axis=1).astype(np.int32)
