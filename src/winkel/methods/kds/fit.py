"""K-Deep Simplex from rows to a map or clusters: atoms, then codes, then the map or the clusters of their graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...data import Table
from ...embedding import Embedding
from ...errors import DataWarning, InvalidInputError
from ...run import Run
from ...typing import FloatArray
from ..rows import Rows
from .code_graph import (
    Clusters,
    cluster_spectrum,
    code_spectrum,
    orthonormal_spectrum,
    spectral_clusters,
    warn_if_in_pieces,
)
from .coding import Codes, encode
from .dictionary import suggested_atoms
from .training import BatchSource, StreamBatches, Trained, Training, encode_batches, first_rows, train

CONSTRAINTS = ("edges", "identity")
_SAMPLE = 600  # rows by which the forecast of memory estimates how many atoms a row uses


@dataclass(frozen=True)
class Map:
    """The goal of a map with `n_components` dimensions."""

    n_components: int
    constraint: str

    @property
    def least_atoms(self) -> int:
        """The smallest number of atoms with which a map of this dimension makes sense."""
        return 2 * self.n_components

    def read(self, codes: sp.csr_array, run: Run) -> dict[str, NDArray[Any]]:
        """The atoms' places."""
        return {"atom_places": self.atom_places(codes, run.n_jobs)}

    def atom_places(self, codes: sp.csr_array, n_jobs: int) -> NDArray[np.float64]:
        """The atoms' places alone."""
        if self.constraint == "identity":
            return orthonormal_spectrum(codes, self.n_components, n_jobs=n_jobs).atoms
        return code_spectrum(codes, self.n_components, n_jobs=n_jobs).atoms


@dataclass(frozen=True)
class Clustering:
    """The goal of clusters; see `spectral_clusters`."""

    n_clusters: int
    n_vectors: int | None
    ridge: float | None
    graph: str

    @property
    def least_atoms(self) -> int:
        """The smallest number of atoms with which most clusters have more than one."""
        return 2 * self.n_clusters

    def read(self, codes: sp.csr_array, run: Run) -> dict[str, NDArray[Any]]:
        """The atoms' places, the clusters of rows and atoms, and the centres."""
        n = codes.shape[0]
        if n < self.n_clusters:
            raise InvalidInputError(
                f"X has {n} rows, too few for n_clusters={self.n_clusters}; use more rows or fewer clusters."
            )
        found: Clusters = spectral_clusters(
            codes,
            self.n_clusters,
            run.seed,
            n_vectors=self.n_vectors,
            ridge=self.ridge,
            graph=self.graph,
            n_jobs=run.n_jobs,
        )
        warn_if_in_pieces(codes, self.n_clusters)
        return {
            "atom_places": found.spectrum.atoms,
            "labels": found.labels,
            "atom_labels": found.labels_of(found.spectrum.atoms),
            "cluster_centers": found.centers,
        }

    def atom_places(self, codes: sp.csr_array, n_jobs: int) -> NDArray[np.float64]:
        """The atoms' places alone."""
        return cluster_spectrum(codes, self.n_clusters, self.n_vectors, self.ridge, self.graph, n_jobs).atoms


@dataclass(frozen=True, eq=False)
class Settings:
    """How atoms are found, and what is made of the codes; and whether the number of rows, if known, determines the number of atoms."""

    training: Training
    goal: Map | Clustering
    atoms_follow_rows: bool = False


@dataclass(frozen=True, eq=False)
class Fit:
    """The map, with atoms, their places and further results as its blocks; and the codes of the rows."""

    embedding: Embedding
    codes: sp.csr_array


def fit(table: Table, settings: Settings, run: Run) -> Fit:
    """Atoms, codes, and the map or clusters of the rows of a table."""
    rows: Rows = table.values
    n = rows.shape[0]
    settings = _usable(_following(settings, n), n)
    trained = train(rows, settings.training, run, _drawing(settings, run))
    return _finish(
        trained, encode(rows, trained.atoms, settings.training.coder, run), settings, run, rows.dtype
    )


