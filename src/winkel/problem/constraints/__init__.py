"""Constraints on a whole embedding: where it starts, the nearest allowed embedding, and the directions it may move in.

Each is three methods (Agrawal et al. 2021, sections 2.4, 5 and 6.1.2); a user's own is a subclass of Constraint.
"""

from .anchored import Anchored
from .base import Constraint
from .centered import Centered
from .standardized import Standardized

__all__ = ["Anchored", "Centered", "Constraint", "Standardized"]
