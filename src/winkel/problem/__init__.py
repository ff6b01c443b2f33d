"""What an embedding should minimize: Problem = pairs × distortion × constraint (Agrawal et al. 2021, chapter 2).

    distortions/   the cost of a pair at distance d              penalties, losses, a user's own
    constraints.py which embeddings are allowed                  centered, standardized, anchored, a user's own
    problem.py     the average distortion, its gradient, diagnostics; pairs, checked and packed for the core
    field.py       sums over all pairs: by a tree, on a grid (grid.py), for any function (tabulation.py)
    solving.py     the choice of a solver, and the Embedding it finds (exact.py: quadratic problems)
    stream.py      pairs that come in batches, for problems that exceed memory (stream_problem.py)
    stationarity.py  optimality conditions and dual variables
    validation.py  sanity checks of an embedding: distribution, held-out pairs, bias between groups

The average distortion and its gradient are one fused pass in the compiled core.
"""

from .constraints import Anchored, Centered, Constraint, Standardized, as_constraint
from .distortions import Distortion, losses, penalties
from .problem import Problem, Pulls
from .solving import SolverSettings, Stage, solve
from .stationarity import Stationarity, stationarity
from .stream import ArrayStream, ChunkStream, EdgeBatch, EdgeStream, open_edges
from .stream_problem import StreamProblem
from .validation import GroupBias, Redundancy, distortion_cdf, group_bias, held_out, redundancy

__all__ = [
    "Anchored",
    "ArrayStream",
    "Centered",
    "ChunkStream",
    "Constraint",
    "Distortion",
    "EdgeBatch",
    "EdgeStream",
    "GroupBias",
    "Problem",
    "Pulls",
    "Redundancy",
    "SolverSettings",
    "Stage",
    "Standardized",
    "Stationarity",
    "StreamProblem",
    "as_constraint",
    "distortion_cdf",
    "group_bias",
    "held_out",
    "losses",
    "open_edges",
    "penalties",
    "redundancy",
    "solve",
    "stationarity",
]
