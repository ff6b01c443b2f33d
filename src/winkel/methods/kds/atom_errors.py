"""How many atoms are enough: the error as a function of their number (paper, appendix .5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import choice, integer, number
from ...data import as_matrix
from ...run import Run
from ...typing import FloatArray, RandomState
from .coding import Coder, decode, encode
from .training import TRAININGS, Training, train

_HEADER = ("atoms", "objective", "error", "atoms a row", "unused")


@dataclass(frozen=True, eq=False)
class AtomErrors:
    """The error and other properties for each number of atoms; prints as a table.

    Parameters
    ----------
    n_atoms : ndarray of int
        Numbers of atoms.
    objective : ndarray of float
        Mean of objective (6) over the rows.
    error : ndarray of float
        Share of the variance that the codes do not reproduce.
    atoms_per_row : ndarray of float
        Number of atoms that a row uses on average.
    unused : ndarray of int
        Number of atoms that no row uses.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.kds import error_by_atoms
    >>> table = error_by_atoms(wk.datasets.load_digits().X[:200], (5, 20), max_iter=30, random_state=0)
    >>> bool(table.error[1] < table.error[0])
    True
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
    X: Any,
    n_atoms: Sequence[int],
    *,
    locality: float = 0.1,
    training: str = "alternating",
    batch_size: int = 4096,
    max_iter: int = 50,
    tol: float = 1e-3,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> AtomErrors:
    """The error of X for each number of atoms; it levels off when more atoms no longer help.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        Dense rows.
    n_atoms : sequence of int
        Numbers of atoms to try, each at most the number of rows.
    locality : float, default=0.1
        As in `winkel.KDS`; for `winkel.KDSClustering` use its default, 1.0.
    training : {"alternating", "minibatch", "gradient"}, default="alternating"
        How atoms are found, as in `winkel.KDS`.
    batch_size : int, default=4096
        Number of rows in a batch, for training="minibatch".
    max_iter : int, default=50
        Largest number of passes over the data.
    tol : float, default=0.001
        Relative decrease of the objective at which to stop.
    random_state : int, numpy Generator or None, default=None
        The seed.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    AtomErrors
        One entry for each number of atoms.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.kds import error_by_atoms
    >>> X = wk.datasets.load_digits().X[:300]
    >>> error_by_atoms(X, (10, 40), max_iter=30, random_state=0).n_atoms
    array([10, 40])
    """
    rows = as_matrix(X, allow_sparse=False)
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    coder = Coder(locality)
    plans = [
        Training(
            n_atoms=integer("n_atoms", m, 1, len(rows)),
            coder=coder,
            method=choice("training", training, TRAININGS),
            init="kmeans++",
            batch_size=integer("batch_size", batch_size, 1),
            max_iter=integer("max_iter", max_iter, 0),
            tol=number("tol", tol, 0.0),
        )
        for m in n_atoms
    ]
    found = [_errors(rows, plan, run) for plan in plans]
    objective, error, per_row, unused = (np.array(column) for column in zip(*found))
    return AtomErrors(np.array(n_atoms, dtype=np.int64), objective, error, per_row, unused.astype(np.int64))


def _errors(rows: FloatArray, training: Training, run: Run) -> tuple[float, float, float, int]:
    """Mean objective, relative error, atoms a row, and unused atoms."""
    atoms = train(rows, training, run).atoms
    codes = encode(rows, atoms, training.coder, run)
    lost = float(np.mean(np.sum((rows - decode(codes.matrix, atoms)) ** 2, axis=1)))
    variance = float(np.var(rows, axis=0, dtype=np.float64).sum())
    usage = np.asarray(codes.matrix.sum(axis=0))
    return (
        float(codes.objective.mean()),
        lost / variance if variance else 0.0,
        codes.matrix.nnz / len(rows),
        int((usage <= 0).sum()),
    )
