"""Gradient descent with momentum and a separate gain for every coordinate, as used for t-SNE."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..checks import number, positive
from ..embedding import Status
from ..typing import FloatArray
from .base import SolverState
from .gradient import Exaggerable, Exaggeration, root_mean_square, small_gradient


@dataclass(frozen=True)
class GainsState(SolverState):
    """The gradient at Y, the velocity of the last step and the gains."""

    gradient: FloatArray
    velocity: FloatArray
    gains: FloatArray


@dataclass(frozen=True)
class DeltaBarDelta:
    """V ← momentum·V − (step_size/e)·gains·∇f(Y), Y ← Y + V minus its mean.

    A gain grows by 0.2 while its coordinate moves against its gradient, and falls to 0.8 of itself when it moves along it
    (Jacobs 1988, as in van der Maaten and Hinton 2008). No row moves further than `max_step`. `early` makes attractions e
    times as strong at first. It has converged when the root mean square of the gradient is at most `tol`.
    """

    step_size: float
    momentum: float = 0.8
    max_step: float = 5.0
    early: Exaggeration = field(default_factory=Exaggeration)
    tol: float = 0.0
    name = "gradient descent with gains"

    def __post_init__(self) -> None:
        positive("step_size", self.step_size)
        positive("max_step", self.max_step)
        number("momentum", self.momentum, 0.0, 1.0, high_open=True)
        number("tol", self.tol, 0.0)

    @property
    def expects_convergence(self) -> bool:
        return self.tol > 0

    def init(self, problem: Exaggerable, Y0: FloatArray) -> GainsState:
        """The centred start, at rest."""
        Y = Y0 - Y0.mean(axis=0)
        phase, value, gradient = self.early.evaluate(problem, Y, 0)
        return GainsState(
            0, Y, value, root_mean_square(gradient), gradient, np.zeros_like(Y), np.ones_like(Y), phase=phase
        )

    def step(self, problem: Exaggerable, state: GainsState) -> GainsState:
        """The state one step further downhill."""
        t = state.iteration
        gradient, velocity = state.gradient, state.velocity
        if t > 0 and t == self.early.iterations:
            velocity = np.zeros_like(velocity)  # the forces have changed all at once
        turned = (velocity > 0) != (gradient > 0)
        gains = np.maximum(np.where(turned, state.gains + 0.2, 0.8 * state.gains), 0.01)
        gains = gains.astype(state.Y.dtype, copy=False)
        size = self.step_size / (self.early.factor if state.phase == 0 else 1.0)
        velocity = _limited(self.momentum * velocity - size * gains * gradient, self.max_step)
        Y = state.Y + velocity
        Y = Y - Y.mean(axis=0)
        phase, value, gradient = self.early.evaluate(problem, Y, t + 1)
        return GainsState(t + 1, Y, value, root_mean_square(gradient), gradient, velocity, gains, phase=phase)

    def done(self, state: GainsState) -> Status | None:
        """Converged when the gradient is small, and no longer exaggerated."""
        return small_gradient(state, self.tol) if state.phase else None


def _limited(step: FloatArray, most: float) -> FloatArray:
    """Rows shortened to the length `most` where they are longer."""
    length = np.sqrt(np.sum(np.square(step), axis=1, keepdims=True))
    return step * np.minimum(1.0, most / np.maximum(length, np.finfo(step.dtype).tiny)).astype(step.dtype)
