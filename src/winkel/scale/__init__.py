"""Data larger than memory: rows come in shards, and each stage is a function of shards, in this process or on a Dask cluster.

    file, array, ──> Source (shards) ──> fit ──────────────────────────> MDE of all rows
    dask, AnnData    fixed by size   ──> fit_landmarks ──> transform ──> places in any estimator's map ──> fit(init=…)
                     pca: fewer      ──> knn ──────────────────────────> neighbour lists in files
                     columns first   ──> measure ──────────────────────> scores from sampled rows against all

The size of a shard is fixed by its number of bytes, so that results do not depend on which worker handles which shard.
Each row is placed on its own, so a map placed by shards has the same bytes as one placed at once.
"""

from .components import Components, pca
from .fitting import fit
from .landmarks import fit_landmarks
from .measuring import measure
from .neighbors import NeighborLists, knn
from .placing import transform
from .source import Source, open_source

__all__ = [
    "Components",
    "NeighborLists",
    "Source",
    "fit",
    "fit_landmarks",
    "knn",
    "measure",
    "open_source",
    "pca",
    "transform",
]
