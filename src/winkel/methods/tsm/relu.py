"""The parametric ReLU map (Saul 2023, eq 16): places from thresholded similarities with prototypes.

A row x has the place u for which

    max(0, u·ν_j − τ‖u‖‖ν_j‖) = max(0, x·μ_j − τ‖x‖‖μ_j‖)   for all prototypes j

as nearly as possible, where μ_j are prototypes in the data and ν_j their places on the map. `winkel.torch.ReLUMap` is the same map
as a module with learned prototypes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algebra import each_product, each_solution, matmul
from ...checks import integer, number
from ...data import as_matrix
from ...errors import InvalidInputError
from .factors import Matrix

UPDATES = 30  # steps that a place takes
DAMPING = 0.01  # of its steps, in proportion to the mean curvature
_SCRATCH = 2**24  # numbers that are held at a time


@dataclass(frozen=True, eq=False)
class ReLUMap:
    """The map of eq 16 with given prototypes: a layer that keeps small angles and norms.

    Every row is placed on its own. Twice a row has twice its place. A row of zeros is placed at the origin, and so is a row that is similar to no
    prototype, because it has no direction.

    Parameters
    ----------
    inputs : array of shape (n_prototypes, n_features)
        Prototypes μ in the data, such as fitted rows.
    outputs : array of shape (n_prototypes, n_components)
        Their places ν, such as the places of those rows on a map of `winkel.TSM`.
    threshold : float
        τ, the cosine above which rows are similar; the same as for the map.
    n_steps : int, default=30
        Number of damped Gauss–Newton steps; the iterate with the smallest error is the place.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.methods.tsm import ReLUMap
    >>> X = wk.datasets.load_digits().X
    >>> tsm = wk.TSM(16, max_iter=5, random_state=0).fit(X)
    >>> layer = ReLUMap(X[:200], tsm.embedding_[:200], tsm.threshold_)
    >>> layer(X[200:205]).shape
    (5, 16)
    """

    inputs: Any
    outputs: Any
    threshold: float
    n_steps: int = UPDATES

    def __post_init__(self) -> None:
        mu = as_matrix(self.inputs, name="inputs", min_rows=1, allow_sparse=False).astype(np.float64)
        nu = as_matrix(self.outputs, name="outputs", min_rows=1, allow_sparse=False).astype(np.float64)
        if len(mu) != len(nu):
            raise InvalidInputError(
                f"outputs must hold one place for each prototype of inputs, {len(mu)}; got {len(nu)}."
            )
        number("threshold", self.threshold, 0.0, 1.0, low_open=True, high_open=True)
        integer("n_steps", self.n_steps, 1)
        object.__setattr__(self, "inputs", mu)
        object.__setattr__(self, "outputs", nu)

    def similarities(self, rows: Any) -> Matrix:
        """max(0, x·μ_j − τ‖x‖‖μ_j‖), what a layer of ReLUs makes of rows: one column for each prototype."""
        X = as_matrix(rows, name="rows", min_rows=1, allow_sparse=False).astype(np.float64)
        if X.shape[1] != self.inputs.shape[1]:
            raise InvalidInputError(
                f"rows must have the {self.inputs.shape[1]} features of the prototypes; got {X.shape[1]}."
            )
        product = matmul(X, self.inputs.T)
        limit = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(self.inputs, axis=1))
        return np.asarray(np.maximum(0.0, product - self.threshold * limit))

    def __call__(self, rows: Any) -> Matrix:
        """The places of rows."""
        X = as_matrix(rows, name="rows", min_rows=1, allow_sparse=False).astype(np.float64)
        norms = np.linalg.norm(X, axis=1)
        unit = unit_rows(X)
        wanted = self.similarities(unit)
        places = np.zeros((len(X), self.outputs.shape[1]))
        step = max(1, _SCRATCH // self.outputs.size)
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            first = unit_rows(matmul(wanted[part], self.outputs))
            found = solve_relu(wanted[part], self.outputs[None], first, self.threshold, self.n_steps)
            places[part] = unit_rows(found) * norms[part, None]
        places[~wanted.any(axis=1)] = 0.0
        return places


def solve_relu(wanted: Matrix, nu: Matrix, start: Matrix, tau: float, n_steps: int = UPDATES) -> Matrix:
    """u with max(0, u·ν_j − τ‖u‖‖ν_j‖) = wanted_j as nearly as can be (eq 16), for each row; `nu` is rows × j × d.

    Damped Gauss–Newton steps over the prototypes with which x or u is similar; of all iterates the one with the least error.
    """
    nu_norm = np.linalg.norm(nu, axis=2)
    u = best = start
    least = np.full(len(start), np.inf)
    axes = np.arange(u.shape[1])
    for _ in range(n_steps):
        # u·ν − τ‖u‖‖ν‖ is its own derivative times u, since it grows with the length of u.
        slope = nu - tau * nu_norm[:, :, None] * unit_rows(u)[:, None, :]
        now = each_product(slope, u[:, None])[:, :, 0]
        error = np.sum((np.maximum(0.0, now) - wanted) ** 2, axis=1)
        better = error < least
        best, least = np.where(better[:, None], u, best), np.where(better, error, least)
        slope *= ((wanted > 0) | (now > 0))[:, :, None]
        across = np.ascontiguousarray(slope.transpose(0, 2, 1))
        normal = each_product(across, across)
        damping = DAMPING * np.trace(normal, axis1=1, axis2=2) / len(axes)
        normal[:, axes, axes] += np.where(damping > 0, damping, 1.0)[:, None]
        u = u + each_solution(normal, each_product(across, (wanted - now)[:, None])[:, :, 0])
    return best


def unit_rows(rows: Matrix) -> Matrix:
    """Rows scaled to unit norm; rows of zeros stay zero."""
    norms = np.sqrt(np.sum(rows * rows, axis=1))
    return np.divide(rows, norms[:, None], out=np.zeros_like(rows), where=norms[:, None] > 0)
