"""Attraction and repulsion: PCA, LLE, t-SNE and UMAP in one framework (Draganov and Dohn 2023).

    Source ──> Objective.weights ──> Objective.problem ──> solver ──> map ──> Objective.place
    rows,      data_kernels,         ForceProblem: listed   schedule           balance: new rows
    graph      reconstruction        and all pairs; PcaProblem                 among fitted ones

`objectives` has one file per class, with everything specific to it; `map_kernels` are the kernels on the map;
`fit` combines the stages; `agreement` compares objectives along a fit.
"""

from .agreement import Agreement, forces, gradient_agreement
from .objectives.base import Forces, Objective

__all__ = ["Agreement", "Forces", "Objective", "forces", "gradient_agreement"]
