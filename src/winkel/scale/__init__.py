"""Data beyond memory: rows come in shards, and each stage is a function of shards, in this process or on a Dask cluster.

    file, array, ──> Source (shards) ──> fit ──────────────────────────> MDE of all rows
    dask, AnnData    fixed by size   ──> fit_landmarks ──> transform ──> places in any estimator's map ──> fit(init=…)
                     pca: fewer      ──> knn ──────────────────────────> neighbour lists in files
                     columns first   ──> measure ──────────────────────> scores from sampled rows against all

A shard is as many rows as make a certain number of bytes, whatever reads it, so that results do not depend on who works on
what. Rows are placed by themselves, so a map placed by shards has the bytes of one placed at once.
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