def fit_batches(batches: BatchSource, settings: Settings, run: Run) -> Fit:
    """The same by mini-batches of rows that need not fit into memory, in the precision of the first batch."""
    stream = StreamBatches(batches)
    first = first_rows(stream, settings.training.n_atoms)
    settings = _usable(settings, first.shape[0])
    trained = train(stream, settings.training, run, _drawing(settings, run))
    codes = encode_batches(stream, trained.atoms, settings.training.coder, run, first.dtype)
    return _finish(trained, codes, settings, run, first.dtype)


def place(codes: sp.csr_array, atom_places: FloatArray, dtype: Any) -> FloatArray:
    """Places of rows: the means of their atoms' places, weighted by their codes."""
    return np.asarray(codes @ atom_places).astype(dtype)


def _drawing(settings: Settings, run: Run) -> Any:
    return lambda codes: np.asarray(codes @ settings.goal.atom_places(codes, run.n_jobs))


def _finish(trained: Trained, codes: Codes, settings: Settings, run: Run, dtype: Any) -> Fit:
    blocks = settings.goal.read(codes.matrix, run)
    Y = place(codes.matrix, blocks["atom_places"], dtype)
    coder = settings.training.coder
    embedding = Embedding(
        Y=Y,
        objective=float(codes.objective.mean()),
        residual=trained.residual,
        history=trained.history,
        status=trained.status,
        seed=run.seed,
        settings={"method": "KDS", "training": settings.training.method, "locality": float(coder.locality)},
        blocks={"atoms": trained.atoms, **blocks},
        frames=None if trained.frames is None else trained.frames.turned_to(Y),
    )
    return Fit(embedding, codes.matrix)


def _following(settings: Settings, n: int) -> Settings:
    """The settings with as many atoms as suit n rows, if that was left open."""
    if not settings.atoms_follow_rows:
        return settings
    m = min(n, max(suggested_atoms(n), settings.goal.least_atoms))
    return replace(settings, training=replace(settings.training, n_atoms=m))


def _usable(settings: Settings, n: int) -> Settings:
    """The settings with as many atoms as n rows allow."""
    m = settings.training.n_atoms
    if m <= n:
        return settings
    warnings.warn(
        f"n_atoms={m}, but there are only {n} rows; n_atoms={n} is used.", DataWarning, stacklevel=4
    )
    return replace(settings, training=replace(settings.training, n_atoms=n))


def forecast(table: Table, settings: Settings) -> float:
    """The largest number of bytes that a fit takes in addition to the data: codes of all rows, by an estimate of how many atoms a row uses, and what
    is made of them; then atoms. Measured (tests/fire/memory.py).

    An entry of a code has 12 bytes, 16 in the blocks that codes are found in, which grow by doubling; and once more 12 where
    codes are turned.
    """
    n, d = table.shape
    settings = _following(settings, n)
    m = min(n, settings.training.n_atoms)
    codes = _codes_a_row(table.values, m, settings)
    small = settings.training.method == "minibatch"  # which holds no codes of all rows until the end
    row = 40.0 + 48.0 * codes if small else 100.0 + 54.0 * codes
    if isinstance(settings.goal, Clustering):
        row += 40.0 * (settings.goal.n_vectors or settings.goal.n_clusters)
    entries = 40.0 * table.values.nnz if sp.issparse(table.values) else 30e3 * d
    return (10e6 if small else 6e6) + n * row + entries + 8.0 * (7 * m * m + 5 * m * d)


def _codes_a_row(rows: Rows, m: int, settings: Settings) -> float:
    """How many atoms a row uses: the mean over some rows, by atoms that were moved to the means of other rows that use them."""
    n, coder = rows.shape[0], settings.training.coder
    count = min(n, max(_SAMPLE, 2 * m))
    some = rows[(2 * np.arange(count) + 1) * n // (2 * count)]
    others, some = some[::2], some[1::2]
    atoms = some[np.arange(m) * some.shape[0] // m]
    atoms = np.asarray(atoms.toarray() if sp.issparse(atoms) else atoms, dtype=np.float64)
    codes = encode(others, atoms, coder).matrix
    sums, usage = codes.T @ others, np.asarray(codes.sum(axis=0))[:, None]
    means = np.asarray(sums.toarray() if sp.issparse(sums) else sums) / np.maximum(usage, 1e-300)
    codes = encode(some, np.where(usage > 0, means, atoms), coder).matrix
    return float(codes.nnz) / max(1, some.shape[0])
