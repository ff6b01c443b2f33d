"""The graph of rows and the atoms that they use: its map (section 4.3) and its clusters (section 6).

Both need the solution of an m × m eigenproblem, where m is the number of atoms.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...algebra import eigh, matmul
from ...algebra import norm as length
from ...checks import choice
from ...errors import DataWarning
from ...run import Stream
from ...typing import FloatArray
from .k_means import improved, k_means

GRAPHS = ("links", "paper")
RESTARTS = 20
RIDGE = 0.001
LOOPS = 0.01  # not 0: an atom that nothing links to others can still be a cluster
_SAMPLE = 10_000  # points that the restarts of k-means look at
_ELSEWHERE = 0.1  # part of the rows that may be in small pieces without a word
_LEAST = 1e-12  # an eigenvalue that is only rounding


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The smoothest functions on a code graph.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Eigenvalues μ of the Schur complement, ascending.
    atoms : ndarray of shape (n_atoms, k)
        The positions of the atoms. The position of a row is the mean of those of its atoms, weighted by its code.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from winkel.methods.kds import code_spectrum
    >>> code_spectrum(csr_array([[0.5, 0.5], [0.9, 0.1]]), 1).atoms.shape
    (2, 1)
    """

    values: NDArray[np.float64]
    atoms: NDArray[np.float64]


def code_spectrum(
    codes: sp.csr_array,
    k: int,
    *,
    constant: bool = False,
    ridge: float = 0.0,
    loops: float = 1.0,
    n_jobs: int = 1,
) -> Spectrum:
    """The k smoothest functions on the graph in which row i and atom j are joined with weight x_ij.

    Eliminating the rows leaves the Schur complement L_A = diag(X1) − XXᵀ; the atoms' positions solve
    L_A q = μ diag(X1) q with unit variance over the edges, and the place of a row is the mean of those of its atoms, Q_Y = Q_A X.
    These are the eigenvectors of the normalized Laplacian of the whole graph of n + m nodes. Atoms that no row uses are
    at the origin.

    Parameters
    ----------
    codes : csr_array of shape (n_samples, n_atoms)
        Weights of the graph.
    k : int
        Number of functions.
    constant : bool, default=False
        Whether the constant function (μ = 0) is one of them.
    ridge : float, default=0.0
        Share of the mean norm that is added to the norm of every atom. A few rows that are only connected to each other then no longer
        form a smooth function of their own (the regularized Laplacian of Amini et al. 2013).
    loops : float, default=1.0
        How much the weight that an atom shares with no other atom, diag(XXᵀ), counts in the norm. With less than 1, the problem is
        L_A q = μ (diag(L_A) + loops diag(XXᵀ)) q; with 0, it is that of the normalized Laplacian of the graph of the atoms without loops.
        An atom that is the only one of most of its rows then no longer looks like a cluster.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    Spectrum
        Eigenvalues, and positions of the atoms.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.kds import Coder, code_spectrum, encode
    >>> X = wk.datasets.load_digits().X
    >>> codes = encode(X[:200], X[200:230], Coder(0.1)).matrix
    >>> places = code_spectrum(codes, 2).atoms
    >>> (codes @ places).shape
    (200, 2)
    """
    usage = np.asarray(codes.sum(axis=0), dtype=np.float64)
    used = np.flatnonzero(usage > 0)
    joint = (codes.T @ codes).tocsr()[used][:, used].toarray()
    alone = np.diagonal(joint).copy()
    np.fill_diagonal(joint, loops * alone)
    norm = usage[used] - (1.0 - loops) * alone
    root = np.sqrt(norm + ridge * norm.mean())
    joint = joint / np.outer(root, root)
    flat = root / length(root)
    if not constant:
        joint = joint - np.outer(flat, flat)
    joint = (joint + joint.T) / 2
    wanted = min(k, len(used))
    values, vectors = eigh(joint, n_jobs, largest=wanted)  # direct: iterative solvers lose equal eigenvalues
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(wanted)] < 0, -1.0, 1.0)
    atoms = np.zeros((codes.shape[1], k))
    atoms[used, :wanted] = vectors / flat[:, None]
    return Spectrum(np.clip(1.0 - values, 0.0, None), atoms)


