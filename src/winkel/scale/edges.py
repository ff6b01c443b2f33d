"""The attracting pairs, by shards. Each row gives a weight to every row that it lists; the weight of a pair is the sum of both directions.

    distances ──> gifts ──> sent (sorted by receiver) ──> pairs (for each row of a block, all rows it is paired with)

Every pair is kept by the blocks of both its rows, so that a block owns the rows of the gradient that it writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..methods.mde.neighbors import given
from ..run import Run
from .cells import Layout
from .engine import Engine
from .folder import Folder


@dataclass(frozen=True)
class Pairs:
    """Number of pairs, and the sum of their weights."""

    count: int
    weight: float


def make_pairs(
    folder: Folder, layout: Layout, n_neighbors: int, metric: str, engine: Engine, run: Run
) -> Pairs:
    """Write for every block b "indptr-b", "indices-b" and "weights-b", compressed rows of its pairs."""
    folder.create("gifts", folder.map("distances").shape, np.float32)
    folder.stage("given", engine, _give, layout.n_blocks, run, layout, n_neighbors, metric, engine.n_jobs)
    found = folder.stage("paired", engine, _pair, layout.n_blocks, run, layout)
    folder.remove(
        "gifts", *(f"{what}-{b}" for b in range(layout.n_blocks) for what in ("sent", "sent_gifts"))
    )
    return Pairs(sum(count for count, _ in found) // 2, sum(weight for _, weight in found) / 2)


def _give(number: int, folder: Folder, layout: Layout, n_neighbors: int, metric: str, n_jobs: int) -> None:
    """The weights that the rows of a block give, and the same weights sorted by the receiving row."""
    first, last = layout.span(number)
    index, distance = (folder.read(name, first, last) for name in ("neighbors", "distances"))
    if metric != "euclidean":  # of directions: 1 − cos is half the square
        distance = distance * distance * np.float32(0.5)
    gifts = given(distance, n_neighbors, Run(n_jobs=n_jobs))
    folder.write("gifts", first, gifts)
    receiver = index.ravel()
    giver = np.repeat(np.arange(first, last, dtype=np.int32), index.shape[1])
    order = np.argsort(receiver, kind="stable")
    folder.save(f"sent_gifts-{number}", gifts.ravel()[order])
    folder.save(f"sent-{number}", np.stack([receiver[order], giver[order]]))


def _pair(number: int, folder: Folder, layout: Layout) -> tuple[int, float]:
    """The compressed rows of a block: the weights that its rows give, plus those they receive."""
    first, last = layout.span(number)
    index = folder.read("neighbors", first, last)
    rows, k = index.shape
    shape = (rows, layout.n)
    gives = csr_matrix(
        (folder.read("gifts", first, last).ravel(), index.ravel(), np.arange(0, rows * k + 1, k)), shape=shape
    )
    gives.sort_indices()
    parts = [_received(folder, sender, first, last) for sender in range(layout.n_blocks)]
    to, giver, gifts = (np.concatenate([part[j] for part in parts]) for j in range(3))
    receives = csr_matrix((gifts, (to - first, giver)), shape=shape)
    both = gives + receives
    both.sort_indices()
    folder.save(f"indptr-{number}", both.indptr.astype(np.int64))
    folder.save(f"indices-{number}", both.indices.astype(np.int32))
    folder.save(f"weights-{number}", both.data.astype(np.float32))
    return int(both.nnz), float(np.sum(both.data, dtype=np.float64))


def _received(folder: Folder, sender: int, first: int, last: int) -> tuple[Any, ...]:
    """The weights that a block sent to rows first to last: receivers, senders and weights."""
    sent = folder.map(f"sent-{sender}")
    lo, hi = np.searchsorted(sent[0], [first, last])
    return (
        np.array(sent[0, lo:hi]),
        np.array(sent[1, lo:hi]),
        np.array(folder.map(f"sent_gifts-{sender}")[lo:hi]),
    )
