"""Spectral clustering on the code graph (section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...random import Stream
from ...typing import FloatArray
from .spectral import Spectrum, code_spectrum

RESTARTS = 20
LOOPS = 0.01  # not 0: an atom that nothing links to others can still be a cluster
_SOME = 10_000  # points that the restarts of k-means look at
_LEAST = 1e-12  # an eigenvalue that is only rounding
RIDGE = 0.001  # of the mean norm of an atom; see code_spectrum


@dataclass(frozen=True, eq=False)
class Clusters:
    """Labels of the rows, the spectrum that told them apart, and the centres in its row-normalized space."""

    labels: NDArray[np.int64]
    spectrum: Spectrum
    centers: NDArray[np.float64]


def spectral_clusters(
    codes: sp.csr_array, k: int, seed: int, n_vectors: int | None = None, ridge: float = RIDGE
) -> Clusters:
    """The k clusters of the rows: k-means on the directions of their first 2k (or `n_vectors`) spectral coordinates."""
    found = code_spectrum(codes, n_vectors or 2 * k, constant=True, ridge=ridge, loops=LOOPS)
    spectrum = replace(found, atoms=found.atoms * importance(found.values, k, found.atoms.shape[1]))
    points = directions(codes @ spectrum.atoms)
    centers = _means(points, k, seed)
    return Clusters(assign(points, centers), spectrum, centers)


def importance(values: NDArray[np.float64], k: int, n_vectors: int) -> NDArray[np.float64]:
    """How much each coordinate counts: the first k fully, those after by √(μ_k / μ_i), as in the commute time.

    So they count where no gap in the spectrum tells the number of clusters, and hardly at all after a gap.
    """
    counts = np.zeros(n_vectors)
    known = np.maximum(values[:n_vectors], _LEAST)
    counts[: len(known)] = np.sqrt(np.minimum(1.0, known[min(k, len(known)) - 1] / known))
    return counts


def _means(points: NDArray[np.float64], k: int, seed: int) -> NDArray[np.float64]:
    """The centres of k-means: the best of several starts on some of the points, then improved on all."""
    from sklearn.cluster import KMeans

    state = int(Stream.named(seed, "kds clusters").integers(2**31 - 1, 1)[0])
    some = points
    if len(points) > _SOME:
        some = points[np.sort(Stream.named(seed, "kds some rows").permutation(len(points))[:_SOME])]
    with threadpool_limits(1):
        best = KMeans(k, n_init=RESTARTS, random_state=state).fit(some)
        if len(some) < len(points):
            best = KMeans(k, init=best.cluster_centers_, n_init=1).fit(points)
    return np.asarray(best.cluster_centers_, dtype=np.float64)


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
