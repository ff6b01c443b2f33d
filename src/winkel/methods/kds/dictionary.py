"""The dictionary: where atoms start, the best atoms for given codes (Theorem 3), and unused atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...algebra import matmul, solve_positive
from ...errors import InvalidInputError
from ...run import Run
from ...typing import FloatArray, IntArray
from ..rows import Rows, as_dense, product, row_norms
from .coding import weighted_sums

STARTS = ("kmeans++", "random")
_ROWS_PER_ATOM = 8  # number of rows per atom that k-means++ uses, but at least _LEAST_ROWS in total
_LEAST_ROWS = 4096
_SHARE = 20  # rows for each atom, enough to join it with each of its neighbours; with fewer, clusters depend on the seed
_FEWEST, _MOST = 10, 500  # atoms that are suggested


@dataclass(frozen=True, eq=False)
class Sums:
    """Everything on which the best dictionary depends: the products of codes XXᵀ (m × m), their sums X1, and YXᵀ as m × d."""

    products: NDArray[np.float64]
    usage: NDArray[np.float64]
    rows: NDArray[np.float64]

    @classmethod
    def of(cls, codes: sp.csr_array, rows: Rows, center: NDArray[np.float64], run: Run) -> Sums:
        """The sums over rows, which are taken less `center`."""
        products = (codes.T @ codes).toarray()
        usage = np.asarray(codes.sum(axis=0), dtype=np.float64)
        return cls(products, usage, weighted_sums(codes, rows, center, run))

    def blended(self, new: Sums, keep: float) -> Sums:
        """`keep` times these sums and the new ones."""
        return Sums(
            keep * self.products + new.products, keep * self.usage + new.usage, keep * self.rows + new.rows
        )

    def best_atoms(self, locality: float, otherwise: FloatArray) -> NDArray[np.float64]:
        """A* = (1 + 2λ) YXᵀ (XXᵀ + 2λ diag(X1))⁻¹ (Theorem 3); atoms that no row uses are those of `otherwise`."""
        atoms = np.array(otherwise, dtype=np.float64)
        used = np.flatnonzero(self.usage > 0)
        H = self.products[np.ix_(used, used)] + 2 * locality * np.diag(self.usage[used])
        best = solve_positive(H, (1 + 2 * locality) * self.rows[used])
        if best is None:
            raise np.linalg.LinAlgError("the products of the codes are not positive definite")
        atoms[used] = best
        return atoms


def dictionary_gradient(sums: Sums, atoms: FloatArray, locality: float) -> NDArray[np.float64]:
    """The gradient of objective (6) in the atoms (m × d), the codes held: (XXᵀ + 2λ diag(X1)) A − (1 + 2λ) XYᵀ."""
    curved = matmul(sums.products, atoms) + 2 * locality * sums.usage[:, None] * atoms
    return np.asarray(curved - (1 + 2 * locality) * sums.rows)


def suggested_atoms(n: int) -> int:
    """The number of atoms for n rows: with few rows per atom, few rows connect it to others, and the graph falls apart."""
    return min(n, max(_FEWEST, min(_MOST, n // _SHARE)))


def start_atoms(rows: Rows, m: int, init: str | FloatArray, run: Run) -> NDArray[np.float64]:
    """The m initial atoms: rows far from each other ("kmeans++"), random rows ("random"), or an array of atoms."""
    if not isinstance(init, str):
        if init.shape != (m, rows.shape[1]):
            raise InvalidInputError(
                f"init must hold {m} finite atoms of {rows.shape[1]} features; got shape {init.shape}."
            )
        return np.array(init, dtype=np.float64)
    order = run.stream("kds start").permutation(rows.shape[0])
    if init == "random":
        return np.asarray(as_dense(rows[np.sort(order[:m])]), dtype=np.float64)
    sample = rows[np.sort(order[: max(_LEAST_ROWS, _ROWS_PER_ATOM * m)])]
    return np.asarray(as_dense(sample[spread_rows(sample, m, run)]), dtype=np.float64)


def spread_rows(rows: Rows, m: int, run: Run) -> IntArray:
    """Indices of m rows, each drawn with a probability proportional to its squared distance to the rows drawn before (k-means++)."""
    draws = run.stream("kds k-means++").uniform(m)
    n = rows.shape[0]
    if sp.issparse(rows):
        seen, norms = rows, np.square(row_norms(rows))
    else:
        seen = np.asarray(rows - rows.mean(axis=0, dtype=np.float64), dtype=rows.dtype)
        norms = np.einsum("ij,ij->i", seen, seen, dtype=np.float64)
    chosen = np.empty(m, dtype=np.int64)
    nearest = np.full(n, np.inf)
    odds = np.ones(n)
    for i, draw in enumerate(draws):
        total = np.cumsum(odds)
        chosen[i] = min(int(np.searchsorted(total, draw * total[-1], side="right")), n - 1)
        one = as_dense(seen[chosen[i] : chosen[i] + 1])[0]
        squared = norms + norms[chosen[i]] - 2.0 * product(seen, one)
        nearest = np.minimum(nearest, np.maximum(squared, 0.0))
        nearest[chosen[i]] = 0.0
        odds = nearest
        if not odds.any():  # fewer different rows than atoms: the rest are copies, which stay unused
            odds = np.ones(n)
    return chosen


def reseed(atoms: FloatArray, unused: IntArray, rows: Rows, objective: FloatArray) -> FloatArray:
    """The atoms, with unused atoms moved to the rows that are coded worst.

    Codes stay valid, because no row used the moved atoms; so the objective does not rise.
    """
    worst = np.argsort(-objective, kind="stable")[: len(unused)]
    worst = worst[objective[worst] > 0]
    moved = np.array(atoms, dtype=np.float64)
    moved[unused[: len(worst)]] = as_dense(rows[worst])
    return moved
