"""All-pairs sums of a radial kernel k: potentials φᵢ = Σ_{j≠i} qⱼ k(dᵢⱼ) and forces Fᵢ = Σ_{j≠i} qⱼ (k'(dᵢⱼ)/dᵢⱼ)(yᵢ − yⱼ).

If all charges are 1, ½ Σ φᵢ is the sum of k over all pairs i < j, and F is its gradient: the repulsion of an embedding
without sampled pairs. For the Cauchy kernel, Σ φᵢ is the normalizer of t-SNE, and −½ F its repulsive sum Σⱼ (1 + d²)⁻² (yᵢ − yⱼ).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..algebra import log, power
from ..checks import choice, integer, number, positive
from ..errors import InvalidInputError, InvalidParameterError
from ..run import resolve_n_jobs, resolve_seed
from ..typing import FloatArray, IntArray, RandomState
from .distortions import Distortion
from .distortions.base import DEFAULT_FLOOR, fits_any_pairs
from .distortions.penalties import LARGEST_BARRIER_EXPONENT
from .grid import GridField, HeldField
from .tabulation import decay, tabulated
from .volume import VolumeField, held_in_two_parts

KERNELS = ("cauchy", "inv_power", "log", "log1p", "log_ratio")
TABULATED = "tabulated"  # the kernel of any other distortion, by a table of its values

# Relative root mean square error of the forces in a Problem's background. The Cauchy kernel has no large forces between close
# points, in which the error of small forces between distant points would not show.
TOLERANCE, CAUCHY_TOLERANCE = 1e-3, 8e-3
SMALLEST_TOLERANCE = 1e-5  # below it the exact sum is used
CHECKED_POINTS = 64
MARGIN = 0.6  # of the tolerance, for an error measured at few points

# Nodes a side and separation of the boxes, coarse to fine, and the largest tolerance a rung is the first choice for.
_RUNGS = {
    2: (
        (4, 0.8, 1.0),
        (4, 1.1, 4e-3),
        (4, 1.65, 1.5e-3),
        (4, 2.3, 4e-4),
        (6, 1.9, 2e-4),
        (8, 1.9, 5e-5),
        (8, 2.5, 2e-5),
    ),
    3: ((3, 0.8, 1.0), (3, 1.1, 5e-3), (4, 1.5, 4e-3), (4, 2.3, 4e-4), (6, 1.9, 2e-4), (8, 2.2, 2e-5)),
}


@dataclass(frozen=True)
class Kernel:
    """weight · k(d), with a = exponent:

    "cauchy" (1 + d²)^−a · "inv_power" −1/d^a · "log" log(1 − exp(−d^a)) · "log_ratio" log(d^a/(1 + d^a)) · "log1p" log(1 + d^a)

    "tabulated" is any other function of the distance, the distortion `source`.

    All but the Cauchy kernel are continued below `floor` in the same way as distortions: by the parabola with the same value and slope.
    """

    name: str
    exponent: float = 1.0
    weight: float = 1.0
    floor: float = DEFAULT_FLOOR
    source: Distortion | None = None

    def __post_init__(self) -> None:
        choice("kernel", self.name, KERNELS if self.source is None else (TABULATED,))
        number("exponent", self.exponent, 0.0, LARGEST_BARRIER_EXPONENT, low_open=True)
        positive("floor", self.floor)
        number("weight", self.weight)

    @classmethod
    def of(cls, distortion: Distortion) -> Kernel:
        """The kernel of a penalty that has one weight for all pairs."""
        if distortion.n_pairs is not None or not fits_any_pairs(distortion):
            raise InvalidParameterError(
                f"All-pairs sums need a penalty with one weight for all pairs; got {distortion!r:.200}. "
                "Give pairs for a distortion that holds data of pairs."
            )
        parts = distortion.fused()
        if len(parts) != 1 or parts[0].kernel not in KERNELS:
            return cls(TABULATED, floor=distortion.floor, source=distortion)
        part, weight = parts[0], float(parts[0].weights)
        if part.kernel == "cauchy":
            weight = -weight  # the penalty is −1 times the kernel, which has its usual sign here
        return cls(part.kernel, exponent=part.first, weight=weight, floor=part.floor)

    @property
    def tolerance(self) -> float:
        """The error of the forces that a Problem allows."""
        return CAUCHY_TOLERANCE if self.name == "cauchy" else TOLERANCE

    def exact_sums(
        self, points: FloatArray, q: FloatArray, rows: NDArray[np.int64] | None, threads: int
    ) -> tuple[FloatArray, FloatArray]:
        """Potentials and forces, pair by pair, for a weight of 1."""
        where = (points, q, rows, threads)
        if self.source is None:
            return _core.radial_sums(self.name, self.exponent, self.floor, *where)
        return _core.radial_sums(self.name, self.exponent, self.floor, *where, tabulated(self.source))

    def tree_sums(
        self, points: FloatArray, q: FloatArray, rules: _core.FieldRules, threads: int
    ) -> tuple[FloatArray, FloatArray]:
        """Potentials and forces, by the tree of boxes, for a weight of 1."""
        where = (points, q, rules, threads)
        if self.source is None:
            return _core.field_sums(self.name, self.exponent, self.floor, *where)
        return _core.field_sums(self.name, self.exponent, self.floor, *where, tabulated(self.source))


@dataclass(frozen=True)
class FieldSums:
    """Potentials (n,) and forces (n × n_components) at the points, and the charges they were computed with."""

    potentials: FloatArray
    forces: FloatArray
    charges: FloatArray | None
    error: float  # of the forces, measured at some points; 0 when every pair was summed

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

    The sums use a tree of tight boxes, which are divided where the points are. A box that is far enough away is represented by the
    charges of its Chebyshev nodes; the points of close boxes are summed one by one, exactly (cpp/core/field.hpp). Clusters and
    outliers only make the tree deeper; points that coincide share one box of size zero, at no cost.

    `tolerance` is the relative root mean square error of the forces. Which boxes are far enough away differs from map to map, so
    every evaluation is compared with the exact sum at 64 points, and repeated with finer boxes until it is accurate enough. The
    measured error is part of the result; it is above `tolerance` only if the finest boxes do not reach it (a tabulated kernel
    is then summed pair by pair). In one dimension or in more than three, for at most `exact_below` points, and for a tolerance below 1e-5,
    all pairs are summed. The Cauchy kernel is summed on a grid instead (`GridField` in the plane, `VolumeField` in space), unless the points
    are far apart, the same check finds the grid not accurate enough, or `grid` is False; the spacing of its nodes is as large as the
    tolerance allows. The bytes of the result depend only on the points, not on n_jobs or on earlier evaluations.

    Measured with tolerance 1e-3 and 70 000 points in the plane, float32, at 500 points (a Gaussian blob, tight clusters
    over an extent of 100, a ring, a line, an even spread, an outlier at 10⁴, 50 clumps of coincident points), the error of
    the forces was at most 4e-4 (cauchy), 5e-4 (log), 1e-4 (inv_power) and 6e-4 (log_ratio with exponent 2).
    `error` measures it for the points at hand.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_components: int = 2,
        *,
        tolerance: float = TOLERANCE,
        n_jobs: int | None = None,
        exact_below: int = 2048,
        grid: bool = True,
    ) -> None:
        self.kernel = kernel
        self.n_components = integer("n_components", n_components, 1)
        self.tolerance = number("tolerance", tolerance, 0.0)
        self.exact_below = exact_below
        self._may_use_grid = grid
        self._threads = resolve_n_jobs(n_jobs)
        self._ladder = _ladder(kernel, n_components, self.tolerance)

    def evaluate(self, Y: FloatArray, charges: ArrayLike | None = None) -> FieldSums:
        """Potentials and forces at all points, within the tolerance."""
        if not self._ladder or len(Y) <= self.exact_below:
            return self.exact(Y, charges)
        points, q = self._checked(Y, charges)
        rows = check_rows(len(points))
        exact = self.kernel.exact_sums(points, q, rows, self._threads)[1]
        for sums in self._finer_and_finer(points, q):
            error = relative_error(sums[1][rows], exact)
            if error <= MARGIN * self.tolerance:
                break
        return self._weighted(*sums, None if charges is None else q, error)

    def _finer_and_finer(self, points: FloatArray, q: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Potentials and forces: first on a grid if that is fast, then by the tree with smaller and smaller boxes."""
        k = self.kernel
        grid = self.suitable_grid(points) if self._may_use_grid else None
        if grid is not None:
            sums = grid.evaluate(points, q)
            yield sums.potentials, sums.gradients
        for rules in self._ladder:
            yield k.tree_sums(points, q, rules, self._threads)
        if k.source is not None:
            yield k.exact_sums(points, q, None, self._threads)

    def suitable_grid(self, points: FloatArray) -> GridField | VolumeField | None:
        """The grid that suits the points; None if the tree of boxes is faster, or if only the tree has this kernel."""
        k = self.kernel
        if k.name != "cauchy" or self.n_components not in _GRID_ERROR:
            return None
        found = cauchy_grid(self.n_components, k.exponent, self.tolerance, self._threads)
        if found.n_nodes(points) > _SPARSE * len(points):
            found = cauchy_grid(self.n_components, k.exponent, _SPARSE_SHARE * self.tolerance, self._threads)
        return found if found.beats_tree(points) else None

    def exact(
        self, Y: FloatArray, charges: ArrayLike | None = None, rows: IntArray | None = None
    ) -> FieldSums:
        """Potentials and forces by summing every pair, at all points or at ascending rows; the reference for `evaluate`."""
        points, q = self._checked(Y, charges)
        at = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        sums = self.kernel.exact_sums(points, q, at, self._threads)
        return self._weighted(*sums, None if charges is None else q if at is None else q[at], 0.0)

    def error(
        self,
        Y: FloatArray,
        charges: ArrayLike | None = None,
        *,
        n_rows: int = 500,
        random_state: RandomState = 0,
    ) -> FieldError:
        """The error of `evaluate` compared with the exact sum in double precision, at up to `n_rows` random points."""
        n = len(Y)
        generator = np.random.Generator(np.random.Philox(key=resolve_seed(random_state)))
        rows = np.sort(generator.choice(n, size=min(n, n_rows), replace=False))
        found = self.evaluate(Y, charges)
        exact = self.exact(np.asarray(Y, dtype=np.float64), charges, rows)
        return FieldError(
            forces=relative_error(found.forces[rows], exact.forces),
            potentials=relative_error(found.potentials[rows], exact.potentials),
            n_rows=len(rows),
        )

    def _weighted(
        self, potentials: FloatArray, forces: FloatArray, charges: FloatArray | None, error: float
    ) -> FieldSums:
        if self.kernel.weight != 1.0:
            weight = potentials.dtype.type(self.kernel.weight)
            potentials, forces = weight * potentials, weight * forces
        return FieldSums(potentials, forces, charges, error)

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
        if not float(np.max(np.abs(_core.column_range(points)))) < limit:
            raise InvalidInputError(
                f"Y must be finite and smaller than {limit:.1g} ({points.dtype}); row {_worst_row(points)} is not. "
                "An optimization that gives such points has diverged: make its steps smaller."
            )
        q = np.ones(len(points), points.dtype) if charges is None else np.asarray(charges, dtype=points.dtype)
        if q.shape != (len(points),) or not np.isfinite(q).all():
            raise InvalidInputError(
                f"charges must be finite, one per point: shape ({len(points)},); got shape {q.shape}, "
                f"{int(np.sum(~np.isfinite(q)))} entries not finite."
            )
        return points, np.ascontiguousarray(q)


