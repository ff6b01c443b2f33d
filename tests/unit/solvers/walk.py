"""Solvers for testing the loop: one with every kind of field in its state and random numbers in its steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from winkel.run import Run, Stream
from winkel.solvers import SolverState, Status, iterate


class Bowl:
    """f(Y) = ½ ‖Y − 1‖²."""

    def gradient(self, Y):
        return 0.5 * float(np.sum((Y - 1) ** 2)), Y - 1


@dataclass(frozen=True)
class WalkState(SolverState):
    memory: tuple[Any, ...]
    gram: Any
    codes: Any
    counter: int
    rate: np.float32
    note: str | None

    def extras(self):
        return {"rate": self.rate}


@dataclass(frozen=True)
class Walk:
    """Random steps that are damped towards the best side; converges never."""

    seed: int = 0
    fail_at: int | None = None
    interrupt_at: int | None = None
    name = "walk"
    expects_convergence = False

    def init(self, problem, Y0):
        value, _ = problem.gradient(Y0)
        gram = np.asfortranarray(Y0.T @ Y0)
        codes = scipy.sparse.csr_matrix(np.eye(3))
        return WalkState(0, Y0, value, np.nan, (), gram, codes, 0, np.float32(1), None)

    def step(self, problem, state):
        t = state.iteration + 1
        if t == self.interrupt_at:
            raise KeyboardInterrupt
        noise = Stream(self.seed).normal(state.Y.shape, start=state.counter)
        _, gradient = problem.gradient(state.Y)
        pull = sum(state.memory) / 100 if state.memory else 0.0
        Y = state.Y - 0.1 * gradient + 0.3 * state.rate * noise - pull + 1e-3 * (state.Y @ state.gram) / t
        if t == self.fail_at:
            Y[3, 1] = np.nan
        value, _ = problem.gradient(Y)
        return replace(
            state,
            iteration=t,
            Y=Y,
            objective=value,
            residual=float(np.linalg.norm(gradient)),
            memory=(*state.memory, Y - state.Y)[-3:],
            gram=np.asfortranarray(Y.T @ Y),
            codes=state.codes * 0.5,
            counter=state.counter + Y.size,
            rate=np.float32(state.rate * np.float32(0.97)),
            note=f"step {t}",
        )

    def done(self, state):
        return None


@dataclass(frozen=True)
class Countdown:
    """Converges at a given iteration."""

    at: int
    name = "countdown"

    def init(self, problem, Y0):
        return SolverState(0, Y0, 1.0, 1.0)

    def step(self, problem, state):
        t = state.iteration + 1
        return SolverState(t, state.Y * 0.5, 1.0 / (1 + t), 1.0 / (1 + t))

    def done(self, state):
        return Status("converged", f"Counted to {self.at}.") if state.iteration >= self.at else None


START = np.linspace(-2, 2, 12).reshape(6, 2)


def run(solver, problem, Y0, *, max_iter, fingerprint=None, checkpoint_iterations=None, **context):
    """`iterate` in the Run that the parameters `context` of a public call ask for."""
    return iterate(
        solver,
        problem,
        Y0,
        replace(Run.of(random_state=0, **context), started=time.perf_counter()),
        max_iter=max_iter,
        fingerprint=fingerprint,
        checkpoint_iterations=checkpoint_iterations,
    )
