"""Contestants of the entry "iterations": 40 iterations of projected L-BFGS on one problem.

The data hold the problem: a row (items, dimensions), a row (kind, 0), then the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import Task

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]
    Call = Callable[[np.ndarray], Arrays]

ITERATIONS = 40
EVALUATIONS = 20


def start(n: int, m: int, seed: int) -> np.ndarray:
    """A standardized start, the same for everyone."""
    import numpy as np

    Y = np.random.default_rng(seed).standard_normal((n, m))
    Y -= Y.mean(axis=0)
    return (np.linalg.qr(Y)[0] * np.sqrt(n)).astype(np.float32)


def signs(p: int) -> np.ndarray:
    """Weights of the push-and-pull problem: every other pair is similar."""
    import numpy as np

    return np.where(np.arange(p) % 2 == 1, 1.0, -1.0).astype(np.float32)


def winkel(task: Task) -> Call:
    import time
    import warnings

    import numpy as np

    import winkel as wk

    def call(X: np.ndarray) -> Arrays:
        (n, m), quadratic, edges = X[0], X[1, 0] == 0, X[2:]
        function = wk.penalties.Quadratic() if quadratic else wk.penalties.PushAndPull(signs(len(edges)))
        problem = wk.Problem(
            edges,
            function,
            n_items=int(n),
            n_components=int(m),
            constraint=wk.Standardized() if quadratic else wk.Centered(),
            n_jobs=task.threads,
        )
        Y = start(n, m, task.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 40 iterations are not meant to converge
            found = problem.solve(Y, max_iter=ITERATIONS, tol=0.0, solver="lbfgs")
        begun = time.perf_counter()
        for _ in range(EVALUATIONS):
            problem.gradient(Y)
        evaluation = (time.perf_counter() - begun) / EVALUATIONS
        return {
            "Y": found.Y,
            "objective": np.array(found.objective),
            "seconds": np.asarray(found.history.seconds),
            "seconds_evaluation": np.array(evaluation),
        }

    return call


def pymde(task: Task) -> Call:
    import numpy as np
    import pymde as library
    import torch

    torch.set_num_threads(task.threads)

    def call(X: np.ndarray) -> Arrays:
        (n, m), quadratic, edges = X[0], X[1, 0] == 0, torch.from_numpy(X[2:].astype(np.int64))
        if quadratic:
            function, constraint = library.penalties.Quadratic(torch.ones(len(edges))), library.Standardized()
        else:
            function = library.penalties.PushAndPull(
                torch.from_numpy(signs(len(edges))), library.penalties.Log1p, library.penalties.Log
            )
            constraint = library.Centered()
        problem = library.MDE(int(n), int(m), edges, function, constraint)
        Y = problem.embed(X=torch.from_numpy(start(n, m, task.seed)), max_iter=ITERATIONS, eps=1e-14)
        return {
            "Y": Y.numpy(),
            "objective": np.array(float(problem.value)),
            "seconds": np.asarray(problem.solve_stats.times, dtype=float),
        }

    return call
