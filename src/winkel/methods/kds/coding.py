"""Codes of rows on the simplex of atoms (paper, section 5.1), found by the compiled core."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ... import _core
from ...errors import InvalidParameterError
from ...typing import FloatArray

CODERS = {"projected_gradient": 0, "frank_wolfe": 1}
LOCALITY = 1.0
TOLERANCE = 1e-8
MAX_ROUNDS = 200


@dataclass(frozen=True)
class Coder:
    """How rows are coded: minimise ½‖y − Σ xⱼaⱼ‖² + locality Σ xⱼ‖y − aⱼ‖² over the simplex (eq 7).

    The answer is that of the whole problem: its duality gap, over all atoms, is at most `tol` times the objective.
    """

    locality: float = LOCALITY
    method: str = "projected_gradient"
    tol: float = TOLERANCE
    n_jobs: int = 1

    def __post_init__(self) -> None:
        if self.method not in CODERS:
            raise InvalidParameterError(
                f"coder must be one of {', '.join(map(repr, CODERS))}; got {self.method!r}."
            )
        locality: Any = self.locality
        number = isinstance(locality, int | float | np.number) and not isinstance(locality, bool)
        if not number or not (locality > 0 and math.isfinite(locality)):
            raise InvalidParameterError(f"locality must be a positive number; got {locality!r}.")


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes of n rows by m atoms (CSR), and for each row its objective and the duality gap that is left."""

    matrix: sp.csr_array
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Atoms, seen from their mean (only differences matter on the simplex), and their products."""

    center: NDArray[np.float64]
    atoms: NDArray[np.float64]
    gram: NDArray[np.float64]

    @classmethod
    def of(cls, atoms: FloatArray) -> Dictionary:
        """The dictionary of the rows of `atoms`."""
        atoms = np.ascontiguousarray(atoms, dtype=np.float64)
        center = atoms.mean(axis=0)
        centered = atoms - center
        with threadpool_limits(1, user_api="blas"):
            gram = centered @ centered.T
        return cls(center, centered, np.ascontiguousarray(gram))


def encode(rows: FloatArray, atoms: FloatArray, coder: Coder, start: sp.csr_array | None = None) -> Codes:
    """The Codes of `rows` by `atoms`; `start` are codes to begin with. Each row is coded by itself."""
    known = Dictionary.of(atoms)
    n, m = len(rows), len(atoms)
    first = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)) if start is None else _parts(start)
    indptr, indices, values, objective, gap, _ = _core.code_simplex(
        np.ascontiguousarray(rows),
        known.center,
        known.atoms,
        known.gram,
        float(coder.locality),
        CODERS[coder.method],
        float(coder.tol),
        MAX_ROUNDS,
        *first,
        threads=coder.n_jobs,
    )
    return Codes(sp.csr_array((values, indices, indptr), shape=(n, m)), objective, gap)


def decode(codes: Any, atoms: FloatArray) -> FloatArray:
    """The rows that `codes` stand for: convex combinations of atoms."""
    return np.asarray(codes @ atoms)


def weighted_sums(
    codes: sp.csr_array, rows: FloatArray, center: NDArray[np.float64], n_jobs: int
) -> NDArray[np.float64]:
    """For every atom the sum of the rows, less `center`, weighted by their codes (m × d)."""
    indptr, indices, values = _parts(codes.T.tocsr())
    return np.asarray(
        _core.weighted_row_sums(indptr, indices, values, np.ascontiguousarray(rows), center, threads=n_jobs)
    )


def _parts(codes: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    return (
        codes.indptr.astype(np.int64, copy=False),
        codes.indices.astype(np.int32, copy=False),
        codes.data.astype(np.float64, copy=False),
    )
