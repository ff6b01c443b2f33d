"""Data beyond memory: rows come in shards from a file, a model is fitted to landmarks, and all rows are placed shard by shard.

    npy, parquet, array ──> Source (shards) ──> fit_landmarks ──> transform ──> npy, parquet, csv
                            fixed by size       any estimator     a shard at a time

A shard is as many rows as make a certain number of bytes, whatever reads it, so that results do not depend on who works on
what. Rows are placed by themselves, so a map placed by shards has the bytes of one placed at once.
"""

from .landmarks import fit_landmarks
from .placing import transform
from .source import Source, open_source

__all__ = ["Source", "fit_landmarks", "open_source", "transform"]
