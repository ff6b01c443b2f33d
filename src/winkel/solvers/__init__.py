"""How a map is found: solvers with `init`, `step` and `done`, and the one loop that drives them all.

    Solver.init ──> state ──> Solver.step ──> state ──> ... ──> Outcome(state, history, status, frames)
                       └── the loop between steps: history, progress, callbacks, limits, frames, checkpoint

base.py      the contract (Solver, SolverState)
loop.py      iterate: the loop
checkpoint.py  the state of a loop on disk, and how a run continues from it
progress.py  progress and callbacks between steps
gradient.py  gradient descent with momentum, and Adam
lbfgs.py     projected L-BFGS, its line search, and a series of problems one after another
stochastic.py  the stochastic proximal method, batch by batch (trace.py: Hutch++)
linear.py    linear systems: factorisation, conjugate gradients

A solver knows only the problem it is given; nothing here knows a method or an estimator.
"""

from ..embedding import Frames, History, Status
from .base import Solver, SolverState, digest
from .gradient import Adam, GradientDescent
from .loop import Outcome, iterate
from .progress import IterationInfo, TaskCallbacks

__all__ = [
    "Adam",
    "Frames",
    "GradientDescent",
    "History",
    "IterationInfo",
    "Outcome",
    "Solver",
    "SolverState",
    "Status",
    "TaskCallbacks",
    "digest",
    "iterate",
]
