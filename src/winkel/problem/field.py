"""All-pairs sums of a radial kernel k: potentials φᵢ = Σ_{j≠i} qⱼ k(dᵢⱼ) and forces Fᵢ = Σ_{j≠i} qⱼ (k'(dᵢⱼ)/dᵢⱼ)(yᵢ − yⱼ).

For charges of 1, ½ Σ φᵢ is the sum of k over all pairs i < j, and F is its gradient: the repulsion of an embedding
without sampled pairs. For the Cauchy kernel Σ φᵢ is the normalizer of t-SNE, and −½ F its repulsive sum Σⱼ (1 + d²)⁻² (yᵢ − yⱼ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..errors import InvalidInputError, InvalidParameterError
from ..resources import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .distortions import Distortion
from .distortions.base import DEFAULT_FLOOR, check_number
from .distortions.penalties import LARGEST_BARRIER_EXPONENT

KERNELS = ("cauchy", "inv_power", "log", "log1p", "log_ratio")
SMALLEST_TOLERANCE = 1e-5  # below it the exact sum is used


@dataclass(frozen=True)
class Kernel:
    """weight · k(d), with a = exponent:

    "cauchy" (1 + d²)^−a · "inv_power" −1/d^a · "log" log(1 − exp(−d^a)) · "log_ratio" log(d^a/(1 + d^a)) · "log1p" log(1 + d^a)

    All but the Cauchy kernel are continued below `floor` as distortions are: by the parabola with the value and slope there.
    """

    name: str
    exponent: float = 1.0
    weight: float = 1.0
    floor: float = DEFAULT_FLOOR

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise InvalidParameterError(f"kernel must be one of {', '.join(KERNELS)}; got {self.name!r}.")
        check_number("exponent", self.exponent, 0.0, LARGEST_BARRIER_EXPONENT)
        check_number("floor", self.floor, 0.0)
        check_number("weight", self.weight, -np.inf)

    @classmethod
    def of(cls, distortion: Distortion) -> Kernel:
        """The kernel that a penalty with one weight for all pairs is."""
        parts = distortion.fused()
        if len(parts) != 1 or parts[0].kernel not in KERNELS or not isinstance(parts[0].weights, float):
            raise InvalidParameterError(
                f"All-pairs sums need one of the penalties InvPower, Log, Log1p or LogRatio with one weight for all pairs; "
                f"got {distortion!r}. Give pairs for any other distortion."
            )
        part = parts[0]
        return cls(part.kernel, exponent=part.first, weight=float(parts[0].weights), floor=part.floor)


@dataclass(frozen=True)
class FieldSums:
    """Potentials (n,) and forces (n × n_components) at the points, for the charges they were summed with."""

    potentials: FloatArray
    forces: FloatArray
    charges: FloatArray | None

    @property
    def total(self) -> float:
        """Σ_{i<j} qᵢ qⱼ k(dᵢⱼ); its gradient is qᵢ Fᵢ."""
        each = self.potentials if self.charges is None else self.potentials * self.charges
        return 0.5 * float(np.sum(each, dtype=np.float64))


@dataclass(frozen=True)
class FieldError:
    """Relative root mean square error of forces and of potentials, measured against the exact sum at some points."""

    forces: float
    potentials: float
    n_rows: int


class Field:
    """Sums of a kernel over all pairs of points, near-linear in their number for two and three components.

    A tree of tight boxes, halved where the points are, in which a box far enough away stands for its points by the
    charges of its Chebyshev nodes; boxes that are close act point by point, exactly (cpp/core/field.hpp). How far is far
    enough follows from `tolerance`, the relative root mean square error of the forces. Clusters and outliers only
    deepen the tree; points that coincide share one box of size zero, at no cost. For other numbers of components,
    for at most `exact_below` points, and for a tolerance below 1e-5 the sum is exact. The bytes of the result do not
    depend on n_jobs.

    Measured with tolerance 1e-3 and 70 000 points in the plane (a Gaussian blob, tight clusters spread over an extent of
    100, a ring, a line, an even spread, an outlier at 10⁴, 50 clumps of coincident points; exponent 1, log_ratio 2), the
    error of the forces was at most ERR_CAUCHY (cauchy), ERR_LOG (log), ERR_INV (inv_power) and ERR_RATIO (log_ratio).
    `error` measures it for the points at hand.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_components: int = 2,
        *,
        tolerance: float = 1e-3,
        n_jobs: int | None = None,
        exact_below: int = 2048,
    ) -> None:
        if n_components < 1:
            raise InvalidParameterError(f"n_components must be at least 1; got {n_components}.")
        self.kernel = kernel
        self.n_components = n_components
        self.tolerance = check_number("tolerance", tolerance, 0.0, closed=True)
        self.exact_below = exact_below
        self._threads = resolve_n_jobs(n_jobs)
        self._rules = _rules(kernel, n_components, self.tolerance)

    def evaluate(self, Y: FloatArray, charges: ArrayLike | None = None) -> FieldSums:
        """Potentials and forces at all points, within the tolerance."""
        if self._rules is None or len(Y) <= self.exact_below:
            return self.exact(Y, charges)
        points, q = self._checked(Y, charges)
        k = self.kernel
        sums = _core.field_sums(k.name, k.exponent, k.floor, points, q, self._rules, self._threads)
        return self._weighted(*sums, None if charges is None else q)

    def exact(
        self, Y: FloatArray, charges: ArrayLike | None = None, rows: IntArray | None = None
    ) -> FieldSums:
        """Potentials and forces by summing every pair, at all points or at some rows: the oracle of `evaluate`."""
        points, q = self._checked(Y, charges)
        some = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        k = self.kernel
        sums = _core.radial_sums(k.name, k.exponent, k.floor, points, q, some, self._threads)
        kept = None if charges is None else q if some is None else q[some]
        return self._weighted(*sums, kept)

    def error(
        self,
        Y: FloatArray,
        charges: ArrayLike | None = None,
        *,
        n_rows: int = 500,
        random_state: RandomState = 0,
    ) -> FieldError:
        """The error of `evaluate` against the exact sum in double precision, at up to `n_rows` points drawn at random."""
        n = len(Y)
        generator = np.random.Generator(np.random.Philox(key=resolve_seed(random_state)))
        rows = np.sort(generator.choice(n, size=min(n, n_rows), replace=False))
        found = self.evaluate(Y, charges)
        exact = self.exact(np.asarray(Y, dtype=np.float64), charges, rows)
        return FieldError(
            forces=_relative(found.forces[rows], exact.forces),
            potentials=_relative(found.potentials[rows], exact.potentials),
            n_rows=len(rows),
        )

    def _weighted(self, potentials: FloatArray, forces: FloatArray, charges: FloatArray | None) -> FieldSums:
        if self.kernel.weight != 1.0:
            weight = potentials.dtype.type(self.kernel.weight)
            potentials, forces = weight * potentials, weight * forces
        return FieldSums(potentials, forces, charges)

    def _checked(self, Y: FloatArray, charges: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        points = np.ascontiguousarray(Y)
        if points.dtype not in (np.float32, np.float64):
            points = points.astype(np.float64)
        if points.ndim != 2 or points.shape[1] != self.n_components or not len(points):
            raise InvalidInputError(
                f"Y must have the shape (n, {self.n_components}) with n ≥ 1; got {points.shape}. "
                "Give n_components when the field is made."
            )
        # Squared distances must not overflow; NaN fails the comparison too.
        limit = 0.1 * np.sqrt(np.finfo(points.dtype).max / self.n_components)
        if not float(np.abs(points).max()) < limit:
            raise InvalidInputError(
                f"Y must be finite and smaller than {limit:.1g} ({points.dtype}); row {_worst_row(points)} is not. "
                "An optimization that gives such points has diverged: make its steps smaller."
            )
        q = np.ones(len(points), points.dtype) if charges is None else np.asarray(charges, dtype=points.dtype)
        if q.shape != (len(points),) or not np.isfinite(q).all():
            raise InvalidInputError(
                f"charges must be finite, one a point: shape ({len(points)},); got shape {q.shape}, "
                f"{int(np.sum(~np.isfinite(q)))} entries not finite."
            )
        return points, np.ascontiguousarray(q)


def _worst_row(points: FloatArray) -> int:
    sizes = np.abs(points).max(axis=1)
    return int(np.argmax(np.where(np.isnan(sizes), np.inf, sizes)))


def _relative(found: FloatArray, exact: FloatArray) -> float:
    norm = float(np.sqrt(np.sum(np.square(exact))))
    miss = float(np.sqrt(np.sum(np.square(found.astype(np.float64) - exact))))
    return miss / norm if norm > 0.0 else miss


def _rules(kernel: Kernel, n_components: int, tolerance: float) -> _core.FieldRules | None:
    """When a box may stand for its points, or None where every pair is summed.

    The nodes a side and the separation come from measured errors. The Cauchy kernel is smooth, so its near forces are no
    larger than the far ones, cancel more, and need more accuracy from the boxes.
    """
    if n_components not in (2, 3) or tolerance < SMALLEST_TOLERANCE:
        return None
    cauchy, plane = kernel.name == "cauchy", n_components == 2
    if tolerance >= 1e-2:
        nodes, separation = 4, 1.7
    elif tolerance >= 1e-3:
        nodes, separation = (6 if plane else 5, 1.8 if plane else 2.2) if cauchy else (4 if plane else 5, 2.4)
    elif tolerance >= 1e-4:
        nodes, separation = 8 if plane else 6, 1.9 if plane else 2.6
    else:
        nodes, separation = 8, 2.4
    leaf = max((32, 64)[cauchy] if plane else 96, nodes**n_components)
    # The kernel that decays exponentially ends where exp(-d^a) no longer matters, and is steep on long boxes.
    decays = kernel.name == "log"
    return _core.FieldRules(
        nodes=nodes,
        leaf=leaf,
        separation=separation,
        softening=0.8 if cauchy else 0.0,
        reach=float((5.0 - np.log(tolerance)) ** (1.0 / kernel.exponent)) if decays else np.inf,
        grain=2.0 / max(kernel.exponent, 1.0) if decays else np.inf,
        grain_slope=0.4 / max(kernel.exponent, 1.0) if decays else 0.0,
    )
