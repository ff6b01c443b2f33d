"""Continuation: a series of problems that lead from an easy one to the one asked for, each begun where the last ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..typing import FloatArray
from .base import Status
from .lbfgs import LBFGS, ConstrainedProblem, LBFGSState


@dataclass(frozen=True)
class Continuation:
    """L-BFGS on `problems[phase]`, which gives way to the next after `iterations[phase]` iterations or when it is solved.

    The last problem has no such limit, and it alone can end the run. What a problem ends with is stretched by its factor
    in `stretches` to begin the next: a map that is to grow need not do so by small steps.
    """

    inner: LBFGS
    iterations: tuple[int, ...]  # of every problem but the last
    stretches: tuple[float, ...] = ()  # as many; without them nothing is stretched
    name = "L-BFGS"

    @property
    def expects_convergence(self) -> bool:
        """Whether running out of iterations deserves a warning."""
        return self.inner.expects_convergence

    def init(self, problems: Sequence[ConstrainedProblem], Y0: FloatArray) -> LBFGSState:
        """The start of the first problem."""
        return self.inner.init(problems[0], Y0)

    def step(self, problems: Sequence[ConstrainedProblem], state: LBFGSState) -> LBFGSState:
        """One step on the problem of the state's phase, or the first step on the next one."""
        phase = state.phase
        if phase < len(self.iterations) and (
            state.iteration >= sum(self.iterations[: phase + 1]) or self.inner.done(state) is not None
        ):
            wider = state.Y * state.Y.dtype.type(self.stretches[phase]) if self.stretches else state.Y
            fresh = self.inner.init(problems[phase + 1], wider)
            evaluations = state.evaluations + fresh.evaluations
            state = replace(fresh, iteration=state.iteration, evaluations=evaluations, phase=phase + 1)
        return self.inner.step(problems[state.phase], state)

    def done(self, state: LBFGSState) -> Status | None:
        """The status of the last problem; None before."""
        return self.inner.done(state) if state.phase == len(self.iterations) else None
