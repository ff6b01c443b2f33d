"""A loss made of attractions and repulsions, with its value and gradient: listed pairs, and all pairs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...algebra import log
from ...checks import choice
from ...errors import InvalidParameterError
from ...problem.constraints import Centered
from ...problem.distortions.penalties import LARGEST_BARRIER_EXPONENT
from ...problem.field import MARGIN, Field, Kernel
from ...problem.grid import GridField
from ...typing import FloatArray
from .map_kernels import FLOOR, MapKernel

Matrix = NDArray[np.float64]

PAIRS = ("auto", "exact", "field", "sampled")
EXACT_UP_TO = 20_000  # rows, where there is no field
FIELD_FROM = 2_000  # rows; below, the exact sum takes no longer
DRAWS = 64  # others that a row is compared with, when they are sampled
TOLERANCE = 4e-3  # of forces by a field: relative root mean square error, as checked at every evaluation
# −log(1 − k) is steep between points that nearly meet; a grid of this spacing smooths it. The tolerance of the forces, the number of points
# at which they are checked, and the cost in microseconds of a node of the grid and of a point in the tree.
APART_SPACING, APART_TOLERANCE, _APART_CHECKED = 0.025, 0.03, 16
_APART_NODE, _APART_POINT = 0.025, 1.4
APART_NODES = _APART_POINT / _APART_NODE  # of the largest grid that is used, for each row
_CENTERED = Centered()


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of a symmetric sparse matrix of weights without diagonal, as the core reads them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: FloatArray

    @classmethod
    def of(cls, matrix: Any, dtype: Any) -> Pairs:
        """The entries of `matrix` off the diagonal, zeros omitted."""
        S = sp.csr_array(matrix)
        S = S - sp.dia_array((S.diagonal()[None, :], [0]), shape=S.shape)
        S = sp.csr_array(S)
        S.eliminate_zeros()
        S.sort_indices()
        return cls(
            np.ascontiguousarray(S.indptr, dtype=np.int64),
            np.ascontiguousarray(S.indices, dtype=np.int32),
            np.ascontiguousarray(S.data, dtype=dtype),
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """Value and gradient of a loss, taken apart."""

    listed_value: float
    all_value: float
    listed: FloatArray  # gradient of the listed pairs, n × m
    all_pairs: FloatArray  # gradient of all pairs
    normalizer: float  # Σ_{i≠j} f_all, by which t-SNE divides


@dataclass(frozen=True, eq=False)
class ForceProblem:
    """L(Y) = constant + e Σ_{i≠j} w_ij f_listed(s_ij) + λ Σ_{i≠j} ½ (q_i + q_j) f_all(s_ij), s the squared distance on the map.

    w is sparse and symmetric, f_listed and f_all are functions of the kernel k_y by name ("kernel" k, "square" k²,
    "neg_log" −log k, "apart" −log(1 − k), "logit" −log k + log(1 − k)), q are charges (1 when None). With `normalized` the
    last term is log Σ f_all, as in t-SNE. `how` says how the sum over all pairs is computed: "exact", "field" or "sampled", the last from
    `draws` other rows per row, which change with `round`. The exaggeration e is above 1 only at the start of a fit, if at all.
    """

    kernel: MapKernel
    pairs: Pairs
    listed_form: str
    all_form: str
    all_weight: float = 1.0
    normalized: bool = False
    charges: FloatArray | None = None
    constant: float = 0.0
    how: str = "exact"
    n_jobs: int = 1
    exaggeration: float = 1.0
    seed: int = 0
    round: int = 0
    draws: int = DRAWS

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.pairs.indptr) - 1

    def exaggerated(self, factor: float) -> ForceProblem:
        """The same loss with attractions `factor` times as strong."""
        return self if factor == self.exaggeration else replace(self, exaggeration=factor)

    def at_round(self, number: int) -> ForceProblem:
        """The same loss with other sampled pairs; the loss itself if no pairs are sampled."""
        return replace(self, round=number) if self.how == "sampled" else self

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        return self.n_jobs

    def gradient(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The value at Y and its gradient."""
        parts = self.parts(Y)
        return self.constant + parts.listed_value + parts.all_value, parts.listed + parts.all_pairs

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """The same, under the name that L-BFGS uses."""
        return self.gradient(Y)

    def project(self, Y: FloatArray) -> FloatArray:
        """Y minus its mean; the loss does not depend on the mean."""
        return _CENTERED.with_threads(self.n_jobs).project(Y)

    def project_tangent(self, Y: FloatArray, G: FloatArray) -> FloatArray:
        """A direction minus its mean."""
        return _CENTERED.with_threads(self.n_jobs).project_tangent(Y, G)

    def parts(self, Y: FloatArray) -> Parts:
        """The value at Y and its gradient, separately for listed pairs and for all pairs."""
        points = np.ascontiguousarray(Y)
        listed_value, listed = self._listed(points)
        potentials, force = self._all_pairs(points)
        total = float(np.sum(potentials, dtype=np.float64))
        if self.normalized:
            total = max(total, np.finfo(np.float64).tiny)
            all_value, scale = float(log(total)), 4 / total
        else:
            all_value, scale = self.all_weight * total, 4 * self.all_weight
        everywhere = (scale * force).astype(points.dtype, copy=False)
        return Parts(listed_value, all_value, listed, everywhere, total)

    def gradient_of(self, weights: Any, form: str, Y: Matrix) -> Matrix:
        """The gradient of Σ w_ij f(s_ij) over the entries of another symmetric matrix of weights."""
        pairs = Pairs.of(weights, np.float64)
        curve, values = self.kernel.curve(form), pairs.weights.astype(np.float64, copy=False)
        _, force = _core.listed_forces(curve, Y, pairs.indptr, pairs.indices, values, False, self.n_jobs)
        return np.asarray(4 * force, dtype=np.float64)

    def _listed(self, Y: FloatArray) -> tuple[float, FloatArray]:
        pairs, e = self.pairs, self.exaggeration
        weights = pairs.weights.astype(Y.dtype, copy=False)
        value, force = _core.listed_forces(
            self.kernel.curve(self.listed_form), Y, pairs.indptr, pairs.indices, weights, True, self.n_jobs
        )
        force *= force.dtype.type(4 * e)
        return e * value, force

    def _all_pairs(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Σⱼ ½(qᵢ + qⱼ) f and Σⱼ ½(qᵢ + qⱼ) f' (yᵢ − yⱼ) for every row i."""
        potentials, force = self._sum(Y, None)
        if self.charges is None:
            return potentials, force
        q = self.charges.astype(np.float64)
        # Charges are their mean and what they deviate from it, of which forces are small.
        mean = float(np.mean(q))
        charged = mean * force + self._sum(Y, q - mean)[1]
        # Summed over rows, qᵢ Σⱼ f is what the half sums of charges give.
        return q * potentials, 0.5 * (q[:, None] * force + charged)

    def _sum(self, Y: FloatArray, charges: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Σⱼ qⱼ f and Σⱼ qⱼ f' (yᵢ − yⱼ)."""
        if self.how == "field":
            return self._field_sum(Y, charges)
        q = np.ones(len(Y), Y.dtype) if charges is None else charges.astype(Y.dtype, copy=False)
        curve = self.kernel.curve(self.all_form)
        if self.how == "exact" or len(Y) < 2:
            potentials, force = _core.all_forces(curve, Y, q, None, self.n_jobs)
        else:
            potentials, force = _core.sampled_forces(
                curve, Y, q, self.draws, self.seed, self.round, self.n_jobs
            )
        return potentials, force

    def _field_sum(self, Y: FloatArray, charges: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        m = Y.shape[1]
        field = _tree_field(self.kernel, self.all_form, m, self.n_jobs)
        if field is None:
            grid = _grid_field(self.kernel, self.all_form, self.n_jobs)
            if m != 2 or grid is None:
                raise InvalidParameterError(_no_field(self.kernel, self.all_form, m))
            sums = grid.evaluate(Y, charges)
            return sums.potentials, 0.5 * sums.gradients
        if self.all_form == "apart" and m == 2:
            found = self._apart_sum(Y, charges)
            if found is not None:
                return found
        # The tree knows no factor of the distance, so the points are stretched by it.
        stretch = self.kernel.stretch
        sums_by_tree = field.evaluate(Y * Y.dtype.type(stretch), charges)
        return sums_by_tree.potentials, Y.dtype.type(0.5 * stretch) * sums_by_tree.forces

    def _apart_sum(self, Y: FloatArray, charges: FloatArray | None) -> tuple[FloatArray, FloatArray] | None:
        """The sum of −log(1 − k) on a grid; None if the tree is faster or the grid is not accurate enough."""
        # Of deviations from the mean charge twice the spacing will do.
        grid = _apart_grid(self.kernel, APART_SPACING if charges is None else 2 * APART_SPACING, self.n_jobs)
        if _APART_NODE * grid.n_nodes(Y) > _APART_POINT * len(Y):
            return None
        sums = grid.evaluate(Y, charges)
        force = 0.5 * sums.gradients
        if charges is None:
            rows = np.unique(_core.random_integers(0, 0, 0, _APART_CHECKED, len(Y)))
            ones = np.ones(len(Y), Y.dtype)
            exact = _core.all_forces(self.kernel.curve("apart"), Y, ones, rows, self.n_jobs)[1]
            miss, size = np.linalg.norm(force[rows] - exact), np.linalg.norm(exact)
            if not miss <= MARGIN * APART_TOLERANCE * size:
                return None
        return sums.potentials, force


@lru_cache(maxsize=16)  # which keeps the transforms of the kernel from iteration to iteration
def _grid_field(kernel: MapKernel, form: str, n_jobs: int) -> GridField | None:
    f = _smooth_form(kernel, form)
    # A square falls off faster than what is squared.
    return (
        None
        if f is None
        else GridField(f, width=kernel.width * (0.7 if form == "square" else 1.0), n_jobs=n_jobs)
    )


@lru_cache(maxsize=8)
def _apart_grid(kernel: MapKernel, spacing: float, n_jobs: int) -> GridField:
    curve = kernel.curve("apart")

    def values(s: Matrix) -> Matrix:
        flat = np.ascontiguousarray(s, dtype=np.float64).ravel()
        return np.asarray(_core.curve_values(curve, flat)[0], dtype=np.float64).reshape(s.shape)

    return GridField(values, spacing=spacing, n_jobs=n_jobs)


def smooth_grid(kernel: MapKernel, form: str, n_jobs: int) -> GridField | None:
    """The grid in the plane on which a form of a kernel is summed, or None."""
    if form == "apart":
        return _apart_grid(kernel, APART_SPACING, n_jobs)
    return _grid_field(kernel, form, n_jobs)


def choose_pairs(pairs: str, kernel: MapKernel, all_form: str, n: int, n_components: int) -> str:
    """How the sum over all pairs is computed: `pairs`, or a choice by the number of rows if that is "auto"."""
    choice("pairs", pairs, PAIRS)
    has_field = _has_field(kernel, all_form, n_components)
    if pairs == "field" and not has_field:
        raise InvalidParameterError(_no_field(kernel, all_form, n_components))
    if pairs != "auto":
        return pairs
    if n <= FIELD_FROM or (n <= EXACT_UP_TO and not has_field):
        return "exact"
    return "field" if has_field else "sampled"


def _has_field(kernel: MapKernel, form: str, n_components: int) -> bool:
    if n_components == 2 and _smooth_form(kernel, form) is not None:
        return True
    return n_components in (2, 3) and _tree_kernel(kernel, form) is not None


def _no_field(kernel: MapKernel, form: str, n_components: int) -> str:
    return (
        f'pairs="field" is not available for the kernel {kernel.name!r} ({form}) in {n_components} dimensions: '
        'use pairs="exact" or "sampled", kernel_y="cauchy", or two dimensions.'
    )


def _smooth_form(kernel: MapKernel, form: str) -> Callable[[Matrix], Matrix] | None:
    """The function of squared distances that can be summed on a grid, or None."""
    if form == "kernel":
        return kernel.value
    if form == "square":
        return lambda s: np.square(kernel.value(s))
    return None


@lru_cache(maxsize=16)
def _tree_field(kernel: MapKernel, form: str, m: int, n_jobs: int) -> Field | None:
    """The field of the function that `_tree_kernel` gives, or None."""
    found = _tree_kernel(kernel, form)
    return None if found is None else Field(found, m, tolerance=TOLERANCE, n_jobs=n_jobs)


def _tree_kernel(kernel: MapKernel, form: str) -> Kernel | None:
    """The same function of scaled points, for the tree of boxes, or None."""
    if form == "apart" and kernel.name in ("cauchy", "umap"):
        floor = float(np.sqrt(FLOOR)) * kernel.stretch
        return Kernel("log_ratio", exponent=2 * kernel.second, weight=-1.0, floor=floor)
    exponent = kernel.first * (1.0 if form == "kernel" else 2.0)
    smooth = kernel.name in ("cauchy", "student") and form in ("kernel", "square")
    if smooth and exponent <= LARGEST_BARRIER_EXPONENT:
        return Kernel("cauchy", exponent=exponent)
    return None