# By dimension: A and c of the error A exp(-c / spacing) that forces on a grid have at most, as measured on maps of 70 000 images.
_GRID_ERROR = {2: (0.67, 2.1), 3: (0.45, 2.28)}
# If there are more than _SPARSE nodes per point, forces are sums of few pairs, and a grid that is good enough for dense maps may fail the check.
# The grid is then made for this share of the tolerance.
_SPARSE, _SPARSE_SHARE = 4.0, 0.4


@lru_cache(maxsize=8)  # which keeps the transforms of the kernel from iteration to iteration
def cauchy_grid(n_components: int, exponent: float, tolerance: float, n_jobs: int) -> GridField | VolumeField:
    """The grid on which sums of the Cauchy kernel give forces within the tolerance."""
    size, rate = _GRID_ERROR[n_components]
    # Here 0.4 of what is allowed.
    spacing = rate / float(log(size) - log(0.4 * tolerance))
    grid = GridField if n_components == 2 else VolumeField
    return grid(lambda s: _cauchy(s, exponent), spacing=spacing / max(1.0, exponent), n_jobs=n_jobs)


# A field that a finished map holds for new rows: the error of its forces, finest first, and the most nodes it may have.
_HELD_TOLERANCES, MOST_HELD_NODES = (1e-3, CAUCHY_TOLERANCE), 2**23


