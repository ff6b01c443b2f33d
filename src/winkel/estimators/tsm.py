"""`TSM`, thresholded similarity matching as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from ..checks import choice, integer, number, optional, positive
from ..data import Table, as_table
from ..graph import Graph
from ..methods.tsm import AngleHistogram, angle_histogram, similarity_graph
from ..methods.tsm.fit import NORMS, SOLVERS, STARTS, Settings, fit, forecast
from ..methods.tsm.place import PLACEMENTS, FittedRows, place
from ..run import Run
from ..typing import FloatArray, IntArray, RandomState
from .base import Embedder
from .registry import estimator
from .schema import Part, check_number
from .tsm_choice import TradeOff, trade_off


@estimator("tsm", "thresholded similarity matching")
class TSM(Embedder):
    """A map that keeps norms and small angles, by thresholded similarity matching (Saul 2023).

    Every row keeps its norm. Pairs of rows with a cosine above the threshold keep their angle; all other pairs stay at an angle
    larger than that of the threshold. Similarity is measured by cosine and the origin has a meaning, so rows should not be centred. The method
    was made for images (whose norm is brightness) and word vectors (whose norm says how specific a word is).

    Rows may be sparse (CSR) and stay sparse. Rows of zeros are placed at the origin. `transform` places each new row on its own, with its norm; a
    row that equals a fitted row gets that row's place.

    Parameters
    ----------
    n_components : int, default=16
        Dimension of the map; about 4 to 64.
    threshold : float or "auto", default="auto"
        The cosine above which two rows are similar. "auto" chooses it by the histogram of angles, such that the share
        `sparsity` of all pairs is not similar.
    sparsity : float, default=0.99
        Share of pairs that are not similar, for threshold="auto".
    n_landmarks : int or None, default=None
        Match this many rows, drawn at random, and extend the map to the others by locally linear weights. None
        matches all rows, which is more faithful. Time grows with the square of the number of matched rows.
    momentum : float, default=0.9
        Momentum of the alternating updates ("factors" and "dense"). With 0, no update raises the objective, but progress
        is slow.
    max_iter : int, default=250
        Number of passes over all pairs of rows.
    tol : float, default=0.0
        Stop when an update changes the matrix by no more than this part of it; 0 makes all passes.
    solver : {"quasi_newton", "factors", "dense"}, default="quasi_newton"
        "quasi_newton" is L-BFGS on matrices of rank d; "factors" makes the paper's alternating updates without an n × n
        matrix; "dense" solves the paper's equations on n × n matrices, as a reference for small data.
    placement : {"local", "relu"}, default="local"
        How `transform` places new rows: "local" as a weighted sum of nearby rows; "relu" such that the similarities with fitted rows are
        as close as possible to those in the data.
    regularization : float, default=1e-4
        Regularization of the locally linear weights.
    n_neighbors : int or None, default=None
        Number of nearby rows in the weighted sum that places a row that was not matched, or a new row in `transform`. None is four times
        `n_components`.
    norms : {"keep", "matched"}, default="keep"
        "keep" gives every fitted row its exact norm, as `transform` does with new rows, and changes no angle; "matched"
        leaves the norms as the matching finds them (eq 9 of the paper).
    init : {"strict", "svd"}, default="strict"
        Where the matching starts. "strict" uses linear projections thresholded at 1 − (1 − τ)/4, from which quasi-Newton steps have never
        collapsed; "svd" thresholds at τ itself (eq 17 of the paper). The results differ little.
    rank : int or None, default=None
        Rank of the matrix L that is matched, at least `n_components`. None is `n_components`, which works best. With a larger rank, the
        map is the largest part of a richer matrix.

    Attributes
    ----------
    threshold_ : float
        The threshold that was used.
    isolated_ : ndarray
        Rows that are similar to no other row. During the fit, `n_virtual_` virtual inputs connect them to the others.
    landmarks_ : ndarray
        Rows that were matched.
    eigenvalues_ : ndarray
        Eigenvalues of the Gram matrix. Large negative ones mean that the map needs more dimensions; a DataWarning says so.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> tsm = wk.TSM(16, max_iter=20, random_state=0).fit(digits.X)
    >>> tsm.embedding_.shape
    (1797, 16)
    """

    n_components: int = 16
    _: KW_ONLY
    threshold: str | float = "auto"
    sparsity: float = 0.99
    n_landmarks: int | None = None
    momentum: float = 0.9
    max_iter: int = 250
    tol: float = 0.0
    solver: str = "quasi_newton"
    placement: str = "local"
    regularization: float = 1e-4
    n_neighbors: int | None = None
    norms: str = "keep"
    init: str = "strict"
    rank: int | None = None

    _fitted: ClassVar[tuple[str, ...]] = ("_rows",)
    _schema: ClassVar[dict[str, Part]] = {
        "_rows": Part(("n", "m")),
        "eigenvalues": Part(("values",)),
        "isolated": Part(("isolated",), below="n", least=0),
        "landmarks": Part(("landmarks",), below="n", least=0),
    }

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for name in ("threshold", "n_virtual"):
            check_number(name, self._result.settings[name], "TSM")

    @property
    def _leaner(self) -> str:
        dense = self.solver == "dense"
        return (
            'Use n_landmarks, or solver="quasi_newton".' if dense else "Use n_landmarks, or raise max_memory."
        )

    def _forecast(self, data: Any) -> float:
        return forecast(data.shape, getattr(data.values, "nnz", None), self._settings())

    def fit(self, X: Any, y: Any = None) -> TSM:
        """Find the map of the rows of X; y is ignored."""
        settings = self._settings()
        choice("placement", self.placement, PLACEMENTS)
        table = self._read(X)
        with self._working(table) as run:
            self.result_ = fit(table, settings, run)
            self._rows = table.values
        return self

    def transform(self, X: Any) -> FloatArray:
        """Positions of new rows among the fitted ones, which stay where they are."""
        rows, made = self._read_new(X), self._at_order_one()
        fitted = FittedRows(
            made._rows,
            made.embedding_,
            self.threshold_,
            positive("regularization", self.regularization),
            choice("placement", self.placement, PLACEMENTS),
            optional(integer, "n_neighbors", self.n_neighbors, 1) or 4 * self.embedding_.shape[1],
        )
        return self._in_unit(place(rows.values, fitted, self._placing_run()))

    def _powers(self) -> dict[str, int]:
        return {"Y": 1, "eigenvalues": 2, "_rows": 1}

    def angle_histogram(self, X: Any) -> AngleHistogram:
        """The histogram of angles in X, by which threshold="auto" chooses the threshold (fig 2 of the paper)."""
        return angle_histogram(X, sparsity=self.sparsity, random_state=self.random_state)

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
        """A small table of what each number of dimensions and each threshold keeps, measured on `n_rows` random rows.

        Norms are those of norms="matched"; their errors also show whether there are enough dimensions.
        """
        table, run = as_table(X, allow_sparse=False), Run.of(random_state=random_state, n_jobs=n_jobs)
        order = run.stream("choice").permutation(len(table.values))
        rows = table.rows(np.sort(order[: integer("n_rows", n_rows, 2)]))

        def make(d: int, share: float) -> TSM:
            return TSM(
                d, sparsity=share, max_iter=max_iter, norms="matched", random_state=run.seed, n_jobs=n_jobs
            )

        return trade_off(make, rows, n_components, sparsity, n_jobs)

    @property
    def threshold_(self) -> float:
        """The threshold that was used."""
        return float(self._result.settings["threshold"])

    @property
    def objective_history_(self) -> FloatArray:
        """‖L − Z‖², one value per update."""
        return self._result.history.objective[1:]

    @property
    def isolated_(self) -> IntArray:
        """Matched rows that are similar to no other."""
        return self._result.blocks["isolated"]

    @property
    def n_virtual_(self) -> int:
        """Number of virtual inputs that connected isolated rows to their nearest rows; they are not part of the map."""
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
        """The pairs of similar rows, with the distances between the rows scaled to unit norm; computed again at each access."""
        threshold = self.threshold_
        rows = Table(self._rows, validated=True)
        return similarity_graph(rows, threshold, n_jobs=self.n_jobs, max_memory=self.max_memory)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> Settings:
        """The parameters, checked."""
        auto = isinstance(self.threshold, str) and self.threshold == "auto"
        return Settings(
            n_components=integer("n_components", self.n_components, 1),
            threshold=None
            if auto
            else number("threshold", self.threshold, 0.0, 1.0, low_open=True, high_open=True, also='"auto"'),
            sparsity=number("sparsity", self.sparsity, 0.0, 1.0, low_open=True, high_open=True),
            n_landmarks=optional(integer, "n_landmarks", self.n_landmarks, 2),
            momentum=number("momentum", self.momentum, 0.0, 1.0, high_open=True),
            max_iter=integer("max_iter", self.max_iter, 0),
            tol=number("tol", self.tol, 0.0),
            solver=choice("solver", self.solver, SOLVERS),
            regularization=positive("regularization", self.regularization),
            norms=choice("norms", self.norms, NORMS),
            init=choice("init", self.init, STARTS),
            rank=optional(integer, "rank", self.rank, self.n_components),
            n_neighbors=optional(integer, "n_neighbors", self.n_neighbors, 1),
        )
