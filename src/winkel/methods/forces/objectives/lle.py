"""LLE's objective with a kernel on the map."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ....errors import InvalidInputError
from ....run import Run
from ....typing import FloatArray
from ..balance import Balance, balanced_places
from ..data_kernels import ListedKernel, NewRows, Source, neighbor_lists
from ..force_problem import ForceProblem
from ..reconstruction import SCRATCH, weights_by_rows, weights_by_similarity, weights_of, weights_of_similar
from ..schedule import Schedule
from .base import Matrix, Pair, PairObjective, Sums

_ENTRY = 65.0  # bytes of a fit for an entry of WᵀW, measured (tests/fire/memory.py)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """W + Wᵀ and WᵀW of the weights W by which rows are reconstructed: attractions and local repulsions of Lemma 4."""

    attraction: sp.csr_array
    repulsion: sp.csr_array

    @classmethod
    def of(cls, index: NDArray[np.int32], W: Matrix, run: Run) -> Reconstruction:
        """From the weights of listed neighbours, n × k. How many entries WᵀW has shows here; what more they take is asked for."""
        n = len(index)
        indptr = np.arange(0, index.size + 1, index.shape[1])
        S = sp.csr_array((W.ravel(), index.ravel(), indptr), shape=(n, n))
        S.sum_duplicates()
        repulsion = sp.csr_array(S.T @ S)
        run.check_memory(
            _ENTRY * repulsion.nnz,
            f"LLE of {n} rows, of which {repulsion.nnz} pairs stand in one list of neighbours,",
            "Use fewer neighbours, or raise max_memory.",
        )
        return cls(sp.csr_array(S + S.T), repulsion)


@dataclass(frozen=True)
class LLE(PairObjective):
    """Locally linear embedding with a kernel on the map: Tr(M K_Y) + (1/n) Σ k_y.

    M = (I − W)ᵀ(I − W), where the rows of W, which sum to one, best reconstruct each row from its neighbours. The second term
    keeps the map from collapsing into one point.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours from which a row is reconstructed; with kernel_x="perplexity" it is 3·perplexity.
    regularization : float, default=1e-2
        Share of the trace that is added to the Gram matrices of neighbours.
    kernel_x : {"linear", "centered_linear", "rbf", "perplexity", "fuzzy", "precomputed"}, default="linear"
        Kernel in whose space rows are reconstructed. "perplexity" and "fuzzy" are those of t-SNE and UMAP, and only need
        the neighbour graph; "precomputed" takes X as a symmetric matrix of similarities.
    kernel_y : {"cauchy", "umap", "gaussian"}, default="cauchy"
        Kernel on the map.
    perplexity : float, default=30.0
        The effective number of neighbours of a row, for kernel_x="perplexity".
    gamma : float or None, default=None
        γ of exp(−γ d²), for kernel_x="rbf"; None is 1 divided by the mean squared distance of two rows.
    min_dist : float, default=0.1
        Distance up to which points on the map count as close, for kernel_y="umap".
    spread : float, default=1.0
        Distance over which closeness fades, for kernel_y="umap".

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> lle = wk.objectives.LLE(n_neighbors=10, kernel_x="fuzzy")
    >>> wk.AttractRepel(objective=lle, max_iter=50, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    n_neighbors: int = 15
    _: KW_ONLY
    regularization: float = 1e-2
    kernel_x: str = "linear"
    kernel_y: str = "cauchy"
    perplexity: float = 30.0
    gamma: float | None = None
    min_dist: float = 0.1
    spread: float = 1.0

    any_scale: ClassVar[bool] = True
    joins_lists: ClassVar[bool] = True
    schedule: ClassVar[Schedule] = Schedule("lbfgs", 200, exaggeration=8.0, exaggeration_iter=150)
    steps: ClassVar[Schedule] = Schedule("gains", 500, 0.4, exaggeration=8.0, exaggeration_iter=150)

    @property
    def uses_metric(self) -> bool:
        """Whether a metric determines which rows are neighbours: true unless similarities are given."""
        return self.kernel_x != "precomputed"

    def neighbors(self, n: int) -> int | None:
        """Number of neighbours needed for each of n rows, if any."""
        return (super().neighbors(n) or self.n_neighbors) if self.uses_metric else None

    def memory(self, n: int, columns: int, itemsize: int, listed_together: float) -> float:
        """Blocks of neighbourhoods with their products, then WᵀW, which has an entry for rows that stand in one list."""
        k, joint = self.neighbors(n), _ENTRY * n * listed_together
        if k is None or self.data_kernel.listed:
            return super().memory(n, columns, itemsize, listed_together) + joint
        width = max(columns, k)
        number = 18.0 if itemsize == 8 else 20.0  # bytes; rows in single precision are there twice
        return max((number + 19.0 * k / width) * min(SCRATCH, n * k * width), joint)

    def weights(self, source: Source, run: Run) -> Reconstruction:
        """The weights by which rows are reconstructed from their neighbours."""
        kernel = self.data_kernel
        if source.similarities is not None:
            K = sp.csr_array(kernel.gram(source, run))
            index = _most_similar(K, min(self.n_neighbors, source.n - 1))
            return Reconstruction.of(index, weights_by_similarity(K, index, self.regularization), run)
        assert source.graph is not None
        index = neighbor_lists(source.graph)[0]
        if kernel.listed:
            K = kernel.matrix(source, run)
            if kernel.normalized:
                K = K * (2.0 * source.n)
            W = weights_by_similarity(sp.csr_array(K), index, self.regularization)
            return Reconstruction.of(index, W, run)
        if source.table is None:
            raise InvalidInputError(
                'LLE reconstructs rows, so it needs them; for a graph or distances use kernel_x="fuzzy".'
            )
        gamma = self.gamma if self.kernel_x == "rbf" else None
        return Reconstruction.of(
            index, weights_by_rows(source.table.values, index, self.regularization, gamma), run
        )

    def problem(self, weights: Reconstruction, sums: Sums, run: Run) -> ForceProblem:
        """Tr(M K_Y) + (1/n) Σ k_y, with the diagonals, where k_y is one."""
        W, V = weights.attraction, weights.repulsion
        n = W.shape[0]
        constant = float(n + V.diagonal().sum() - W.diagonal().sum() + 1)
        return self.force_problem(
            sp.csr_array(V - W), "kernel", "kernel", sums, run, all_weight=1 / n, constant=constant
        )

    def listed_repulsion(self, problem: ForceProblem, weights: Reconstruction, Y: Matrix) -> Matrix:
        """M holds attractions −(W + Wᵀ) and the repulsions WᵀW of Lemma 4."""
        return problem.gradient_of(weights.repulsion, "kernel", Y)

    def scalars(
        self, pair: Pair, problem: ForceProblem, weights: Any, normalizer: float
    ) -> tuple[Matrix, Matrix]:
        """W + Wᵀ, and WᵀW + 1/n."""
        return pair.entries(weights.attraction), pair.entries(weights.repulsion) + problem.all_weight

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Each new row is attracted by the neighbours from which it is reconstructed, and by rows that would list it."""
        kernel = self.data_kernel
        if isinstance(kernel, ListedKernel):
            to_own, between = kernel.to_fitted_joined(new, run), kernel.among_fitted(new, run)
            W = weights_of_similar(np.ones(len(to_own)), to_own, between, self.regularization)
        else:
            gamma = self.gamma if self.kernel_x == "rbf" else None
            W = weights_of(new.own(), new.others(), self.regularization, gamma)
        # W + Wᵀ, as in the fit: of how fitted rows would be reconstructed with the new one among their neighbours, their number is known.
        # Lists by perplexity are long, and most of one weighs little: half the perplexity is a sixth of it, as for t-SNE.
        k = new.index.shape[1]
        W = W + new.listing(max(1, k // 6) if self.kernel_x == "perplexity" else k)
        W = W / W.sum(axis=1, keepdims=True)
        # Attraction is −w k_y.
        return balanced_places(Y, new, -W, Balance(self.map_kernel, "kernel", "kernel", 1 / len(Y)), run)

    def _used(self) -> set[str]:
        return super()._used() | (set() if self.kernel_x == "perplexity" else {"n_neighbors"})


def _most_similar(K: sp.csr_array, k: int) -> NDArray[np.int32]:
    dense = K.toarray()
    np.fill_diagonal(dense, -np.inf)
    return np.argsort(-dense, axis=1, kind="stable")[:, :k].astype(np.int32)
