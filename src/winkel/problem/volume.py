"""All-pairs sums of a smooth radial function in three dimensions, as `grid` does in the plane."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import _core
from ..errors import InvalidInputError, InvalidParameterError
from ..run import resolve_n_jobs
from ..typing import FloatArray
from .grid import FINEST, GridSums, HeldField, Matrix, Radial, part_values, period_of, spline_spectrum

_LEAST_CELLS = 24  # a side, for maps smaller than the width of the function
_MARGIN = 8  # nodes beyond the outermost points, which the splines touch
_TWO_GRIDS = 2**17  # nodes from which on far points are summed on a grid of four times the spacing
_REACH = 16  # nodes within which points are near
# Of a field in two parts: the most nodes that its grid has, and how many of them lie within the reach of near points.
_COARSE_NODES, _COARSE_REACH = 2**21, 4
# What a sum takes, in microseconds of one core, as measured: a point and a node of the grid, a point of the tree of boxes.
_GRID_POINT, _GRID_NODE, _TREE_POINT = 0.22, 0.035, 0.75


class VolumeField:
    """Sums of f(d²) over all pairs of points in space, by splines on a grid and FFT, as `GridField` does in the plane.

    A grid in space has many nodes, so it suits maps that are not much wider than forty widths of the function;
    `beats_tree` checks this. The bytes of the result depend only on the points.
    """

    def __init__(
        self, f: Radial, *, width: float = 1.0, spacing: float = FINEST, n_jobs: int | None = None
    ) -> None:
        if not width > 0 or not spacing > 0:
            raise InvalidParameterError(f"width and spacing must be positive; got {width!r} and {spacing!r}.")
        self._f = f
        self._finest = float(width * spacing)
        self._threads = resolve_n_jobs(n_jobs)
        self._transform = lru_cache(maxsize=4)(self._fresh_transform)

    def n_nodes(self, Y: FloatArray) -> int:
        """Number of nodes of the grid that `evaluate` would use."""
        _, sides = _box(Y)
        return math.prod(_nodes(sides, self._spacing(max(sides))))

    def beats_tree(self, Y: FloatArray) -> bool:
        """Whether `evaluate` is faster than the tree of boxes of `Field`, whose time does not depend on how far points are spread."""
        return _GRID_NODE * self.n_nodes(Y) <= (_TREE_POINT - _GRID_POINT) * len(Y)

    def evaluate(self, Y: FloatArray, charges: FloatArray | None = None) -> GridSums:
        """Potentials and their gradients at all points."""
        points = np.ascontiguousarray(Y)
        if points.ndim != 2 or points.shape[1] != 3:
            raise InvalidInputError(f"Y must have three columns; got shape {points.shape}.")
        q = None if charges is None else np.ascontiguousarray(charges, dtype=points.dtype)
        found = self.hold(points, q)
        potentials, gradients = _core.volume_read(
            points, found.values, found.origin, found.spacing, self._threads
        )
        itself = points.dtype.type(self._f(np.zeros(1))[0])
        potentials -= itself if q is None else itself * q
        return GridSums(potentials, gradients)

    def hold(self, points: FloatArray, charges: FloatArray | None = None) -> HeldField:
        """The potential of all points on the grid, from which it can be read anywhere near the points."""
        low, sides = _box(points)
        spacing = self._spacing(max(sides))
        # Nodes lie on whole multiples of the spacing: the sums are then one smooth function of moving points.
        origin = tuple(spacing * (math.floor(least / spacing) - _MARGIN // 2) for least in low)
        held = _core.volume_spread(points, charges, origin, spacing, _nodes(sides, spacing), self._threads)
        return HeldField(self._convolved(held, spacing), origin, spacing)

    def _convolved(self, held: FloatArray, spacing: float) -> FloatArray:
        """The potential at the nodes, from the charges on them."""
        if held.size < _TWO_GRIDS:
            return self._periodic(held, spacing, "whole", 0.0)
        reach = _REACH * spacing
        fine = self._periodic(held, spacing, "near", reach)
        half = self._halved(held)
        far = self._periodic(self._halved(half), 4 * spacing, "far", reach)
        self._add_doubled(self._doubled(far, half.shape), fine)
        return fine

    def _halved(self, held: FloatArray) -> FloatArray:
        for axis in range(3):
            held = _core.volume_halve(held, axis, self._threads)
        return held

    def _doubled(self, coarse: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        fine = np.zeros(shape, coarse.dtype)
        self._add_doubled(coarse, fine)
        return fine

    def _add_doubled(self, coarse: FloatArray, fine: FloatArray) -> None:
        """Add the potential of the grid of twice the spacing: along the last side first, where vectors are short."""
        for axis in (2, 1):
            shape = list(coarse.shape)
            shape[axis] = fine.shape[axis]
            wider = np.zeros(shape, fine.dtype)
            _core.volume_double(coarse, wider, axis, self._threads)
            coarse = wider
        _core.volume_double(coarse, fine, 0, self._threads)

    def _periodic(self, held: FloatArray, spacing: float, part: str, reach: float) -> FloatArray:
        """Charges convolved with a part of f; only planes and rows with charges or with requested values are transformed."""
        from scipy import fft

        a, b, c = held.shape
        # Periods are so long that no charge is felt from the next one.
        beyond = [reach / spacing if part == "near" else side for side in held.shape]
        periods = tuple(period_of(side + more) for side, more in zip(held.shape, beyond))
        workers = self._threads
        spectrum = fft.rfft(held, n=periods[2], axis=2, workers=workers)
        spectrum = fft.fft(spectrum, n=periods[1], axis=1, overwrite_x=True, workers=workers)
        spectrum = fft.fft(spectrum, n=periods[0], axis=0, overwrite_x=True, workers=workers)
        octant = self._transform(part, reach, spacing, periods, held.dtype.name)
        first, second = octant.shape[0], octant.shape[1]
        for planes, mirrored in ((slice(first), octant), (slice(first, None), octant[-2:0:-1])):
            spectrum[planes, :second] *= mirrored
            spectrum[planes, second:] *= mirrored[:, -2:0:-1]
        spectrum = fft.ifft(spectrum, axis=0, overwrite_x=True, workers=workers)[:a]
        spectrum = fft.ifft(spectrum, axis=1, overwrite_x=True, workers=workers)[:, :b]
        potential = fft.irfft(spectrum, n=periods[2], axis=2, overwrite_x=True, workers=workers)
        return np.ascontiguousarray(potential[:, :, :c])

    def _spacing(self, extent: float) -> float:
        """The spacing, at most the finest one, in steps of √2, so that a transform of the kernel can be used for many maps."""
        if extent == 0 or extent >= self._finest * _LEAST_CELLS:
            return self._finest
        steps = math.ceil(2 * math.log2(self._finest * _LEAST_CELLS / extent))
        return math.ldexp(self._finest, -(steps // 2)) * (math.sqrt(0.5) if steps % 2 else 1.0)

    def _fresh_transform(
        self, part: str, reach: float, spacing: float, periods: tuple[int, int, int], dtype: str
    ) -> FloatArray:
        """An octant of the transform of a part of f on the period, corrected for spreading and reading by splines."""
        from scipy import fft

        x, y, z = (np.square(np.arange(p // 2 + 1) * spacing) for p in periods)
        square: Matrix = x[:, None, None] + y[None, :, None] + z[None, None, :]
        octant = fft.dctn(part_values(self._f, part, reach, square), type=1, workers=self._threads)
        for axis, period in enumerate(periods):
            shape = [1, 1, 1]
            shape[axis] = -1
            octant /= np.square(spline_spectrum(period)).reshape(shape)
        return np.asarray(octant.astype(dtype))


def held_in_two_parts(points: Matrix, n_jobs: int) -> HeldField:
    """The field Σⱼ 1 / (1 + |y − yⱼ|²) of points in space, however far apart: its smooth part on a coarse grid, the rest from nearby points.

    `cpp/core/near_points.hpp` defines the two parts. The grid is as fine as its number of nodes allows, because the reach of the second part,
    and with it the number of nearby points, is a multiple of the spacing.
    """
    _, sides = _box(points)
    spacing = FINEST
    while math.prod(_nodes(sides, spacing)) > _COARSE_NODES:
        spacing *= 1.1
    reach = _COARSE_REACH * spacing
    end = reach * reach

    def smooth(s: Matrix) -> Matrix:
        t = np.maximum((end - s) / (1 + end), 0.0)
        return np.asarray((1 - t * t * t * t * t) / (1 + s))

    held = VolumeField(smooth, spacing=spacing, n_jobs=n_jobs).hold(points)
    return replace(held, near=_core.NearPoints(points, reach))


def _box(Y: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The lowest corner and the sides of the box that holds all points."""
    low, high = (tuple(float(end) for end in ends) for ends in _core.column_range(Y))
    if not math.isfinite(sum(high)):
        raise InvalidInputError("Y must be finite.")
    return low, tuple(b - a for a, b in zip(low, high))


def _nodes(sides: tuple[float, ...], spacing: float) -> tuple[int, int, int]:
    a, b, c = (int(side / spacing) + 2 * _MARGIN for side in sides)
    return a, b, c
