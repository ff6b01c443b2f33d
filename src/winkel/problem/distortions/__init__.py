"""Distortion functions: the cost of a pair of items at distance d (Agrawal et al. 2021, chapter 4).

`penalties` are derived from weights (attract similar pairs, repel dissimilar ones), `losses` from original
distances (match them). `as_distortion` takes a user's own: an object with `value` and `derivative`, or a function
for autodiff. Each class is one formula; a subclass of Penalty or Loss is registered under its name (base.py). The
built-in classes also name their fused C++ form; tests check that it equals the NumPy formula.
"""

from . import losses, penalties
from .base import Autodiff, Custom, Distortion, FusedPart, Weighted, as_distortion

__all__ = [
    "Autodiff",
    "Custom",
    "Distortion",
    "FusedPart",
    "Weighted",
    "as_distortion",
    "losses",
    "penalties",
]
