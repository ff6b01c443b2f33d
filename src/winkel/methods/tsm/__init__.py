"""Thresholded similarity matching (Saul 2023): maps that keep norms and small angles.

    X ── similarity ──> S sparse ── quasi_newton, or updates in matching ──> L of rank d ── factors ──> Y
                                                                                               │
                        extension (landmarks to all rows) <────────────────────────────────────┤
                        place (new rows; relu: eq 16) <────────────────────────────────────────┘

`fit` combines the steps; `baselines` contains the methods with which the paper compares. No step except the dense reference needs an
n × n matrix.
"""

from .baselines import isomap_map, similarity_graph, svd_map
from .extension import locally_linear_extension
from .given import match_similarities
from .relu import ReLUMap
from .similarity import AngleHistogram, angle_histogram

__all__ = [
    "AngleHistogram",
    "ReLUMap",
    "angle_histogram",
    "isomap_map",
    "locally_linear_extension",
    "match_similarities",
    "similarity_graph",
    "svd_map",
]
