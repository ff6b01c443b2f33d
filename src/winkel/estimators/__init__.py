"""The scikit-learn surface: thin estimators that hold parameters, validate once, call a method and show its results."""

from .kds import KDS
from .kds_clustering import KDSClustering
from .mde import MDE

__all__ = ["KDS", "MDE", "KDSClustering"]