def orthonormal_spectrum(codes: sp.csr_array, k: int, n_jobs: int = 1) -> Spectrum:
    """The k smoothest functions under the paper's constraint (eq 5): Q1 = 0 and QQᵀ = I over rows and atoms.

    With Q_Y = Q_A X it is trace(Q_A L_A Q_Aᵀ) at Q_A (I + XXᵀ) Q_Aᵀ = I, so the atoms' places solve
    L_A q = μ (I + XXᵀ) q. The constant function, μ = 0, is orthogonal to the others in that sense, which is Q1 = 0. Every
    row and atom counts as one, whereas `code_spectrum` counts edges. Atoms that no row uses are at the origin.

    Parameters
    ----------
    codes : csr_array of shape (n_samples, n_atoms)
        Weights of the graph.
    k : int
        Number of functions.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    Spectrum
        Eigenvalues, and positions of the atoms.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> from winkel.methods.kds import Coder, encode, orthonormal_spectrum
    >>> X = wk.datasets.load_digits().X
    >>> codes = encode(X[:200], X[200:230], Coder(0.1)).matrix
    >>> atoms = orthonormal_spectrum(codes, 2).atoms
    >>> Q = np.vstack([codes @ atoms, atoms])
    >>> bool(np.allclose(Q.T @ Q, np.eye(2)))
    True
    """
    usage = np.asarray(codes.sum(axis=0), dtype=np.float64)
    used = np.flatnonzero(usage > 0)
    joint = (codes.T @ codes).tocsr()[used][:, used].toarray()
    wanted = max(0, min(k, len(used) - 1))
    # In the basis of what is orthogonal to the constant function, so that a graph in pieces, with which μ = 0 has more
    # functions, gives no mixture with it; and there in the basis in which I + XXᵀ is the identity.
    rest = _orthogonal_to(1.0 + usage[used])
    size, axes = eigh(matmul(rest.T, matmul(np.eye(len(used)) + joint, rest, n_jobs), n_jobs), n_jobs)
    basis = matmul(rest, axes / np.sqrt(size), n_jobs)
    rough = matmul(basis.T, matmul(np.diag(usage[used]) - joint, basis, n_jobs), n_jobs)
    values, inner = eigh((rough + rough.T) / -2.0, n_jobs, largest=wanted)
    vectors, values = matmul(basis, inner[:, ::-1], n_jobs), -values[::-1]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    atoms = np.zeros((codes.shape[1], k))
    atoms[used, : vectors.shape[1]] = vectors
    return Spectrum(np.clip(values, 0.0, None), atoms)


