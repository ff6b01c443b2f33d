"""Constraints on a whole embedding: where it starts, the nearest allowed embedding, and the directions it may move in.

Each is three methods (Agrawal et al. 2021, sections 2.4, 5 and 6.1.2); a user's own is a subclass of
Constraint.
"""

from ...checks import instance
from .anchored import Anchored
from .base import Constraint
from .centered import Centered
from .standardized import Standardized


def as_constraint(constraint: object) -> Constraint:
    """`constraint`, checked to be one; Centered() for None."""
    if constraint is None:
        return Centered()
    return instance(
        "constraint",
        constraint,
        Constraint,  # type: ignore[type-abstract]
        "Centered(), Standardized(), Anchored(indices, values) or an object of a subclass of winkel.Constraint",
    )


__all__ = ["Anchored", "Centered", "Constraint", "Standardized", "as_constraint"]
