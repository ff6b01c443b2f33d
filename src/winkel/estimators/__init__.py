"""The scikit-learn surface: thin estimators that hold parameters, validate once, call a method and show its results."""

from .attract_repel import AttractRepel
from .lvm import LVM
from .mde import MDE

__all__ = ["LVM", "MDE", "AttractRepel"]
