"""PCA with a kernel on the data and another on the map."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ....run import Run
from ....typing import FloatArray
from ..balance import Balance, balanced_places
from ..data_kernels import NewRows, Source
from ..force_problem import ForceProblem
from ..schedule import Schedule
from .base import Matrix, Pair, PairObjective, Sums


@dataclass(frozen=True)
class TwoKernelPCA(PairObjective):
    """PCA with two kernels: ‖K_X − K_Y‖², over pairs of different rows.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours of each row, for kernel_x="fuzzy".
    kernel_x : {"fuzzy", "perplexity", "linear", "centered_linear", "rbf", "precomputed"}, default="fuzzy"
        Kernel on the data. "fuzzy" and "perplexity" are those of UMAP and t-SNE; the others compare all pairs of rows;
        "precomputed" takes X as a symmetric matrix of similarities.
    kernel_y : {"umap", "cauchy", "gaussian"}, default="umap"
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
    >>> two_kernels = wk.objectives.TwoKernelPCA(kernel_x="rbf", kernel_y="gaussian")
    >>> wk.AttractRepel(objective=two_kernels, max_iter=50, random_state=0).fit_transform(digits.X[:200]).shape
    (200, 2)
    """

    n_neighbors: int = 15
    _: KW_ONLY
    kernel_x: str = "fuzzy"
    kernel_y: str = "umap"
    perplexity: float = 30.0
    gamma: float | None = None
    min_dist: float = 0.1
    spread: float = 1.0

    schedule: ClassVar[Schedule] = Schedule("lbfgs", 300)
    steps: ClassVar[Schedule] = Schedule("adam", 300, 0.1)
    force_scale: ClassVar[float] = 8.0

    def weights(self, source: Source, run: Run) -> sp.csr_array:
        """K_X without its diagonal."""
        return self.data_kernel.matrix(source, run)

    def problem(self, weights: sp.csr_array, sums: Sums, run: Run) -> ForceProblem:
        """Σ k_x² − 2 Σ k_x k_y + Σ k_y²."""
        square = float(np.sum(np.square(weights.data.astype(np.float64))))
        return self.force_problem(sp.csr_array(-2 * weights), "kernel", "square", sums, run, constant=square)

    def scalars(
        self, pair: Pair, problem: ForceProblem, weights: Any, normalizer: float
    ) -> tuple[Matrix, Matrix]:
        """k_x and k_y."""
        return pair.entries(weights), problem.kernel.value(pair.s)

    def place(self, new: NewRows, Y: FloatArray, constants: dict[str, float], run: Run) -> Matrix:
        """Each new row where its similarities to fitted rows are kept best."""
        weights = -2 * self.data_kernel.to_fitted(new, run)
        if self.data_kernel.normalized:  # all together, where a new row's own sum to one
            weights = weights / len(Y)
        return balanced_places(Y, new, weights, Balance(self.map_kernel, "kernel", "square", 1.0), run)
