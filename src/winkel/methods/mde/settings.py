"""What a user asks of a map by minimum-distortion embedding, checked: `Settings`, and the `Forces` they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import choice, integer, optional, positive, refuse
from ...problem import Anchored, Centered, Constraint, SolverSettings, Standardized, losses, penalties
from ...problem.constraints import as_constraint
from ...problem.distortions import Distortion, as_distortion
from ...typing import FloatArray, Metric

MAX_DISTANCES = 5 * 10**7  # pairs whose distances are preserved at most, which take about 5.5 GB

_CONSTRAINTS: dict[str, type[Constraint]] = {"centered": Centered, "standardized": Standardized}
_PRESERVES = ("neighbors", "distances")
_PAIRS = ("auto", "sampled", "all")
_STARTS = ("spectral", "random")
_SOLVERS = ("auto", "lbfgs", "stochastic")


@dataclass(frozen=True)
class Forces:
    """What draws neighbours together, what keeps others apart (None: nothing), and whether all pairs repel or a sample."""

    attractive: Distortion
    repulsive: Distortion | None
    all_pairs: bool

    @property
    def short_ranged(self) -> bool:
        """Whether only close pairs feel the repulsion, so that no sample can stand for all."""
        return isinstance(self.repulsive, penalties.Cauchy)

    @property
    def cauchy(self) -> bool:
        """Whether all pairs repel by the Cauchy penalty."""
        return self.all_pairs and self.short_ranged

    @classmethod
    def of(
        cls,
        attractive: object,
        repulsive: object,
        repulsive_pairs: str,
        n_components: int,
        constraint: Constraint,
    ) -> Forces:
        """The penalties meant, each a name, a class, or an object with `value` and `derivative`.

        What "auto" stands for: repulsive is "cauchy" for a centred map in the plane with attractive="auto", else "log".
        Pairs are "all" for the Cauchy penalty, else "sampled". attractive is Log1p(exponent=2) beside the Cauchy penalty,
        as in t-SNE; beside others it is Log1p(exponent=1.3), which on MNIST keeps more neighbours than the usual 1.5
        (recall 0.136 against 0.116) at the same accuracy of labels (0.973 against 0.972).
        """
        choice("repulsive_pairs", repulsive_pairs, _PAIRS)
        free = isinstance(attractive, str) and attractive == "auto"
        if isinstance(repulsive, str) and repulsive == "auto":
            plane = n_components == 2 and isinstance(constraint, Centered) and repulsive_pairs != "sampled"
            repulsive = "cauchy" if plane and free else "log"
        repel = None if repulsive is None else named_penalty("repulsive", repulsive)
        cauchy = isinstance(repel, penalties.Cauchy)
        attract = (
            penalties.Log1p(exponent=2.0 if cauchy else 1.3)
            if free
            else named_penalty("attractive", attractive)
        )
        return cls(attract, repel, repulsive_pairs == "all" or (repulsive_pairs == "auto" and cauchy))


@dataclass(frozen=True)
class Settings:
    """What was asked for. None and "auto" are left to the plan, which knows the data."""

    n_components: int
    preserve: str
    n_neighbors: int
    metric: Metric
    forces: Forces
    repulsive_fraction: float
    loss: Callable[[FloatArray], Distortion]
    max_distances: int
    constraint: Constraint
    init: str | FloatArray
    solver: str
    max_iter: int | None
    tol: float
    memory_size: int

    @classmethod
    def of(cls, wishes: Any) -> Settings:
        """The parameters of an estimator, checked."""
        n_components = integer("n_components", wishes.n_components, 1)
        constraint = named_constraint(wishes.constraint, wishes.anchors)
        max_iter = optional(integer, "max_iter", wishes.max_iter, 0)
        choice("solver", wishes.solver, _SOLVERS)
        SolverSettings(tol=wishes.tol, memory_size=wishes.memory_size)
        if isinstance(wishes.init, str):
            choice("init", wishes.init, _STARTS, also="an array of positions")
        return cls(
            n_components=n_components,
            preserve=choice("preserve", wishes.preserve, _PRESERVES),
            n_neighbors=integer("n_neighbors", wishes.n_neighbors, 1),
            metric=wishes.metric,
            forces=Forces.of(
                wishes.attractive, wishes.repulsive, wishes.repulsive_pairs, n_components, constraint
            ),
            repulsive_fraction=positive("repulsive_fraction", wishes.repulsive_fraction),
            loss=named_loss(wishes.loss),
            max_distances=integer("max_distances", wishes.max_distances, 1),
            constraint=constraint,
            init=wishes.init if isinstance(wishes.init, str) else np.asarray(wishes.init),
            solver=wishes.solver,
            max_iter=max_iter,
            tol=float(wishes.tol),
            memory_size=int(wishes.memory_size),
        )

    def solving(self, usual_iterations: int) -> SolverSettings:
        """What the solver is told, with `usual_iterations` where none were asked for."""
        return SolverSettings(
            solver=self.solver,
            max_iter=usual_iterations if self.max_iter is None else self.max_iter,
            tol=self.tol,
            memory_size=self.memory_size,
            expects_convergence=False,
        )


def named_constraint(constraint: object, anchors: object = None) -> Constraint:
    """The constraint that a name or an object stands for, or that of `anchors`, (indices, positions)."""
    if anchors is not None:
        if not (isinstance(constraint, str) and constraint == "centered"):
            refuse("constraint", "'centered' beside anchors, which fix the map's place and scale", constraint)
        if not isinstance(anchors, tuple | list) or len(anchors) != 2:
            refuse("anchors", "None or (indices, positions)", anchors)
        return Anchored(*anchors)
    if isinstance(constraint, str):
        return _CONSTRAINTS[choice("constraint", constraint, _CONSTRAINTS, also="a winkel.Constraint")]()
    return as_constraint(constraint)


_ATTRACTIVE: dict[str, Callable[[], Distortion]] = {
    "linear": penalties.Linear,
    "quadratic": penalties.Quadratic,
    "cubic": penalties.Cubic,
    "power": penalties.Power,
    "huber": penalties.Huber,
    "logistic": penalties.Logistic,
    "log1p": penalties.Log1p,
}
_REPULSIVE: dict[str, Callable[[], Distortion]] = {
    "cauchy": penalties.Cauchy,
    "log": penalties.Log,
    "inv_power": penalties.InvPower,
    "log_ratio": penalties.LogRatio,
}
_LOSSES = {
    "absolute": losses.Absolute,
    "quadratic": losses.Quadratic,
    "weighted_quadratic": losses.WeightedQuadratic,
    "cubic": losses.Cubic,
    "power": losses.Power,
    "huber": losses.Huber,
    "logistic": losses.Logistic,
    "fractional": losses.Fractional,
    "soft_fractional": losses.SoftFractional,
}


def named_penalty(side: str, penalty: object) -> Distortion:
    """The penalty that a name or a class stands for, or an object is."""
    if isinstance(penalty, str):
        known = _ATTRACTIVE if side == "attractive" else _REPULSIVE
        return known[choice(side, penalty, known, also="a penalty")]()
    return as_distortion(penalty() if isinstance(penalty, type) else penalty)


def named_loss(loss: object) -> Callable[[FloatArray], Distortion]:
    """What makes a loss from original distances: by name, or itself."""
    if isinstance(loss, str):
        return _LOSSES[choice("loss", loss, _LOSSES, also="what makes a distortion")]
    if not callable(loss):
        refuse("loss", "the name of a loss or what makes a distortion from distances", loss)
    return lambda distances: as_distortion(loss(distances))