def _orthogonal_to(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal columns that span what is orthogonal to a vector of positive numbers: those of a reflection."""
    mirror = vector / length(vector)
    mirror[0] += 1.0
    reflection = np.eye(len(vector)) - np.outer(mirror, mirror) * (2.0 / float(np.sum(mirror * mirror)))
    return np.ascontiguousarray(reflection[:, 1:])


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of the rows of a code graph.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The cluster of each row.
    spectrum : Spectrum
        The Spectrum by which the clusters were found.
    centers : ndarray of shape (n_clusters, n_vectors)
        The centres, among the directions of the rows' spectral coordinates.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from winkel.methods.kds import spectral_clusters
    >>> codes = csr_array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.3, 0.7]])
    >>> labels = spectral_clusters(codes, 2, n_vectors=2).labels
    >>> bool(labels[0] != labels[1]), bool(labels[1] == labels[2])
    (True, True)
    """

    labels: NDArray[np.int64]
    spectrum: Spectrum
    centers: NDArray[np.float64]

    def labels_of(self, places: FloatArray) -> NDArray[np.int64]:
        """The cluster of each place in the coordinates of the spectrum, by its direction."""
        return nearest_centers(directions(places), self.centers)


def spectral_clusters(
    codes: sp.csr_array,
    n_clusters: int,
    seed: int = 0,
    *,
    n_vectors: int | None = None,
    ridge: float | None = None,
    graph: str = "links",
    n_jobs: int = 1,
) -> Clusters:
    """The clusters of the rows: k-means on the directions of their spectral coordinates.

    Parameters
    ----------
    codes : csr_array of shape (n_samples, n_atoms)
        Weights of the graph.
    n_clusters : int
        Number of clusters.
    seed : int, default=0
        Seed of the starts of k-means.
    n_vectors : int or None, default=None
        Number of spectral coordinates. None takes twice the number of clusters for graph="links", and the number of clusters for "paper".
    ridge : float or None, default=None
        Relative to the mean norm of an atom, as in `code_spectrum`; None is 0.001 for graph="links" and 0 for "paper".
    graph : {"links", "paper"}, default="links"
        Which Laplacian is normalised: that of the atoms by their links to others, or, as in the paper (section 6), that of the
        whole graph of rows and atoms.
    n_jobs : int, default=1
        Number of threads.

    Returns
    -------
    Clusters
        Labels, spectrum and centres.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from winkel.methods.kds import Coder, encode, spectral_clusters
    >>> rows, moon = make_moons(400, noise=0.03, random_state=0)
    >>> codes = encode(rows, rows[:40], Coder(1.0)).matrix
    >>> np.bincount(spectral_clusters(codes, 2).labels).sum()
    np.int64(400)
    """
    spectrum = cluster_spectrum(codes, n_clusters, n_vectors, ridge, choice("graph", graph, GRAPHS), n_jobs)
    points = directions(codes @ spectrum.atoms)
    centers = _means(points, n_clusters, seed)
    labels = nearest_centers(points, centers)
    found = len(np.unique(labels))
    if found < n_clusters:
        warnings.warn(
            f"n_clusters={n_clusters}, but the codes only distinguish {found}; use fewer clusters or more atoms.",
            DataWarning,
            stacklevel=2,
        )
    return Clusters(labels, spectrum, centers)


def cluster_spectrum(
    codes: sp.csr_array, n_clusters: int, n_vectors: int | None, ridge: float | None, graph: str, n_jobs: int
) -> Spectrum:
    """The Spectrum in whose coordinates clusters are searched; each coordinate is scaled by its importance."""
    ours = graph == "links"
    wanted = n_vectors or (2 * n_clusters if ours else n_clusters)
    added = (RIDGE if ours else 0.0) if ridge is None else ridge
    found = code_spectrum(
        codes, wanted, constant=True, ridge=added, loops=LOOPS if ours else 1.0, n_jobs=n_jobs
    )
    if not ours:
        return found
    weights = importance(found.values, n_clusters, found.atoms.shape[1])
    return replace(found, atoms=found.atoms * weights)


def warn_if_in_pieces(codes: sp.csr_array, n_clusters: int) -> None:
    """Give a DataWarning if the graph of rows and atoms has more pieces than clusters, so that the clusters are merely pieces."""
    atoms = (codes.T @ codes).tocsr()
    count, piece = sp.csgraph.connected_components(atoms, directed=False)
    rows = np.sort(np.bincount(piece, np.asarray(codes.sum(axis=0)), minlength=count))[::-1]
    elsewhere = float(rows[n_clusters:].sum()) / codes.shape[0]
    if elsewhere > _ELSEWHERE:
        warnings.warn(
            f"The graph of rows and atoms is in {int((rows > 0).sum())} pieces, with {elsewhere:.0%} of the rows outside of the "
            f"{n_clusters} largest components, so these clusters say little. Fewer atoms (n_atoms, about one for 20 rows) or less locality "
            "join more rows.",
            DataWarning,
            stacklevel=2,
        )


def importance(values: NDArray[np.float64], k: int, n_vectors: int) -> NDArray[np.float64]:
    """How much each coordinate counts: the first k fully, the others by √(μ_k / μ_i), as in the commute time.

    So the others count if no gap in the spectrum shows the number of clusters, and hardly count after a gap.
    """
    counts = np.zeros(n_vectors)
    mu = np.maximum(values[:n_vectors], _LEAST)
    counts[: len(mu)] = np.sqrt(np.minimum(1.0, mu[min(k, len(mu)) - 1] / mu))
    return counts


def _means(points: NDArray[np.float64], k: int, seed: int) -> NDArray[np.float64]:
    """The centres of k-means: the best of several starts on a sample of the points, then improved on all."""
    sample = points
    if len(points) > _SAMPLE:
        sample = points[np.sort(Stream.named(seed, "kds some rows").permutation(len(points))[:_SAMPLE])]
    best = k_means(sample, k, Stream.named(seed, "kds clusters"), RESTARTS)
    return best if len(sample) == len(points) else improved(points, best)[0]


def directions(places: FloatArray) -> NDArray[np.float64]:
    """The rows, scaled to unit length (Ng, Jordan and Weiss 2001)."""
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    return np.asarray(places / np.where(lengths > 0, lengths, 1.0))


def nearest_centers(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    """The nearest centre of every point, found for each point on its own."""
    squares = np.empty((len(points), len(centers)))
    for j, center in enumerate(centers):
        squares[:, j] = np.einsum("ij,ij->i", points - center, points - center)
    return np.asarray(squares.argmin(axis=1), dtype=np.int64)
