"""Codes of rows on the simplex of atoms (paper, section 5.1), found by the compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...algebra import matmul
from ...checks import choice, positive
from ...run import Run
from ...typing import FloatArray
from ..rows import Rows, csr_parts, product, row_norms

CODERS = {"projected_gradient": 0, "frank_wolfe": 1}
TOLERANCE = 1e-8
MAX_ROUNDS = 200
_NO_START = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
_PRODUCTS = 2**22  # products of sparse rows and atoms that are held at a time


@dataclass(frozen=True)
class Coder:
    """How rows are coded: minimise ½‖y − Σ xⱼaⱼ‖² + locality Σ xⱼ‖y − aⱼ‖² over the simplex (eq 7).

    Parameters
    ----------
    locality : float
        How much the distance of the atoms counts relative to the error of the code.
    method : {"projected_gradient", "frank_wolfe"}, default="projected_gradient"
        How the minimum is found; both methods find the minimum over all atoms.
    tol : float, default=1e-08
        Largest duality gap, over all atoms, relative to the objective.

    Examples
    --------
    >>> from winkel.methods.kds import Coder
    >>> Coder(locality=0.1)
    Coder(locality=0.1, method='projected_gradient', tol=1e-08)
    """

    locality: float
    method: str = "projected_gradient"
    tol: float = TOLERANCE

    def __post_init__(self) -> None:
        choice("coder", self.method, CODERS)
        positive("locality", self.locality)
        positive("tol", self.tol)


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes of rows in terms of atoms, with the objective and accuracy of each.

    Parameters
    ----------
    matrix : csr_array of shape (n_samples, n_atoms)
        The codes: no weight is negative, and the weights of a row sum to one.
    objective : ndarray of shape (n_samples,)
        The objective (eq 7) of each row.
    gap : ndarray of shape (n_samples,)
        The remaining duality gap of each row; its objective is at most this much above the minimum.

    Examples
    --------
    >>> from winkel.methods.kds import Coder, encode
    >>> codes = encode([[0.5, 0.0]], [[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], Coder(0.1))
    >>> codes.matrix.toarray().round(3)
    array([[0.5, 0.5, 0. ]])
    """

    matrix: sp.csr_array
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]

    @classmethod
    def of(cls, parts: Sequence[Codes]) -> Codes:
        """The codes of all parts, one after another."""
        return cls(
            sp.vstack([part.matrix for part in parts], format="csr"),
            np.concatenate([part.objective for part in parts]),
            np.concatenate([part.gap for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Atoms relative to their mean (only differences matter on the simplex), and their products."""

    center: NDArray[np.float64]
    atoms: NDArray[np.float64]
    gram: NDArray[np.float64]

    @classmethod
    def of(cls, atoms: FloatArray) -> Dictionary:
        """The dictionary of the rows of `atoms`."""
        atoms = np.ascontiguousarray(atoms, dtype=np.float64)
        center = atoms.mean(axis=0)
        centered = atoms - center
        return cls(center, centered, matmul(centered, centered.T))


def encode(
    rows: Any, atoms: Any, coder: Coder, run: Run | None = None, *, start: sp.csr_array | None = None
) -> Codes:
    """The Codes of rows in terms of atoms, each row on its own.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_samples, n_features)
        The rows to code.
    atoms : array of shape (n_atoms, n_features)
        The atoms.
    coder : Coder
        How rows are coded.
    run : Run or None, default=None
        The context of the call, which determines the number of threads; None is one thread.
    start : csr_array or None, default=None
        Codes to start from, which save time if they are nearly right.

    Returns
    -------
    Codes
        Codes that are optimal over all atoms, for any start.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.kds import Coder, encode
    >>> X = wk.datasets.load_digits().X
    >>> codes = encode(X[50:60], X[:50], Coder(1.0))
    >>> codes.matrix.shape, bool((codes.gap <= 1e-6 * codes.objective).all())
    ((10, 50), True)
    """
    dictionary = Dictionary.of(np.asarray(atoms))
    settings = float(coder.locality), CODERS[coder.method], float(coder.tol), MAX_ROUNDS
    threads = 1 if run is None else run.n_jobs
    if sp.issparse(rows):
        return _encode_sparse(sp.csr_matrix(rows), dictionary, settings, start, threads)
    first = _NO_START if start is None else _parts(start)
    values = np.ascontiguousarray(rows)
    found = _core.code_simplex(
        values, dictionary.center, dictionary.atoms, dictionary.gram, *settings, *first, threads=threads
    )
    return _codes(found, len(dictionary.atoms))


def _encode_sparse(
    rows: Rows,
    dictionary: Dictionary,
    settings: tuple[float, int, float, int],
    start: sp.csr_array | None,
    threads: int,
) -> Codes:
    """`encode` by the products of rows and atoms, some rows at a time."""
    m = len(dictionary.atoms)
    offset = matmul(dictionary.atoms, dictionary.center)
    turned = np.ascontiguousarray(dictionary.atoms.T)
    own = float(np.sum(np.square(dictionary.center)))
    squares = np.square(row_norms(rows)) - 2.0 * product(rows, dictionary.center) + own
    parts, step = [], max(1, _PRODUCTS // m)
    for low in range(0, rows.shape[0], step):
        some = slice(low, low + step)
        products = _core.weighted_row_sums(
            *csr_parts(rows[some], np.float64), turned, np.zeros(m), threads=threads
        )
        first = _NO_START if start is None else _parts(start[some])
        found = _core.code_products(
            products - offset,
            np.maximum(squares[some], 0.0),
            dictionary.gram,
            *settings,
            *first,
            threads=threads,
        )
        parts.append(_codes(found, m))
    return Codes.of(parts)


def _codes(found: tuple[Any, ...], m: int) -> Codes:
    """What the core found."""
    indptr, indices, weights, objective, gap, _ = found
    return Codes(sp.csr_array((weights, indices, indptr), shape=(len(objective), m)), objective, gap)


def decode(codes: Any, atoms: Any) -> FloatArray:
    """The rows that `codes` stand for: convex combinations of atoms.

    Parameters
    ----------
    codes : array or sparse matrix of shape (n_samples, n_atoms)
        Weights of the atoms.
    atoms : array of shape (n_atoms, n_features)
        The atoms to which the weights belong.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The combinations.

    Examples
    --------
    >>> import numpy as np
    >>> from winkel.methods.kds import decode
    >>> decode(np.array([[0.25, 0.75]]), np.array([[0.0, 4.0], [8.0, 0.0]]))
    array([[6., 1.]])
    """
    return np.asarray(codes @ np.asarray(atoms))


def weighted_sums(
    codes: sp.csr_array, rows: Rows, center: NDArray[np.float64], run: Run
) -> NDArray[np.float64]:
    """For every atom, the sum of the rows (minus `center`), weighted by their codes (m × d)."""
    if sp.issparse(rows):
        usage = np.asarray(codes.sum(axis=0), dtype=np.float64)
        return np.asarray((codes.T @ rows.astype(np.float64)).toarray() - np.outer(usage, center))
    indptr, indices, values = _parts(codes.T.tocsr())
    return np.asarray(
        _core.weighted_row_sums(
            indptr, indices, values, np.ascontiguousarray(rows), center, threads=run.n_jobs
        )
    )


def _parts(codes: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    return (
        codes.indptr.astype(np.int64, copy=False),
        codes.indices.astype(np.int32, copy=False),
        codes.data.astype(np.float64, copy=False),
    )
