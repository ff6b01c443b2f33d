"""A user's distortion on some of the pairs that it was made for."""

from __future__ import annotations

import numpy as np

from ...typing import FloatArray, IntArray
from .base import Distortion


class Restricted(Distortion):
    """`distortion`, made for `n_all` pairs, as it is on the `pairs` among them (numbers, ascending)."""

    def __init__(self, distortion: Distortion, pairs: IntArray, n_all: int) -> None:
        self.distortion = distortion
        self.pairs = pairs
        self.n_all = n_all
        self.floor = distortion.floor

    @property
    def n_pairs(self) -> int:
        return len(self.pairs)

    def formula(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Any distortion may hold data for each pair, so it is asked about all pairs; the others stand at distance 1.
        every = np.full(self.n_all, max(1.0, self.floor), dtype=d.dtype)
        every[self.pairs] = d
        value, slope = self.distortion.formula(every)
        return value[self.pairs], slope[self.pairs]

    def __repr__(self) -> str:
        return f"Restricted({self.distortion!r}, {len(self.pairs)} of {self.n_all} pairs)"
