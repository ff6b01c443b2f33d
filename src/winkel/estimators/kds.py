"""`KDS`, K-Deep Simplex as a scikit-learn estimator, and what it shares with `KDSClustering`."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from ..embedding import Embedding
from ..errors import DataWarning, InvalidInputError, InvalidParameterError
from ..methods.kds import (
    BATCH_SIZE,
    Coder,
    Codes,
    Plan,
    Trained,
    code_spectrum,
    decode,
    encode,
    train,
)
from ..methods.kds.batches import ArrayBatches, Batches, BatchSource, StreamBatches, first_rows
from ..resources import check_memory, parse_memory, resolve_n_jobs, resolve_seed
from ..typing import FloatArray, RandomState
from .base import Embedder

_ATOMS_A_ROW = 16  # in the forecast of memory; most rows use fewer


class CodedEmbedder(Embedder):
    """An estimator that codes rows by learned atoms; `_read_codes` says what it makes of the codes."""

    _counts: tuple[str, ...] = ("n_atoms", "batch_size")  # parameters that must be positive integers

    codes_: csr_array
    n_atoms: int
    locality: float
    coder: str
    training: str
    init: str | ArrayLike
    batch_size: int
    max_iter: int
    tol: float
    random_state: RandomState
    n_jobs: int | None
    verbose: bool | int
    callbacks: Sequence[object] | None
    max_memory: int | float | str | None

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find atoms and codes of the rows of X, and what follows from them; y is ignored."""
        self._check_choices()
        seed = resolve_seed(self.random_state)
        rows = self._read(X, allow_sparse=False).values
        m = self._usable_atoms(len(rows))
        self._check_memory(len(rows), m)
        data: FloatArray | Batches = rows
        if self.training == "minibatch":
            data = ArrayBatches(rows, self.batch_size, seed)
        trained = self._train(data, m, seed)
        self._finish(trained, encode(rows, trained.atoms, self._coder()), seed, rows.dtype)
        self._say_faithfulness(rows)
        return self

    def fit_batches(self, batches: BatchSource) -> Any:
        """Find atoms by mini-batches of rows that need not fit into memory, and then the codes of all of them.

        `batches` is an iterable of arrays that can be walked several times (a list, or an object with `__iter__`), or a
        function that returns an iterator.
        """
        self._check_choices()
        stream, seed = StreamBatches(batches), resolve_seed(self.random_state)
        some = first_rows(stream, self.n_atoms)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = int(some.shape[1])
        trained = self._train(stream, self._usable_atoms(len(some)), seed, training="minibatch")
        parts = [
            encode(self._as(batch, some.dtype), trained.atoms, self._coder()) for batch in stream.in_order()
        ]
        codes = Codes(
            vstack([part.matrix for part in parts], format="csr"),
            np.concatenate([part.objective for part in parts]),
            np.concatenate([part.gap for part in parts]),
        )
        return self._finish(trained, codes, seed, some.dtype)

    def encode(self, X: Any) -> csr_array:
        """The codes of rows by `atoms_` (CSR): convex weights, optimal over all atoms, each row by itself."""
        rows = self._read_new(X)
        if issparse(rows):
            raise InvalidInputError("X is sparse, which is not supported here. Pass X.toarray().")
        return encode(self._as(rows, self.embedding_.Y.dtype), self.atoms_, self._coder()).matrix

    def decode(self, codes: Any) -> FloatArray:
        """The rows that `codes` (n × n_atoms, dense or sparse) stand for."""
        check_is_fitted(self, "embedding_")
        codes = codes if issparse(codes) else np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.atoms_):
            raise InvalidInputError(
                f"codes must have one column for each of the {len(self.atoms_)} atoms; got shape {codes.shape}."
            )
        return decode(codes, self.atoms_)

    def transform(self, X: Any) -> FloatArray:
        """Places of rows: the means of their atoms' places, weighted by their codes."""
        return self._place(self.encode(X))

    @property
    def atoms_(self) -> FloatArray:
        """The atoms (n_atoms × n_features)."""
        return self._result.blocks["atoms"]

    @property
    def atom_places_(self) -> FloatArray:
        """The places of the atoms on the map (n_atoms × dimensions)."""
        return self._result.blocks["atom_places"]

    @property
    def usage_(self) -> FloatArray:
        """How much each atom is used: the sum of its weights over the fitted rows."""
        check_is_fitted(self, "embedding_")
        return np.asarray(self.codes_.sum(axis=0))

    @abstractmethod
    def _read_codes(self, codes: csr_array, seed: int) -> FloatArray:
        """The atoms' places; sets whatever else is fitted."""

    def _place(self, codes: csr_array) -> FloatArray:
        return np.asarray(codes @ self.atom_places_).astype(self.embedding_.Y.dtype)

    def _finish(self, trained: Trained, codes: Codes, seed: int, dtype: Any) -> Any:
        self.codes_ = codes.matrix
        places = self._read_codes(codes.matrix, seed)
        self.embedding_ = Embedding(
            Y=np.asarray(codes.matrix @ places).astype(dtype),
            objective=float(codes.objective.mean()),
            residual=trained.residual,
            history=trained.history,
            status=trained.status,
            seed=seed,
            settings={"method": "KDS", "training": self.training, "locality": float(self.locality)},
            blocks={"atoms": trained.atoms, "atom_places": places},
        )
        return self

    def _train(self, data: FloatArray | Batches, m: int, seed: int, training: str | None = None) -> Trained:
        init = self.init if isinstance(self.init, str) else np.asarray(self.init)
        plan = Plan(m, training or self.training, init, self.max_iter, self.tol, seed)
        return train(data, self._coder(), plan, verbose=self.verbose, callbacks=self.callbacks or ())

    def _coder(self) -> Coder:
        return Coder(self.locality, self.coder, n_jobs=resolve_n_jobs(self.n_jobs))

    @staticmethod
    def _as(rows: FloatArray, dtype: Any) -> FloatArray:
        """Rows in the precision of the fitted ones, so that equal rows get equal codes."""
        return rows.astype(dtype, copy=False)

    def _check_choices(self) -> None:
        """Raise for parameters that cannot be used, before the data is looked at."""
        for name in self._counts:
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InvalidParameterError(f"{name} must be a positive integer; got {value!r}.")
        self._coder()
        parse_memory(self.max_memory)
        Plan(1, self.training)

    def _usable_atoms(self, n: int) -> int:
        m = int(self.n_atoms)
        if m > n:
            warnings.warn(
                f"n_atoms={m}, but there are only {n} rows; n_atoms={n} is used.", DataWarning, stacklevel=3
            )
        return min(m, n)

    def _check_memory(self, n: int, m: int) -> None:
        d = self.n_features_in_
        forecast = 12 * n * min(m, _ATOMS_A_ROW) + 8 * (4 * m * m + 5 * m * d)
        check_memory(forecast, parse_memory(self.max_memory), "KDS", "Fewer atoms need less.")


