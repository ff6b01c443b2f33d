"""The scikit-learn surface: thin estimators that hold parameters, validate once, call a method and show its results."""

from .mde import MDE
from .tsm import TSM

__all__ = ["MDE", "TSM"]
