"""The scikit-learn surface: thin estimators that hold parameters, validate once, call a method and show its results."""

from .attract_repel import AttractRepel
from .kds import KDS
from .kds_clustering import KDSClustering
from .lvm import LVM
from .mde import MDE
from .tsm import TSM

__all__ = ["KDS", "LVM", "MDE", "TSM", "AttractRepel", "KDSClustering"]
