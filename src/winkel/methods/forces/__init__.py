"""Attraction and repulsion: PCA, LLE, t-SNE and UMAP in one frame (Draganov and Dohn 2023).

    Objective ──> build ──> ForceProblem (listed pairs + all pairs) ──> solvers ──> map
       │            │                        │
    kernels     weights: perplexity,      all pairs: exact in the core, a field (grid with FFT, or
    on X, Y     fuzzy, LLE's M            tree of boxes), or sampled

`pca` is the linear case, with its own exact steps; `agreement` compares objectives along a run.
"""

from .agreement import Agreement, Forces, forces, gradient_agreement
from .objective import OBJECTIVES, Objective

__all__ = ["OBJECTIVES", "Agreement", "Forces", "Objective", "forces", "gradient_agreement"]
