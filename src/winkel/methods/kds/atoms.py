"""How many atoms are enough: the error against their number (paper, appendix .5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data import as_matrix
from ...errors import InvalidParameterError
from ...resources import resolve_n_jobs, resolve_seed
from ...typing import FloatArray, RandomState
from .coding import LOCALITY, Coder, decode, encode
from .training import Plan, train

_HEADER = ("atoms", "objective", "error", "atoms a row", "unused")


@dataclass(frozen=True, eq=False)
class AtomErrors:
    """One entry for each number of atoms; prints as a table.

    `objective` is the mean of (6); `error` the part of the variance that codes do not give back; `atoms_per_row`
    how many atoms a row uses on average; `unused` how many atoms no row uses.
    """

    n_atoms: NDArray[np.int64]
    objective: NDArray[np.float64]
    error: NDArray[np.float64]
    atoms_per_row: NDArray[np.float64]
    unused: NDArray[np.int64]

    def __str__(self) -> str:
        lines = ["".join(f"{title:>14}" for title in _HEADER)]
        columns = (self.n_atoms, self.objective, self.error, self.atoms_per_row, self.unused)
        for m, objective, error, per_row, unused in zip(*columns):
            lines.append(f"{m:>14d}{objective:>14.6g}{error:>14.4f}{per_row:>14.2f}{unused:>14d}")
        return "\n".join(lines)


def error_by_atoms(
    X: FloatArray,
    n_atoms: Sequence[int],
    *,
    locality: float = LOCALITY,
    training: str = "alternating",
    max_iter: int = 50,
    tol: float = 1e-3,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> AtomErrors:
    """What each number of atoms makes of X; the error flattens where more atoms no longer help."""
    rows = as_matrix(X, allow_sparse=False)
    coder = Coder(locality, n_jobs=resolve_n_jobs(n_jobs))
    seed = resolve_seed(random_state)
    variance = float(np.var(rows, axis=0, dtype=np.float64).sum())
    found = []
    for m in n_atoms:
        if not 1 <= m <= len(rows):
            raise InvalidParameterError(
                f"n_atoms must hold numbers from 1 to {len(rows)} (the rows); got {m!r}."
            )
        trained = train(rows, coder, Plan(int(m), training, max_iter=max_iter, tol=tol, seed=seed))
        codes = encode(rows, trained.atoms, coder)
        lost = float(np.mean(np.sum((rows - decode(codes.matrix, trained.atoms)) ** 2, axis=1)))
        usage = np.asarray(codes.matrix.sum(axis=0))
        error = lost / variance if variance else 0.0
        found.append((codes.objective.mean(), error, codes.matrix.nnz / len(rows), (usage <= 0).sum()))
    objective, error_of, per_row, unused = (np.array(column) for column in zip(*found))
    return AtomErrors(
        np.array(n_atoms, dtype=np.int64), objective, error_of, per_row, unused.astype(np.int64)
    )
