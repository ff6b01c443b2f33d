"""What is asked of an embedding: Problem = pairs × distortion × constraint (Agrawal et al. 2021, chapter 2).

    distortions/   how much is lost when a pair lies at distance d     penalties, losses, a user's own
    constraints/   which embeddings are allowed                        centered, standardized, anchored, a user's own
    problem.py     the average distortion, its gradient, diagnostics

The average distortion and its gradient are one fused pass in the compiled core; a problem knows no solver.
"""

from .constraints import Anchored, Centered, Constraint, Standardized
from .distortions import Distortion, losses, penalties
from .problem import Problem, Pulls

__all__ = [
    "Anchored",
    "Centered",
    "Constraint",
    "Distortion",
    "Problem",
    "Pulls",
    "Standardized",
    "losses",
    "penalties",
]
