"""UMAP's objective: the cross-entropy of memberships, or the loss that UMAP's negative sampling minimizes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .... import _core
from ....errors import InvalidInputError
from ....run import Run
from ....typing import FloatArray
from ..balance import Balance, balanced_places
from ..data_kernels import NewRows, Source
from ..force_problem import APART_NODES, ForceProblem
from ..map_kernels import MapKernel
from ..schedule import Schedule
from .base import Matrix, Pair, PairObjective, Sums, check_not_negative, xlogx


@dataclass(frozen=True)
class UMAP(PairObjective):
    """UMAP: −Σ p log k_y − Σ r log(1 − k_y), where p is k_x.

    With a `negative_sample_rate` of m, r_ij = m (d_i + d_j)/(4n), where d are the row sums of p; this is what UMAP's sampling does
    on average. With None, r is 1 − p, which gives the cross-entropy of the UMAP paper.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours of each row, for kernel_x="fuzzy".
    min_dist : float, default=0.1
        Distance up to which points on the map count as close, for kernel_y="umap".
    spread : float, default=1.0
        Distance over which closeness fades, for kernel_y="umap".
    negative_sample_rate : float or None, default=5.0
        Strength m of the repulsion; None for the cross-entropy.
    kernel_x : {"fuzzy", "perplexity", "linear", "centered_linear", "rbf", "precomputed"}, default="fuzzy"
        Kernel on the data. "fuzzy" and "perplexity" are those of UMAP and t-SNE; the others compare all pairs of rows;
        "precomputed" takes X as a symmetric matrix of similarities. Similarities must lie in [0, 1].
    kernel_y : {"umap", "cauchy", "gaussian"}, default="umap"
        Kernel on the map.
    perplexity : float, default=30.0
        The effective number of neighbours of a row, for kernel_x="perplexity".
    gamma : float or None, default=None
        γ of exp(−γ d²), for kernel_x="rbf"; None is 1 divided by the mean squared distance of two rows.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> umap = wk.objectives.UMAP(n_neighbors=10, min_dist=0.3)
    >>> wk.AttractRepel(objective=umap, max_iter=50, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    n_neighbors: int = 15
    _: KW_ONLY
    min_dist: float = 0.1
    spread: float = 1.0
    negative_sample_rate: float | None = 5.0
    kernel_x: str = "fuzzy"
    kernel_y: str = "umap"
    perplexity: float = 30.0
    gamma: float | None = None

    kept_constants: ClassVar[tuple[str, ...]] = ("degree",)
    grid_nodes: ClassVar[float] = APART_NODES
    schedule: ClassVar[Schedule] = Schedule(
        "lbfgs", 200, exaggeration=4.0, exaggeration_iter=65, start_spread=4.0
    )
    steps: ClassVar[Schedule] = Schedule(
        "adam", 300, 1.0, exaggeration=4.0, exaggeration_iter=90, start_spread=4.0
    )

    @property
    def accepts_graph(self) -> bool:
        """True for UMAP's own kernel, which only uses the graph, like the start."""
        return self.kernel_x == "fuzzy"

    def usual_start(self, source: Source) -> str:
        """The graph's spectral embedding, if there is a graph."""
        return "spectral" if source.graph is not None else super().usual_start(source)

    def weights(self, source: Source, run: Run) -> sp.csr_array:
        """The memberships p, in [0, 1]."""
        K = self.data_kernel.matrix(source, run)
        if self.data_kernel.normalized:
            K = sp.csr_array(K * (1 / K.data.max()))  # memberships, not shares of one
        check_not_negative(self, K)
        if K.nnz and K.data.max() > 1 + 1e-6:
            raise InvalidInputError(
                f'objective "umap" needs similarities in [0, 1]; the largest is {K.data.max():g}.'
            )
        return K

    def problem(self, weights: sp.csr_array, sums: Sums, run: Run) -> ForceProblem:
        """The loss; of the sampled form without the constant Σ p log p."""
        if self.negative_sample_rate is None:
            p = weights.data.astype(np.float64)
            constant = float(np.sum(xlogx(p))) + float(np.sum(xlogx(np.maximum(1 - p, 0.0))))
            return self.force_problem(weights, "logit", "apart", sums, run, constant=constant)
        rate = self.negative_sample_rate / (2 * weights.shape[0])
        degree = np.asarray(weights.sum(axis=1)).ravel()
        return self.force_problem(weights, "neg_log", "apart", sums, run, all_weight=rate, charges=degree)

    def listed_repulsion(self, problem: ForceProblem, weights: sp.csr_array, Y: Matrix) -> Matrix | None:
        """Of the cross-entropy: what 1 − p leaves out at listed pairs."""
        return None if problem.listed_form != "logit" else problem.gradient_of(-weights, "apart", Y)

    def scalars(
        self, pair: Pair, problem: ForceProblem, weights: Any, normalizer: float
    ) -> tuple[Matrix, Matrix]:
        """p/k_y, and r/(1 − k_y)."""
        p = pair.entries(weights)
        if problem.charges is None:
            r = 1 - p
        else:
            q = np.asarray(problem.charges, dtype=np.float64)
            r = problem.all_weight * 0.5 * (q[pair.i] + q[pair.j])
        kernel = problem.kernel
        return p / kernel.value(pair.s), r * _over_rest(kernel, pair.s) / kernel.slope(pair.s)

    def constants(self, problem: ForceProblem, Y: FloatArray) -> dict[str, float]:
        """The mean row sum of the memberships."""
        if problem.charges is None:
            return {"degree": float(np.sum(problem.pairs.weights, dtype=np.float64)) / problem.n}
        return {"degree": float(np.mean(problem.charges))}

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Each new row with its own memberships, and the repulsion that a fitted row with these memberships would have."""
        weights = self.data_kernel.to_fitted(new, run)
        if self.data_kernel.normalized:  # rows of sum one, where those of memberships have another
            weights = weights * constants["degree"]
        if self.negative_sample_rate is None:
            balance = Balance(self.map_kernel, "logit", "apart", 1.0)
        else:
            rate = self.negative_sample_rate / (2 * len(Y))
            balance = Balance(self.map_kernel, "neg_log", "apart", rate, constants["degree"])
        return balanced_places(Y, new, weights, balance, run)


def _over_rest(kernel: MapKernel, s: Matrix) -> Matrix:
    """k'/(1 − k), as the loss has it: constant below the floor."""
    return np.asarray(_core.curve_values(kernel.curve("apart"), np.ascontiguousarray(s))[1], dtype=np.float64)
