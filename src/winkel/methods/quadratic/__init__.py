"""Methods that are quadratic problems, each with its weights and exact solution.

    minimise (1/p) Σ w_ij ‖y_i − y_j‖²  subject to  (1/n) YᵀY = I, Yᵀ1 = 0

Every method here is a choice of weights (Agrawal, Ali and Boyd 2021, section 3.2); the bottom eigenvectors of
the matrix L with L_ij = −w_ij and L1 = 0 solve it. Each function returns a `Quadratic`: the weights, the
standardized Y, the objective, and, with `to_textbook()`, the coordinates as scaled in the paper of the method.

    data ──> weights on a graph:  laplacian, lle ───────────────────────────────┐
         └─> weights of all pairs (never listed unless asked for):              ├─> solvers.eigen ─> Quadratic
             pca, kernel_pca, classical_mds, isomap, mvu (after a max-variance SDP) ─┘

result.py             Quadratic
inner_products.py     pca, kernel_pca
squared_distances.py  classical_mds, isomap
neighbor_weights.py   laplacian, lle
unfolding.py          mvu (semidefinite.py: its semidefinite program)
"""

from .inner_products import kernel_pca, pca
from .neighbor_weights import laplacian, lle
from .result import Quadratic
from .squared_distances import classical_mds, isomap
from .unfolding import Unfolding, mvu

__all__ = [
    "SUMMARIES",
    "Quadratic",
    "Unfolding",
    "classical_mds",
    "isomap",
    "kernel_pca",
    "laplacian",
    "lle",
    "mvu",
    "pca",
]

# The methods that make maps of rows, which the command line offers, and what it says of each.
SUMMARIES = {
    "pca": "principal components",
    "kernel_pca": "kernel principal components",
    "lle": "locally linear embedding",
    "isomap": "classical scaling of path lengths",
    "laplacian": "Laplacian eigenmap",
}
