"""`KDS`, K-Deep Simplex as a scikit-learn estimator, and what it shares with `KDSClustering`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from ..checks import array, choice, integer, number
from ..errors import InvalidInputError
from ..methods.kds import Coder, decode, encode
from ..methods.kds.dictionary import STARTS
from ..methods.kds.fit import CONSTRAINTS, Clustering, Fit, Map, Settings, fit, fit_batches, forecast, place
from ..methods.kds.training import TRAININGS, BatchSource, Training
from ..typing import FloatArray
from .base import Embedder
from .registry import estimator
from .schema import Part

_BATCHED_ATOMS = 100  # where nobody can say how many rows there will be


@dataclass(eq=False, repr=False, kw_only=True)
class CodedEmbedder(Embedder):
    """An estimator that codes rows by learned atoms; `_goal` says what it makes of the codes."""

    n_atoms: str | int = "auto"
    locality: float = 0.1
    coder: str = "projected_gradient"
    training: str = "alternating"
    init: str | ArrayLike = "kmeans++"
    batch_size: int = 4096
    max_iter: int = 100
    tol: float = 1e-3

    _fitted: ClassVar[tuple[str, ...]] = ("codes_",)
    _schema: ClassVar[dict[str, Part]] = {
        "atoms": Part(("atoms", "m")),
        "atom_places": Part(("atoms", "d")),
        "codes_": Part(("n", "atoms"), least=0.0),
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find atoms and codes of the rows of X, and the map or clusters that follow from them; y is ignored."""
        settings = self._settings()
        table = self._read(X)
        with self._working(table) as run:
            self._keep(fit(table, settings, run))
        return self

    @property
    def _leaner(self) -> str:
        return "Fewer atoms or rows need less."

    def _forecast(self, data: Any) -> float:
        return 0.0 if isinstance(data, str) else forecast(data, self._settings())

    def fit_batches(self, batches: BatchSource) -> Any:
        """Find atoms from mini-batches of rows that need not fit into memory, and then the codes of all rows.

        `batches` is an iterable of arrays that can be iterated several times (a list, or an object with `__iter__`), or a
        function that returns an iterator.
        """
        settings = self._settings()
        with self._working("batches") as run:  # a checkpoint knows them by the atoms that they start with
            self._keep(fit_batches(batches, settings, run))
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = int(self.atoms_.shape[1])
        return self

    def encode(self, X: Any) -> csr_array:
        """The codes of rows in terms of `atoms_` (CSR): convex weights, optimal over all atoms, each row on its own."""
        rows = self._read_new(X).values
        # In the precision of the fitted rows, so that equal rows get equal codes.
        rows = rows.astype(self.embedding_.dtype, copy=False)
        return encode(rows, self._at_order_one().atoms_, self._coder(), self._placing_run()).matrix

    def decode(self, codes: Any) -> FloatArray:
        """The rows that `codes` (n × n_atoms, dense or sparse) stand for."""
        atoms = self.atoms_
        codes = codes if issparse(codes) else np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(atoms):
            raise InvalidInputError(
                f"codes must have one column for each of the {len(atoms)} atoms; got shape {codes.shape}."
            )
        return decode(codes, atoms)

    def transform(self, X: Any) -> FloatArray:
        """Places of rows: the means of their atoms' places, weighted by their codes."""
        return place(self.encode(X), self.atom_places_, self.embedding_.dtype)

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
        self._result  # noqa: B018 - says so if this is not fitted
        return np.asarray(self.codes_.sum(axis=0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _goal(self) -> Map | Clustering:
        """The goal of the fit (a map or clusters), checked."""

    def _powers(self) -> dict[str, int]:
        return {"atoms": 1}

    def _in_unit_of_data(self) -> str | None:
        return None if isinstance(self.init, str) else "init"

    def _keep(self, found: Fit) -> None:
        self.codes_ = found.codes
        self.result_ = found.embedding

    def _coder(self) -> Coder:
        return Coder(self.locality, self.coder)

    @property
    def _auto(self) -> bool:
        return isinstance(self.n_atoms, str) and self.n_atoms == "auto"

    def _wanted_atoms(self) -> int:
        """The number of atoms, unless it depends on the number of rows."""
        if not self._auto:
            return integer("n_atoms", self.n_atoms, 1, also='"auto"')
        return _BATCHED_ATOMS if isinstance(self.init, str) else len(array("init", self.init, (None, None)))

    def _settings(self) -> Settings:
        """The parameters, checked."""
        training = Training(
            n_atoms=self._wanted_atoms(),
            coder=self._coder(),
            method=choice("training", self.training, TRAININGS),
            init=choice("init", self.init, STARTS, also="an array")
            if isinstance(self.init, str)
            else array("init", self.init, (None, None)),
            batch_size=integer("batch_size", self.batch_size, 1),
            max_iter=integer("max_iter", self.max_iter, 0),
            tol=number("tol", self.tol, 0.0),
        )
        return Settings(training, self._goal(), self._auto and isinstance(self.init, str))


@estimator("kds", "K-Deep Simplex: learned atoms, rows as mixtures of a few near ones")
class KDS(CodedEmbedder):
    """A dictionary of atoms, codes on the simplex, and the map that they give (Tasissa, Tankala, Murphy and Ba 2023).

    Each row is described as a convex combination of a few nearby atoms: codes minimise ½‖y − Σ xⱼaⱼ‖² + locality Σ xⱼ‖y − aⱼ‖².

    Rows may be sparse (CSR) and stay sparse; atoms are dense. `transform` codes each row on its own; a row that equals a fitted row gets its place.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    n_atoms : int or "auto", default="auto"
        Number of atoms to learn; `winkel.methods.kds.error_by_atoms` shows the error for each number. "auto" takes one atom per
        20 rows, but at least 10 and twice `n_components`, and at most 500: with fewer rows per atom, the graph of rows and atoms falls apart. For
        `fit_batches` it is 100, and if `init` is an array, the number of atoms in it.
    locality : float, default=0.1
        How much the distance of the atoms counts relative to the error of the code; larger means fewer atoms per row. It has no
        unit: the same value suits the same data at any scale.
    coder : {"projected_gradient", "frank_wolfe"}, default="projected_gradient"
        How codes are found: by accelerated projected gradient or by Frank–Wolfe. Both give the optimum over all atoms.
    training : {"alternating", "minibatch", "gradient"}, default="alternating"
        "alternating" finds exact codes and the closed-form dictionary in turn, and the objective never rises; "minibatch"
        is online, `batch_size` rows at a time, and reads memory maps batch by batch; "gradient" is Adam on the atoms.
    init : {"kmeans++", "random"} or array of shape (n_atoms, n_features), default="kmeans++"
        Where atoms start: at rows far from each other, at random rows, or at atoms of your own.
    batch_size : int, default=4096
        Number of rows in a batch, for training="minibatch".
    max_iter : int, default=100
        Largest number of passes over the data.
    tol : float, default=0.001
        Relative decrease of the objective at which to stop.
    constraint : {"edges", "identity"}, default="edges"
        How the map is normalized to unit variance: over the edges of the graph of rows and atoms, as in the normalized Laplacian,
        or over rows and atoms, each counted once, QQᵀ = I as in the paper (eq 5).

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, n_features)
        The atoms.
    codes_ : csr_array of shape (n_samples, n_atoms)
        The codes of the fitted rows; `objective_` is their mean objective.
    usage_ : ndarray of shape (n_atoms,)
        How much each atom is used: the sum of its weights over the fitted rows.
    atom_places_ : ndarray of shape (n_atoms, n_components)
        The atoms on the map.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X
    >>> kds = wk.KDS(n_atoms=20, max_iter=60, random_state=0).fit(X[:300])
    >>> kds.embedding_.shape, kds.codes_.shape
    ((300, 2), (300, 20))
    >>> kds.decode(kds.encode(X[300:302])).shape
    (2, 64)
    """

    n_components: int = 2
    _: KW_ONLY
    constraint: str = "edges"

    def _goal(self) -> Map:
        return Map(
            integer("n_components", self.n_components, 1), choice("constraint", self.constraint, CONSTRAINTS)
        )
