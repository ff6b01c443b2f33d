"""The embedding of rows and atoms by the code graph, at the price of an m × m eigenproblem (section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Ascending eigenvalues μ of the Schur complement, and the positions of the atoms (m × k)."""

    values: NDArray[np.float64]
    atoms: NDArray[np.float64]


def code_spectrum(
    codes: sp.csr_array, k: int, *, constant: bool = False, ridge: float = 0.0, loops: float = 1.0
) -> Spectrum:
    """The k smoothest functions on the graph in which row i and atom j are joined with weight x_ij.

    Eliminating the rows leaves the Schur complement L_A = diag(X1) − XXᵀ; the atoms' positions solve
    L_A q = μ diag(X1) q, of unit variance over the edges, and a row's place is the mean of its atoms', Q_Y = Q_A X.
    These are the eigenvectors of the normalized Laplacian of the whole graph of n + m nodes. The constant one
    (μ = 0) is left out unless asked for. Atoms that no row uses are in the origin.

    `loops` says how much of the weight that an atom shares with no other, diag(XXᵀ), counts in the norm. With less than 1
    it is L_A q = μ (diag(L_A) + loops diag(XXᵀ)) q; with 0, the normalized Laplacian of the atoms' graph without loops.
    Then an atom that most of its rows use alone no longer looks like a cluster.

    With a `ridge`, that part of the mean norm is added to every atom's: then a few rows that hang together
    by themselves no longer make a smooth function of their own (the regularized Laplacian of Amini et al. 2013).
    """
    usage = np.asarray(codes.sum(axis=0), dtype=np.float64)
    used = np.flatnonzero(usage > 0)
    joint = (codes.T @ codes).tocsr()[used][:, used].toarray()
    alone = np.diagonal(joint).copy()
    np.fill_diagonal(joint, loops * alone)
    norm = usage[used] - (1.0 - loops) * alone
    root = np.sqrt(norm + ridge * norm.mean())
    joint = joint / np.outer(root, root)
    flat = root / np.linalg.norm(root)
    if not constant:
        joint = joint - np.outer(flat, flat)
    joint = (joint + joint.T) / 2
    wanted = min(k, len(used))
    with threadpool_limits(1, user_api="blas"):
        values, vectors = np.linalg.eigh(joint)  # all of them: solvers for a few lose equal eigenvalues
    values, vectors = values[::-1][:wanted], vectors[:, ::-1][:, :wanted]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(wanted)] < 0, -1.0, 1.0)
    atoms = np.zeros((codes.shape[1], k))
    atoms[used, :wanted] = vectors / flat[:, None]
    return Spectrum(np.clip(1.0 - values, 0.0, None), atoms)
