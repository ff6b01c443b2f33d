"""`KDSClustering`, spectral clustering on the codes of K-Deep Simplex as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from ..checks import choice, integer, number, optional
from ..methods.kds.code_graph import GRAPHS, directions, nearest_centers
from ..methods.kds.fit import Clustering
from .kds import CodedEmbedder
from .registry import estimator
from .schema import Part


@estimator("kds-clustering", "K-Deep Simplex: clusters of the graph of rows and atoms")
class KDSClustering(ClusterMixin, CodedEmbedder):  # type: ignore[misc]
    """Clusters of the graph of rows and atoms (Tasissa, Tankala, Murphy and Ba 2023, section 6).

    Rows are coded by learned atoms as in `KDS`. Rows and the atoms that they use form a graph, and clusters are its well-connected
    parts. So clusters can be long, bent or nested, where k-means fails. The map consists of the spectral coordinates. New
    rows are coded, placed by the same linear map and assigned to the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_atoms : int or "auto", default="auto"
        Number of atoms to learn; `winkel.methods.kds.error_by_atoms` shows the error for each number. "auto" takes one atom per
        20 rows, but at least 10 and twice `n_clusters`, and at most 500: with fewer rows per atom, the graph of rows and atoms falls apart. For
        `fit_batches` it is 100, and if `init` is an array, the number of atoms in it.
    locality : float, default=1.0
        How much the distance of the atoms counts relative to the error of the code; larger means fewer atoms per row. Clusters need
        closer atoms than a map does, so the default is ten times that of `KDS`.
    coder : {"projected_gradient", "frank_wolfe"}, default="projected_gradient"
        How codes are found: by accelerated projected gradient or by Frank–Wolfe. Both give the optimum over all atoms.
    training : {"alternating", "minibatch", "gradient"}, default="alternating"
        How atoms are found, as in `KDS`.
    init : {"kmeans++", "random"} or array of shape (n_atoms, n_features), default="kmeans++"
        Where atoms start: at rows far from each other, at random rows, or at atoms of your own.
    batch_size : int, default=4096
        Number of rows in a batch, for training="minibatch".
    max_iter : int, default=100
        Largest number of passes over the data.
    tol : float, default=0.001
        Relative decrease of the objective at which to stop.
    n_vectors : int or None, default=None
        Number of spectral coordinates. None takes twice the number of clusters (for graph="paper", the number of clusters). Coordinates after
        the first `n_clusters` count less the wider the gap in the spectrum is; set n_vectors=n_clusters to leave them out.
    ridge : float or None, default=None
        How strongly a few rows that are only connected to each other are prevented from forming a cluster, relative to the mean links
        of an atom. None is 0.001 (0 for graph="paper"). Use more (0.01) for noisy rows, and zero for clean rows with very narrow gaps.
    graph : {"links", "paper"}, default="links"
        "links" normalises the graph of the atoms by their links to others. "paper" is the paper's clustering, by the
        first `n_clusters` eigenvectors of the normalized Laplacian of the whole graph of rows and atoms, without ridge.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each fitted row.
    cluster_centers_ : ndarray of shape (n_clusters, n_vectors)
        The centres, among the directions of the rows' spectral coordinates.
    atoms_ : ndarray of shape (n_atoms, n_features)
        The atoms.
    atom_labels_ : ndarray of shape (n_atoms,)
        The cluster of each atom.
    atom_places_ : ndarray of shape (n_atoms, n_vectors)
        The spectral coordinates of the atoms.
    codes_ : csr_array of shape (n_samples, n_atoms)
        The codes of the fitted rows.
    usage_ : ndarray of shape (n_atoms,)
        How much each atom is used: the sum of its weights over the fitted rows.

    Examples
    --------
    >>> import winkel as wk
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(500, noise=0.05, random_state=0)
    >>> labels = wk.KDSClustering(2, n_atoms=24, random_state=0).fit_predict(X)
    >>> bool(abs((labels == moon).mean() - 0.5) > 0.49)
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    locality: float = 1.0
    n_vectors: int | None = None
    ridge: float | None = None
    graph: str = "links"

    _schema: ClassVar[dict[str, Part]] = {
        **CodedEmbedder._schema,
        "cluster_centers": Part(("clusters", "d")),
        "labels": Part(("n",), below="clusters", least=0),
        "atom_labels": Part(("atoms",), below="clusters", least=0),
    }

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of each row, found for each row on its own; a fitted row gets its own cluster."""
        return nearest_centers(directions(self.encode(X) @ self.atom_places_), self.cluster_centers_)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.int64]:
        """Fit to X and return the cluster of each row."""
        return np.array(self.fit(X).labels_)

    @property
    def labels_(self) -> NDArray[np.int64]:
        """The cluster of each fitted row."""
        return self._result.blocks["labels"]

    @property
    def atom_labels_(self) -> NDArray[np.int64]:
        """The cluster of each atom."""
        return self._result.blocks["atom_labels"]

    @property
    def cluster_centers_(self) -> NDArray[np.float64]:
        """The centres, among the directions of the rows' spectral coordinates."""
        return self._result.blocks["cluster_centers"]

    def _goal(self) -> Clustering:
        return Clustering(
            integer("n_clusters", self.n_clusters, 1),
            optional(integer, "n_vectors", self.n_vectors, 1),
            optional(number, "ridge", self.ridge, 0.0),
            choice("graph", self.graph, GRAPHS),
        )
