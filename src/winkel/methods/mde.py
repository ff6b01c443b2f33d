"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..embedding import Embedding
from ..errors import NotConvergedWarning
from ..problem import Problem
from ..random import Stream
from ..resources import resolve_seed
from ..solvers import digest, run
from ..solvers.base import History
from ..solvers.lbfgs import LBFGS
from ..typing import FloatArray, RandomState

# Points of a pair that lie closer than the distortion's floor exert no force worth the name; an init is
# freed of such pairs by moving their points this part of its spread.
APART = 1e-4

# A map whose objective fell by less than this part in the last tenth of the iterations looks as it will look.
SETTLED = 0.01


def solve(
    problem: Problem,
    *,
    init: ArrayLike | None = None,
    max_iter: int = 300,
    tol: float = 1e-5,
    memory: int = 10,
    random_state: RandomState = None,
    verbose: bool | int = False,
    callbacks: Sequence[object] = (),
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 60.0,
    resume: bool = False,
    keep_frames: int = 0,
    strict: bool = True,
) -> Embedding:
    """The embedding that projected L-BFGS finds for `problem`.

    A run that makes all its iterations gives a warning; when not `strict`, only if the objective was still falling.
    """
    seed = resolve_seed(random_state)
    Y0 = start(problem, init, seed)
    fingerprint = None
    if checkpoint is not None:
        # The gradient at the start tells problems apart by all that matters: pairs, distortion and pulls.
        fingerprint = {"pairs": digest(problem.edges), "gradient": digest(problem.evaluate(Y0)[1])}
    result = run(
        LBFGS(memory=memory, tol=tol, expects_convergence=strict),
        problem,
        Y0,
        max_iter=max_iter,
        time_limit=time_limit,
        callbacks=callbacks,
        verbose=verbose,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        fingerprint=fingerprint,
        keep_frames=keep_frames,
    )
    if not strict and result.status.word == "max_iter" and still_falling(result.history):
        warnings.warn(
            f"{result.status.sentence} The objective was still falling: a larger max_iter gives a better map.",
            NotConvergedWarning,
            stacklevel=3,
        )
    settings = {
        "method": "MDE",
        "solver": "L-BFGS",
        "n_components": problem.n_components,
        "n_pairs": problem.n_pairs,
        "distortion": type(problem.distortion).__name__,
        "constraint": type(problem.constraint).__name__,
        "init": "random" if init is None else "given",
        "max_iter": int(max_iter),
        "tol": float(tol),
        "memory": int(memory),
    }
    return Embedding(
        Y=result.state.Y,
        objective=result.state.objective,
        residual=result.state.residual,
        history=result.history,
        status=result.status,
        seed=seed,
        settings=settings,
        frames=result.frames,
    )


def still_falling(history: History) -> bool:
    """Whether the objective fell noticeably in the last tenth of the iterations."""
    objective = history.objective
    first, last = float(objective[0]), float(objective[-1])
    before = float(objective[-1 - min(len(objective) - 1, max(1, len(objective) // 10))])
    # A part of the whole fall is allowed for too, since an objective may end near zero.
    return before - last > SETTLED * (abs(last) + 0.1 * (first - last))


def start(problem: Problem, init: ArrayLike | None, seed: int) -> FloatArray:
    """An allowed embedding to begin with, in which no pair coincides: a random one, or that nearest to `init`."""
    if init is None:
        return problem.constraint.initialize(*problem.shape, seed).astype(np.float32)
    Y = problem.project(problem.check_embedding(init))
    together = problem.distances(Y) < problem.distortion.floor
    if together.any():
        items = np.unique(problem.edges[together])
        spread = float(np.sqrt(np.mean(np.square(Y - Y.mean(axis=0), dtype=np.float64))))
        noise = Stream.named(seed, "apart").normal((len(items), problem.n_components))
        moved = np.array(Y)
        moved[items] += (APART * (spread if spread > 0 else 1.0) * noise).astype(Y.dtype)
        Y = problem.project(moved)
    return np.ascontiguousarray(Y)
