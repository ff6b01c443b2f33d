"""t-SNE's objective: the divergence of the map's probabilities from the data's."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InvalidInputError
from ....run import Run
from ....typing import FloatArray
from ..balance import Balance, balanced_places
from ..data_kernels import NewRows, Perplexity, Source
from ..force_problem import ForceProblem
from ..schedule import Schedule
from .base import Matrix, Pair, PairObjective, Sums, check_not_negative, xlogx


@dataclass(frozen=True)
class TSNE(PairObjective):
    """t-SNE: Σ p log(p/q), where p and q are k_x and k_y, each divided by its sum over all pairs.

    With an `attraction` of e, the loss is Σ p log p − e Σ p log k_y + log Σ k_y. It leads from t-SNE at 1, via maps like UMAP's at about 4, to
    maps like those of the Laplacian, which show the overall shape, at 30 and more (Böhm, Berens and Kobak 2022).

    Parameters
    ----------
    perplexity : float, default=30.0
        The effective number of neighbours of a row; three times as many are searched. If there are few rows, it is reduced, with a
        DataWarning says.
    attraction : float, default=1.0
        Factor by which attractions are stronger, to the end of the fit: openTSNE's `exaggeration`.
    kernel_x : {"perplexity", "fuzzy", "linear", "centered_linear", "rbf", "precomputed"}, default="perplexity"
        Kernel on the data. "perplexity" and "fuzzy" are those of t-SNE and UMAP; the others compare all pairs of rows;
        "precomputed" takes X as a symmetric matrix of similarities.
    kernel_y : {"cauchy", "umap", "gaussian", "student"}, default="cauchy"
        Kernel on the map. "student" is (1 + d²/dof)^−dof; with dof below 1, its heavier tails show smaller clusters (Kobak and others 2019).
    n_neighbors : int, default=15
        Number of neighbours of each row, for kernel_x="fuzzy".
    gamma : float or None, default=None
        γ of exp(−γ d²), for kernel_x="rbf"; None is 1 divided by the mean squared distance of two rows.
    min_dist : float, default=0.1
        Distance up to which points on the map count as close, for kernel_y="umap".
    spread : float, default=1.0
        Distance over which closeness fades, for kernel_y="umap".
    dof : float, default=1.0
        Degrees of freedom, for kernel_y="student"; 1 is "cauchy".

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> tsne = wk.objectives.TSNE(perplexity=10)
    >>> wk.AttractRepel(objective=tsne, max_iter=50, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    perplexity: float = 30.0
    _: KW_ONLY
    attraction: float = 1.0
    kernel_x: str = "perplexity"
    kernel_y: str = "cauchy"
    n_neighbors: int = 15
    gamma: float | None = None
    min_dist: float = 0.1
    spread: float = 1.0
    dof: float = 1.0

    any_scale: ClassVar[bool] = True
    kept_constants: ClassVar[tuple[str, ...]] = ("normalizer",)
    schedule: ClassVar[Schedule] = Schedule(
        "lbfgs", 180, exaggeration=12.0, exaggeration_iter=75, start_spread=0.0, row_spread=0.02
    )
    steps: ClassVar[Schedule] = Schedule(
        "gains", 750, 1.0, exaggeration=12.0, exaggeration_iter=250, start_spread=1e-4
    )

    def weights(self, source: Source, run: Run) -> sp.csr_array:
        """The probabilities p, of sum one."""
        K = self.data_kernel.matrix(source, run)
        check_not_negative(self, K)
        total = float(np.sum(K.data, dtype=np.float64))
        if not total > 0:
            raise InvalidInputError('objective "tsne" needs a pair of rows with a positive similarity.')
        return sp.csr_array(K * K.dtype.type(1 / total))

    def problem(self, weights: sp.csr_array, sums: Sums, run: Run) -> ForceProblem:
        """Σ p log p − e Σ p log k_y + log Σ k_y."""
        entropy = float(np.sum(xlogx(weights.data.astype(np.float64))))
        pulls = (
            weights if self.attraction == 1 else sp.csr_array(weights * weights.dtype.type(self.attraction))
        )
        return self.force_problem(pulls, "neg_log", "kernel", sums, run, normalized=True, constant=entropy)

    def scalars(
        self, pair: Pair, problem: ForceProblem, weights: Any, normalizer: float
    ) -> tuple[Matrix, Matrix]:
        """e p/k_y, and 1 over the sum of k_y."""
        attraction = self.attraction * pair.entries(weights) / problem.kernel.value(pair.s)
        return attraction, np.full(len(pair.s), 1 / normalizer)

    def constants(self, problem: ForceProblem, Y: FloatArray) -> dict[str, float]:
        """The sum of k_y, by which repulsion is divided."""
        return {"normalizer": problem.parts(Y).normalizer}

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Each new row with its own probabilities, which sum to one, and the repulsion that fitted rows had."""
        kernel = self.data_kernel
        if isinstance(kernel, Perplexity) and new.graph is not None:
            weights = self.attraction * kernel.to_fitted_from_both(new, run)
        else:
            weights = kernel.to_fitted(new, run)
            total = weights.sum(axis=1, keepdims=True)
            weights = self.attraction * weights / np.where(total > 0, total, 1.0)
        balance = Balance(self.map_kernel, "neg_log", "kernel", len(Y) / constants["normalizer"])
        return balanced_places(Y, new, weights, balance, run)