def held_cauchy(Y: FloatArray, exponent: float, n_jobs: int) -> HeldField | None:
    """The field Σⱼ (1 + |y − yⱼ|²)^−exponent on a grid, from which it can be read near the points; None if the grid would be too large.

    A map in space may be too wide for a grid that resolves single points. With exponent 1, a coarse grid then holds the smooth part of the field.
    """
    if Y.shape[1] not in _GRID_ERROR:
        return None
    points = np.ascontiguousarray(Y, dtype=np.float64)
    for tolerance in _HELD_TOLERANCES:
        grid = cauchy_grid(Y.shape[1], exponent, tolerance, n_jobs)
        if grid.n_nodes(Y) <= MOST_HELD_NODES:
            return grid.hold(points)
    return held_in_two_parts(points, n_jobs) if exponent == 1 and Y.shape[1] == 3 else None


def _cauchy(s: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """(1 + s)^−exponent."""
    t = 1 + s
    return np.asarray(1 / t if exponent == 1 else 1 / (t * t) if exponent == 2 else power(t, -exponent))


def _worst_row(points: FloatArray) -> int:
    sizes = np.abs(points).max(axis=1)
    return int(np.argmax(np.where(np.isnan(sizes), np.inf, sizes)))


def check_rows(n: int, count: int = CHECKED_POINTS) -> NDArray[np.int64]:
    """Points at which sums are compared with exact ones."""
    return np.unique(_core.random_integers(0, 0, 0, count, n))


def relative_error(found: FloatArray, exact: FloatArray) -> float:
    """Root mean square of the error, divided by that of the exact values."""
    truth = exact.astype(np.float64)
    norm = float(np.sqrt(np.sum(np.square(truth))))
    miss = float(np.sqrt(np.sum(np.square(found - truth))))
    return miss / norm if norm > 0.0 else miss


def _ladder(kernel: Kernel, n_components: int, tolerance: float) -> tuple[_core.FieldRules, ...]:
    """Rules for when a box may represent its points, from coarse to fine; none if every pair is summed."""
    if n_components not in _RUNGS or tolerance < SMALLEST_TOLERANCE:
        return ()
    rungs = _RUNGS[n_components]
    first = max(i for i, (_, _, largest) in enumerate(rungs) if tolerance <= largest or i == 0)
    return tuple(_rules(kernel, n_components, tolerance, p, s) for p, s, _ in rungs[first:])


def _rules(
    kernel: Kernel, n_components: int, tolerance: float, nodes: int, separation: float
) -> _core.FieldRules:
    if kernel.source is not None:
        return _rules_of_any(kernel.source, n_components, tolerance, nodes, separation)
    cauchy, decays = kernel.name == "cauchy", kernel.name == "log"
    if cauchy:
        # Smooth, so that its near forces are no larger than the far ones and cancel more: boxes must be better.
        separation += 0.4
    elif decays:
        separation += 0.15
    # The kernel that decays exponentially ends where exp(-d^a) no longer matters, and is steep on long boxes.
    reach = power(5.0 - log(tolerance), 1.0 / kernel.exponent)
    return _core.FieldRules(
        nodes=nodes,
        leaf=(64 if cauchy else 32) if n_components == 2 else 128,
        separation=separation,
        softening=0.9 if cauchy else 0.0,
        reach=float(reach) if decays else np.inf,
        grain=2.0 / max(kernel.exponent, 1.0) if decays else np.inf,
        grain_slope=0.4 / max(kernel.exponent, 1.0) if decays else 0.0,
    )


def _rules_of_any(
    source: Distortion, n_components: int, tolerance: float, nodes: int, separation: float
) -> _core.FieldRules:
    """Rules for a function of which only values are known: scale-free, except where its force decays."""
    length, reach = decay(source, n_components, tolerance)
    return _core.FieldRules(
        nodes=nodes,
        leaf=64 if n_components == 2 else 128,
        separation=separation + 0.15,
        softening=0.0,
        reach=reach,
        grain=length,
        grain_slope=0.4 if np.isfinite(length) else 0.0,
    )
