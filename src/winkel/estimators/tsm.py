"""`TSM`, thresholded similarity matching as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import as_matrix
from ..errors import InvalidParameterError
from ..graph import Graph
from ..methods.tsm import AngleHistogram, similarity_graph
from ..methods.tsm.fit import Settings, Work, embed, histogram
from ..methods.tsm.placement import FittedRows, own_places, place
from ..methods.tsm.similarity import row_norms
from ..resources import parse_memory, resolve_n_jobs, resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .base import Embedder
from .tsm_choice import TradeOff, trade_off

_SOLVERS, _PLACEMENTS = ("quasi_newton", "factors", "dense"), ("local", "relu")


class TSM(Embedder):
    """A map that keeps norms and small angles, by thresholded similarity matching (Saul 2023).

    Every row keeps its norm, rows with a cosine above the threshold keep their angle, and all others stay at larger
    angles than the threshold's. Similarity is by cosine and the origin has a meaning, so rows should not be centred: images
    (norm: brightness) and word vectors (norm: how special a word is) are what it was made for.

    Parameters
    ----------
    n_components : dimension of the map; about 4 to 64.
    threshold : the cosine above which rows are similar, or "auto": from the histogram of angles, so that the share
        `sparsity` of pairs is not similar.
    n_landmarks : fit so many rows drawn at random, and extend the map to the others by locally linear weights; None
        matches all rows, which is more faithful. Time goes with the square of the rows that are matched.
    max_iter : passes over all pairs of rows.
    tol : stop when an update changes the matrix by no more than this part of it; 0 makes all updates.
    solver : "quasi_newton" (L-BFGS on matrices of rank d; never worse from one pass to the next), "factors" (the paper's
        alternating updates, without an n × n matrix), or "dense", the equations of the paper on n × n matrices, for
        reference on small data.
    momentum : of the alternating updates ("factors" and "dense"); 0 makes every update better than the last, slowly.
    placement : how `transform` places new rows: "local" (as a weighted sum of near rows), or "relu" (so that similarities
        with fitted rows come out as they are in the data).
    regularization : of the locally linear weights.

    Attributes
    ----------
    embedding_ : the Embedding; also `objective_`, `history_`, `status_`, `n_iter_` read from it.
    threshold_ : the threshold that was used.        objective_history_ : the objective, one value an update.
    isolated_ : rows similar to no other; virtual inputs (`n_virtual_`) led to them during the fit.
    landmarks_ : rows that were matched.             eigenvalues_ : of the Gram matrix; large negative ones ask for more
    dimensions, of which a DataWarning tells.        graph_ : the pairs of similar rows, found anew when asked for.

    Rows of zeros stand at the origin. The same `random_state` gives the same bytes for any `n_jobs`. `transform` places
    each new row by itself, with its norm, and gives a row that equals a fitted one that row's place.
    """

    _rows: FloatArray
    _fitted = ("n_features_in_", "feature_names_in_", "_rows")

    def __init__(
        self,
        n_components: int = 16,
        *,
        threshold: str | float = "auto",
        sparsity: float = 0.99,
        n_landmarks: int | None = None,
        momentum: float = 0.9,
        max_iter: int = 250,
        tol: float = 0.0,
        solver: str = "quasi_newton",
        placement: str = "local",
        regularization: float = 1e-4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.threshold = threshold
        self.sparsity = sparsity
        self.n_landmarks = n_landmarks
        self.momentum = momentum
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.placement = placement
        self.regularization = regularization
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> TSM:
        """Find the map of the rows of X; y is ignored."""
        settings = self._settings()
        rows = self._read(X, allow_sparse=False).values
        work = Work(
            resolve_seed(self.random_state),
            resolve_n_jobs(self.n_jobs),
            parse_memory(self.max_memory),
            self.verbose,
            self.callbacks or (),
        )
        self.embedding_ = embed(rows, settings, work)
        self._rows = rows
        self._say_faithfulness(rows)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        rows = self._read_new(X)
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        Y = self.embedding_.Y
        own = own_places(rows, self._rows)
        placed = np.array(Y[np.maximum(own, 0)])
        new = np.flatnonzero(own < 0)
        known = row_norms(self._rows) > 0
        if len(new):
            fitted = FittedRows(
                self._rows[known], Y[known], self.threshold_, self.regularization, resolve_n_jobs(self.n_jobs)
            )
            placed[new] = place(rows[new], fitted, self.placement)
        return placed

    def angle_histogram(self, X: Any) -> AngleHistogram:
        """The histogram of angles in X by which threshold="auto" chooses (fig 2 of the paper)."""
        rows = as_matrix(X, allow_sparse=False)
        return histogram(rows, self.sparsity, resolve_seed(self.random_state))

    @staticmethod
    def choose(
        X: Any,
        *,
        n_components: Sequence[int] = (4, 8, 16, 32),
        sparsity: Sequence[float] = (0.98, 0.99, 0.995),
        n_rows: int = 1500,
        max_iter: int = 100,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> TradeOff:
        """A small table of what each dimension and threshold keeps, measured on `n_rows` rows drawn at random."""
        return trade_off(TSM, X, n_components, sparsity, n_rows, max_iter, random_state, n_jobs)

    @property
    def threshold_(self) -> float:
        """The threshold that was used."""
        return float(self._result.settings["threshold"])

    @property
    def objective_history_(self) -> FloatArray:
        """‖L − Z‖², one value an update."""
        return self._result.history.objective[1:]

    @property
    def isolated_(self) -> IntArray:
        """Matched rows that are similar to no other."""
        return self._result.blocks["isolated"]

    @property
    def n_virtual_(self) -> int:
        """Virtual inputs that tied isolated rows to their nearest ones; they are no part of the map."""
        return int(self._result.settings["n_virtual"])

    @property
    def landmarks_(self) -> IntArray:
        """Rows that were matched."""
        return self._result.blocks["landmarks"]

    @property
    def eigenvalues_(self) -> FloatArray:
        """Eigenvalues of the Gram matrix, largest first."""
        return self._result.blocks["eigenvalues"]

    @property
    def graph_(self) -> Graph:
        """The pairs of similar rows, with the distances between them in unit norm; found anew each time."""
        return similarity_graph(
            self._rows, self._result.settings["threshold"], n_jobs=self.n_jobs, max_memory=self.max_memory
        )

    def _settings(self) -> Settings:
        """The parameters, checked."""
        _check_integer("n_components", self.n_components, 1)
        _check_integer("max_iter", self.max_iter, 0)
        if self.n_landmarks is not None:
            _check_integer("n_landmarks", self.n_landmarks, 2)
        threshold = None if isinstance(self.threshold, str) and self.threshold == "auto" else self.threshold
        if threshold is not None and not (_is_number(threshold) and 0 < float(threshold) < 1):
            raise InvalidParameterError(
                f'threshold must be "auto" or a cosine between 0 and 1; got {self.threshold!r}.'
            )
        for name, low, high in (("sparsity", 0, 1), ("momentum", -1e-300, 1), ("tol", -1e-300, np.inf)):
            if not (_is_number(getattr(self, name)) and low < getattr(self, name) < high):
                raise InvalidParameterError(
                    f"{name} must lie between {max(low, 0)} and {high}; got {getattr(self, name)!r}."
                )
        if not (_is_number(self.regularization) and 0 < self.regularization < np.inf):
            raise InvalidParameterError(
                f"regularization must be a positive number; got {self.regularization!r}."
            )
        for name, allowed in (("solver", _SOLVERS), ("placement", _PLACEMENTS)):
            if getattr(self, name) not in allowed:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}."
                )
        return Settings(
            n_components=int(self.n_components),
            threshold=None if threshold is None else float(threshold),
            sparsity=float(self.sparsity),
            n_landmarks=None if self.n_landmarks is None else int(self.n_landmarks),
            momentum=float(self.momentum),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            solver=self.solver,
            regularization=float(self.regularization),
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _check_integer(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidParameterError(f"{name} must be an integer of at least {least}; got {value!r}.")
