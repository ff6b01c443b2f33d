"""`KDSClustering`, spectral clustering on the codes of K-Deep Simplex as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import ClusterMixin

from ..errors import InvalidInputError, InvalidParameterError
from ..methods.kds import BATCH_SIZE, LOCALITY, assign, spectral_clusters
from ..methods.kds.clustering import RIDGE, directions
from ..typing import FloatArray, RandomState
from .kds import CodedEmbedder


class KDSClustering(ClusterMixin, CodedEmbedder):  # type: ignore[misc]
    """Clusters that are told apart by the graph of rows and atoms (Tasissa, Tankala, Murphy and Ba 2023, section 6).

    Rows are coded by learned atoms as in `KDS`; rows and the atoms that they use make a graph, and clusters are what
    hangs together in it: long, bent and nested shapes too, where k-means fails. New rows are coded, placed by the same
    linear map and given the nearest centre.

    Parameters
    ----------
    n_clusters : how many clusters.
    n_atoms, locality, coder, training, init, batch_size, max_iter, tol : as in `KDS`.
    n_vectors : spectral coordinates to use, twice as many as clusters if None. Those after the first `n_clusters` count the
        less the wider the gap in the spectrum; give n_vectors=n_clusters to leave them out.
    ridge : how firmly a few rows that hang together by themselves are kept from being a cluster, as a part of the mean
        links of an atom. Larger (0.01) for noisy rows, zero for clean ones with very narrow gaps.

    Attributes
    ----------
    labels_ : the cluster of each fitted row.    embedding_ : the Embedding, whose Y are the spectral coordinates.
    atoms_, codes_, usage_, atom_labels_ : the dictionary, the codes, the usage of atoms and their clusters.
    """

    labels_: NDArray[np.int64]
    atom_labels_: NDArray[np.int64]
    cluster_centers_: NDArray[np.float64]

    _fitted = ("n_features_in_", "feature_names_in_", "codes_", "labels_", "atom_labels_", "cluster_centers_")
    _counts = ("n_clusters", "n_atoms", "batch_size")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_atoms: int = 100,
        locality: float = LOCALITY,
        coder: str = "projected_gradient",
        training: str = "alternating",
        init: str | ArrayLike = "kmeans++",
        batch_size: int = BATCH_SIZE,
        max_iter: int = 100,
        tol: float = 1e-3,
        n_vectors: int | None = None,
        ridge: float = RIDGE,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_atoms = n_atoms
        self.locality = locality
        self.coder = coder
        self.training = training
        self.init = init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_vectors = n_vectors
        self.ridge = ridge
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def _check_choices(self) -> None:
        super()._check_choices()
        given: Any = self.n_vectors
        if given is not None and (
            isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1
        ):
            raise InvalidParameterError(f"n_vectors must be None or a positive integer; got {given!r}.")
        ridge: Any = self.ridge
        if (
            isinstance(ridge, bool)
            or not isinstance(ridge, int | float | np.number)
            or not 0 <= ridge < np.inf
        ):
            raise InvalidParameterError(f"ridge must be zero or a positive number; got {ridge!r}.")

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of each row, each row by itself; a fitted row gets its own."""
        return self._assign(np.asarray(self.encode(X) @ self.atom_places_))

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.int64]:
        """Fit to X and return the cluster of each row."""
        return np.array(self.fit(X).labels_)

    def _read_codes(self, codes: csr_array, seed: int) -> FloatArray:
        if codes.shape[0] < self.n_clusters:
            raise InvalidInputError(
                f"X has {codes.shape[0]} rows, too few for n_clusters={self.n_clusters}; "
                "give more rows or ask for fewer clusters."
            )
        found = spectral_clusters(codes, int(self.n_clusters), seed, self.n_vectors, self.ridge)
        self.labels_, self.cluster_centers_ = found.labels, found.centers
        self.atom_labels_ = self._assign(found.spectrum.atoms)
        return found.spectrum.atoms

    def _assign(self, places: FloatArray) -> NDArray[np.int64]:
        return assign(directions(places), self.cluster_centers_)