class KDS(CodedEmbedder):
    """A dictionary of atoms, codes on the simplex, and the map that they give (Tasissa, Tankala, Murphy and Ba 2023).

    Each row is a convex combination of a few near atoms: codes minimise ½‖y − Σ xⱼaⱼ‖² + locality Σ xⱼ‖y − aⱼ‖².

    Parameters
    ----------
    n_components : dimension of the map.
    n_atoms : how many atoms are learned; `winkel.methods.kds.error_by_atoms` shows what each number gives.
    locality : how much nearness of the atoms counts beside the error of the code; larger means fewer atoms a row.
        It has no unit: the same value suits the same data at any scale.
    coder : "projected_gradient" (accelerated) or "frank_wolfe"; both give the optimum over all atoms.
    training : "alternating" (exact codes and the closed-form dictionary by turns; the objective never rises), "minibatch"
        (online, `batch_size` rows at a time; memory maps are read batch by batch) or "gradient" (Adam on the atoms).
    init : where atoms start: "kmeans++" or "random" rows, or an array (n_atoms × n_features).
    max_iter, tol : walks over the data at most; relative fall of the objective at which to stop.

    Attributes
    ----------
    atoms_ : n_atoms × n_features.    codes_ : CSR, n × n_atoms.    usage_ : how much each atom is used.
    embedding_ : the Embedding; also `objective_` (mean over rows), `history_`, `status_`, `n_iter_` read from it.
    atom_places_ : the atoms on the map (n_atoms × n_components).

    The same `random_state` gives the same bytes for any `n_jobs`. `transform` codes each row by itself, and a row that
    equals a fitted one gets its place.
    """

    _fitted = ("n_features_in_", "feature_names_in_", "codes_")
    _counts = ("n_components", "n_atoms", "batch_size")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_atoms: int = 100,
        locality: float = 0.1,
        coder: str = "projected_gradient",
        training: str = "alternating",
        init: str | ArrayLike = "kmeans++",
        batch_size: int = BATCH_SIZE,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        callbacks: Sequence[object] | None = None,
        max_memory: int | float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_atoms = n_atoms
        self.locality = locality
        self.coder = coder
        self.training = training
        self.init = init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.max_memory = max_memory

    def _read_codes(self, codes: csr_array, seed: int) -> FloatArray:
        return code_spectrum(codes, int(self.n_components)).atoms
