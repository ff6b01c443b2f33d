"""Distortion functions: how much is lost when a pair of items lies at distance d (Agrawal et al. 2021, chapter 4).

`penalties` are derived from weights (attract what is similar, repel what is not), `losses` from original
distances (match them); `as_distortion` takes a user's own: an object with `value` and `derivative`, or a function
for autodiff. One class is one formula, and a subclass of Penalty or Loss is known by its name (base.py). The
built-in ones also name their fused C++ form, tested equal to the NumPy formula.
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
