"""Spectral clustering on the code graph (section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...random import Stream
from ...typing import FloatArray
from .spectral import Spectrum, code_spectrum

RESTARTS = 10
RIDGE = 0.001  # of the mean usage of an atom; see code_spectrum


@dataclass(frozen=True, eq=False)
class Clusters:
    """Labels of the rows, the spectrum that told them apart, and the centres in its row-normalized space."""

    labels: NDArray[np.int64]
    spectrum: Spectrum
    centers: NDArray[np.float64]


def spectral_clusters(
    codes: sp.csr_array, k: int, seed: int, n_vectors: int | None = None, ridge: float = RIDGE
) -> Clusters:
    """The k clusters of the rows: k-means on the directions of the rows' first k (or `n_vectors`) spectral coordinates."""
    spectrum = code_spectrum(codes, n_vectors or k, constant=True, ridge=ridge)
    points = directions(codes @ spectrum.atoms)
    from sklearn.cluster import KMeans

    state = int(Stream.named(seed, "kds clusters").integers(2**31 - 1, 1)[0])
    with threadpool_limits(1):
        means = KMeans(k, n_init=RESTARTS, random_state=state).fit(points)
    centers = np.asarray(means.cluster_centers_, dtype=np.float64)
    return Clusters(assign(points, centers), spectrum, centers)


def directions(places: FloatArray) -> NDArray[np.float64]:
    """The rows, made of unit length (Ng, Jordan and Weiss 2001)."""
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    return np.asarray(places / np.where(lengths > 0, lengths, 1.0))


def assign(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    """The nearest centre of every point, each point by itself."""
    far = np.empty((len(points), len(centers)))
    for j, center in enumerate(centers):
        far[:, j] = np.einsum("ij,ij->i", points - center, points - center)
    return np.asarray(far.argmin(axis=1), dtype=np.int64)
