"""The minimum-distortion embedding problem: average distortion, gradient and diagnostics of any embedding."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..algebra import log
from ..checks import frozen, integer, number
from ..errors import InvalidInputError, InvalidParameterError
from ..run import resolve_n_jobs
from ..typing import FloatArray, IntArray, RandomState
from .constraints import Constrained, Constraint, as_constraint, as_placed_items, check_placed_items
from .distortions import FusedPart, as_distortion
from .distortions.base import as_weights
from .field import Field, Kernel
from .validation import GroupBias, Redundancy, distortion_cdf, group_bias, redundancy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_BLOCK = 2**20  # pairs looked at together, which bounds the memory


class Pulls:
    """Soft positions: each given item is drawn to its target by the term w‖yᵢ − tᵢ‖².

    Parameters
    ----------
    indices : array of int, shape (k,)
        The items that are drawn.
    targets : array of shape (k, n_components)
        The position to which each item is drawn.
    weights : float or array of shape (k,), default=1.0
        The strength w of each pull; zero or positive.

    Examples
    --------
    >>> import winkel as wk
    >>> pulls = wk.Pulls([0, 1], [[0.0], [3.0]])
    >>> constraint = wk.Anchored([2], [[1.0]])
    >>> problem = wk.Problem(
    ...     [[0, 1], [1, 2]], wk.penalties.Quadratic(), n_components=1, constraint=constraint, pulls=pulls
    ... )
    >>> problem.solve().Y.round(2).ravel()
    array([0.8, 1.6, 1. ])
    """

    def __init__(self, indices: ArrayLike, targets: ArrayLike, weights: ArrayLike = 1.0) -> None:
        self.indices, self.targets = as_placed_items("Pulls", indices, targets)
        self.weights = np.asarray(as_weights(weights))
        if self.weights.ndim and len(self.weights) != len(self.indices):
            raise InvalidParameterError(
                f"Pulls needs one weight for all items or one for each; got {len(self.weights)} for {len(self.indices)} items."
            )
        if (self.weights < 0).any():
            raise InvalidParameterError("Pulls needs weights that are zero or positive; got a negative one.")

    def add(self, Y: FloatArray, scale: float, gradient: FloatArray) -> float:
        """The sum of the terms; also adds `scale` times their gradient to `gradient`."""
        offset = Y[self.indices].astype(np.float64) - self.targets
        weighted = self.weights[..., None] * offset
        gradient[self.indices] += (2.0 * scale * weighted).astype(gradient.dtype)
        return float(np.sum(weighted * offset))


class Problem(Constrained):
    """Minimise (1/p) Σ f(dᵢⱼ) over embeddings Y that a constraint allows, where dᵢⱼ = ‖yᵢ − yⱼ‖ for p pairs (i, j).

    Embeddings that are passed as float64 stay float64; all others are float32.

    Parameters
    ----------
    edges : array of int, shape (p, 2)
        The pairs. Items are numbered from 0; no item is paired with itself, and no pair is listed twice.
    distortion : Distortion
        One of `winkel.penalties` or `winkel.losses`, an object with `value(d)` and `derivative(d)`, or a
        function of a torch vector of distances.
    n_items : int or None, default=None
        The number of items; None takes the largest in `edges`, plus one.
    n_components : int, default=2
        The dimension of the embedding.
    constraint : Constraint, str or None, default=None
        Centered() (also for None), Standardized(), Anchored(indices, values), a constraint of your own, or a name.
    pulls : Pulls or None, default=None
        Soft positions, adding (1/p) Σ w‖yᵢ − tᵢ‖² to the average distortion.
    background : distortion or None, default=None
        A distortion that is the same for all pairs of items, which adds (1/p) Σ_{i<j} w f(dᵢⱼ): repulsion without sampling. In
        two and three dimensions it is summed as a field, with a relative error of the forces of at most 0.001 (0.008 for the
        Cauchy penalty); in other dimensions, pair by pair. Distortions without a kernel in the compiled core are tabulated.
    charges : array of shape (n_items,) or None, default=None
        How much each item counts in the background: the term of a pair is multiplied by the charges of its two items.
    normalized : bool or float, default=False
        Whether a background Cauchy(−w) adds (w/p) log Σ_{i<j} (1 + dᵢⱼ²)^−a instead, which normalizes the repulsion as in t-SNE.
        With `Log1p(P, exponent=2)` between neighbours, where w is the sum of P, the objective is w/p times t-SNE's
        divergence plus a constant. `with_background(1/c)` is the same problem with attractions exaggerated c times. If a
        number is given, it is added to the sum; otherwise a map of few items could grow without limit.
    n_jobs : int or None, default=None
        The number of threads. Results have the same bytes for any number.

    Examples
    --------
    >>> import numpy as np
    >>> import winkel as wk
    >>> edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])
    >>> square = wk.Problem(edges, wk.losses.Quadratic([1.0, 1.0, 1.0, 1.0, 2**0.5, 2**0.5]))
    >>> found = square.solve(random_state=0)
    >>> found.status.word
    'converged'
    >>> bool(square.average_distortion(found.Y) < 1e-6)
    True
    """

    def __init__(
        self,
        edges: ArrayLike,
        distortion: object,
        *,
        n_items: int | None = None,
        n_components: int = 2,
        constraint: Constraint | None = None,
        pulls: Pulls | None = None,
        background: object | None = None,
        charges: ArrayLike | None = None,
        normalized: bool | float = False,
        n_jobs: int | None = None,
    ) -> None:
        self._pairs: NDArray[np.int32] | SortedPairs = checked_edges(edges, n_items)
        self.n_items = int(self.edges.max()) + 1 if n_items is None else int(n_items)
        self.n_components = checked_components(n_components, self.n_items)
        self.distortion = as_distortion(distortion)
        self.n_threads = resolve_n_jobs(n_jobs)
        self.constraint = as_constraint(constraint).with_threads(self.n_threads)
        self.pulls = pulls
        self.background = None if background is None else as_distortion(background)
        self.charges = None if charges is None else np.asarray(charges, dtype=np.float64)
        self.normalized = normalized is not False
        self._floor = 0.0 if isinstance(normalized, bool) else number("normalized", normalized, 0.0)
        self._kernel = None if self.background is None else Kernel.of(self.background)
        self._plans: dict[str, PairPlan] = {}
        self._check_parts()

    @property
    def edges(self) -> NDArray[np.int32]:
        """The pairs, shape (p, 2)."""
        return self._pairs.listed() if isinstance(self._pairs, SortedPairs) else self._pairs

    @property
    def n_pairs(self) -> int:
        """The number of pairs p."""
        return len(self._pairs)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an embedding."""
        return (self.n_items, self.n_components)

    def with_jobs(self, n_jobs: int | None) -> Problem:
        """The same problem with another number of threads; the packed pairs are shared."""
        other = super().with_jobs(n_jobs)
        other._plans = self._plans
        return other

    def __getstate__(self) -> dict[str, object]:
        """The state of a pickle or a copy: everything except the packed pairs, which are made again when needed."""
        return {**self.__dict__, "_plans": {}}

    def restricted(self, pairs: ArrayLike) -> Problem:
        """The problem on some of the pairs, given by their numbers; pairs keep their order."""
        numbers = np.unique(np.asarray(pairs, dtype=np.int64))
        if not len(numbers) or numbers[0] < 0 or numbers[-1] >= self.n_pairs:
            raise InvalidParameterError(
                f"pairs must name at least one of the pairs 0 to {self.n_pairs - 1}; got {pairs!r}."
            )
        other = copy.copy(self)
        other._pairs = frozen(self.edges[numbers])
        other.distortion = self.distortion.take(numbers, self.n_pairs)
        return other

    def with_distortion(self, distortion: object) -> Problem:
        """The problem with the same pairs, background and constraint, and another distortion."""
        other = copy.copy(self)
        other.distortion = as_distortion(distortion)
        other._check_parts()
        return other

    def in_single_precision(self) -> Problem:
        """The same problem for maps in single precision, in about half the memory: its pairs are packed beforehand, as they are."""
        self._plan(np.dtype(np.float32))
        other = self.with_distortion(self.distortion.in_single_precision())
        other._pairs = SortedPairs.of(self.edges, self.n_items)
        other._plans = self._plans
        return other

    def with_pulls(self, pulls: Pulls | None) -> Problem:
        """The problem with other soft positions, or none."""
        other = copy.copy(self)
        other.pulls = pulls
        other._check_parts()
        return other

    def distances(self, Y: ArrayLike) -> FloatArray:
        """The distance of each pair, shape (p,)."""
        return self._distances(self.check_embedding(Y))

    def distortions(self, Y: ArrayLike) -> FloatArray:
        """The distortion of each pair, shape (p,)."""
        return self.distortion.value(self.distances(Y))

    def average_distortion(self, Y: ArrayLike) -> float:
        """The objective: mean distortion of the pairs, with pulls and background if there are any."""
        return self.evaluate(self.check_embedding(Y))[0]

    def gradient(self, Y: ArrayLike) -> tuple[float, FloatArray]:
        """The average distortion and its gradient, from one pass over the pairs."""
        return self.evaluate(self.check_embedding(Y))

    def residual(self, Y: ArrayLike) -> float:
        """Frobenius norm of the gradient, projected onto the directions that the constraint allows at Y; zero if Y is stationary."""
        array = self.check_embedding(Y)
        tangent = self.project_tangent(array, self.evaluate(array)[1])
        return float(np.sqrt(np.sum(np.square(tangent, dtype=np.float64))))

    def high_distortion_pairs(self, Y: ArrayLike, k: int) -> tuple[IntArray, FloatArray]:
        """The k pairs of largest distortion, shape (k, 2), and their distortions, largest first."""
        if not 1 <= k <= self.n_pairs:
            raise InvalidParameterError(f"k must lie in [1, {self.n_pairs}], the number of pairs; got {k}.")
        distortions = self.distortions(Y)
        worst = np.argsort(-distortions, kind="stable")[:k]
        return self.edges[worst].astype(np.int64), distortions[worst]

    def distortion_cdf(self, Y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Distortions of all pairs in ascending order, and the share of pairs with at most that distortion."""
        return distortion_cdf(self, Y)

    def group_bias(self, Y: ArrayLike, groups: Mapping[Any, ArrayLike] | ArrayLike) -> GroupBias:
        """Average distortion of the pairs that touch each group; see `winkel.problem.validation`."""
        return group_bias(self, Y, groups)

    def redundancy(
        self, fraction: float = 0.2, *, init: ArrayLike | None = None, random_state: RandomState = None
    ) -> Redundancy:
        """Average distortion of held-out pairs compared with that of fitted pairs; see `winkel.problem.validation`."""
        return redundancy(self, fraction, init=init, random_state=random_state)

    def evaluate(self, Y: FloatArray) -> tuple[float, FloatArray]:
        """`gradient` for a Y that is already checked; solvers call this."""
        plan, scale = self._plan(Y.dtype), 1.0 / self.n_pairs
        gradient = np.empty_like(Y)
        if plan.fused:
            total = plan.core.evaluate(Y, scale, None, gradient, self.n_threads)
        else:
            d = self._distances(Y)
            value, slope = self.distortion.value_and_derivative(d)
            # slope is proportional to d below the floor, so the quotient has a limit and no pair divides by zero.
            factors = slope / np.maximum(d, np.finfo(d.dtype).tiny)
            total = float(np.sum(value, dtype=np.float64))
            plan.core.evaluate(Y, scale, factors.astype(Y.dtype), gradient, self.n_threads)
        if self.pulls is not None:
            total += self.pulls.add(Y, scale, gradient)
        if self._kernel is not None:
            sums = self._field.evaluate(Y, self.charges)
            background, weight = self._background_of(sums.total)
            total += background
            forces = sums.forces if sums.charges is None else sums.charges[:, None] * sums.forces
            gradient += Y.dtype.type(scale * weight) * forces
        return total * scale, gradient

    def background_weight(self, Y: ArrayLike) -> float:
        """The weight with which each pair repels at Y: the weight of the background, divided by the sum over all pairs if it is normalized."""
        if self._kernel is None or not self.normalized:
            return 0.0 if self._kernel is None else self._kernel.weight
        return self._background_of(self._field.evaluate(self.check_embedding(Y), self.charges).total)[1]

    def _background_of(self, total: float) -> tuple[float, float]:
        """The value of the background as a function of the sum of its kernel (with weight 1) over all pairs, and its derivative with respect to that sum."""
        assert self._kernel is not None
        weight = self._kernel.weight
        if not self.normalized:
            return weight * total, weight
        # Points may lie so far apart that the sum is lost in its error.
        total = max(total + self._floor, float(np.finfo(np.float32).tiny))
        return weight * float(log(total)), weight / total

    @property
    def _field(self) -> Field:
        """Sums over all pairs of the background's kernel, with a weight of 1."""
        assert self._kernel is not None
        tolerance = self._kernel.tolerance
        kernel = replace(self._kernel, weight=1.0)
        return Field(kernel, self.n_components, tolerance=tolerance, n_jobs=self.n_threads)

    def with_background(self, share: float) -> Problem:
        """The same problem with `share` times its background; the packed pairs are shared."""
        assert self._kernel is not None
        other = copy.copy(self)
        other._plans = self._plans
        other._kernel = replace(self._kernel, weight=share * self._kernel.weight)
        return other

    def _distances(self, Y: FloatArray) -> FloatArray:
        return np.asarray(_core.pair_distances(self.edges, Y, self.n_threads))

    def _plan(self, dtype: np.dtype[Any]) -> PairPlan:
        key = dtype.name
        if key not in self._plans:
            self._plans[key] = pack_pairs(
                self.edges, self.distortion.fused(), *self.shape, dtype, self.n_threads
            )
        return self._plans[key]

    def _check_parts(self) -> None:
        needed = self.distortion.n_pairs
        if needed is not None and needed != self.n_pairs:
            raise InvalidParameterError(
                f"The distortion holds data for {needed} pairs, and edges lists {self.n_pairs}; the numbers must be equal."
            )
        if self.normalized and (self._kernel is None or self._kernel.name != "cauchy"):
            raise InvalidParameterError(
                f"normalized=True needs a Cauchy penalty as background; got background={self.background!r:.200}."
            )
        self.constraint.check(*self.shape)
        if self.pulls is not None:
            check_placed_items("Pulls", self.pulls.indices, self.pulls.targets, *self.shape)
        q = self.charges
        if q is not None and (
            self.background is None or q.shape != (self.n_items,) or not np.isfinite(q).all()
        ):
            raise InvalidParameterError(
                f"charges need a background and must be finite, of shape ({self.n_items},); "
                f"got shape {q.shape} and background={self.background!r}."
            )


# -------------------------------------------------------------------------------------------------- pairs


def checked_components(n_components: int, n: int) -> int:
    """`n_components`, checked to fit n items."""
    m = integer("n_components", n_components, 1)
    if n * (m + 7) >= 2**31:  # the core pads rows by up to seven components
        raise InvalidParameterError(
            f"An embedding may have fewer than 2**31 entries; {n} items in {n_components} dimensions are more. "
            "Use fewer components, or embed a sample as landmarks."
        )
    return m


def checked_edges(edges: ArrayLike, n_items: int | None) -> NDArray[np.int32]:
    """Pairs as a read-only contiguous int32 array, checked."""
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(
            "edges must be an integer array of shape (p, 2) with at least one pair; "
            f"got an array of {array.dtype}, shape {array.shape}."
        )
    n = 2**31 - 1 if n_items is None else integer("n_items", n_items, 2, 2**31 - 1)
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n:
        k = int(np.argmax(((array < 0) | (array >= n)).any(axis=1)))
        raise InvalidInputError(
            f"edges must name items from 0 to {n - 1}; pair {k} is {tuple(map(int, array[k]))}."
        )
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        k = int(np.argmax(loops))
        raise InvalidInputError(
            f"edges must pair different items; pair {k} is {tuple(map(int, array[k]))}. Drop such pairs."
        )
    _check_unique(array)
    return frozen(np.ascontiguousarray(array, dtype=np.int32))


def _check_unique(edges: IntArray) -> None:
    if all((np.diff(_keys(edges[i : i + _BLOCK + 1])) > 0).all() for i in range(0, len(edges), _BLOCK)):
        return  # in order, as a graph has them
    keys = _keys(edges)
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if len(same):
        a, b = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise InvalidInputError(
            f"edges must list each pair once; pairs {a} and {b} are both {tuple(map(int, edges[a]))} "
            f"({len(same)} repeats). Merge them and add up their weights."
        )


def _keys(edges: IntArray) -> NDArray[np.int64]:
    """A number for each pair, independent of the order of its items."""
    a, b = edges[:, 0], edges[:, 1]
    return np.minimum(a, b).astype(np.int64) * 2**31 + np.maximum(a, b)


@dataclass(frozen=True, eq=False)
class SortedPairs:
    """Pairs in the order of their first items: where those of each item begin, and the second items."""

    start: NDArray[np.int64]
    second: NDArray[np.int32]

    @classmethod
    def of(cls, edges: NDArray[np.int32], n: int) -> NDArray[np.int32] | SortedPairs:
        """The pairs in this form; as they are if they have another order."""
        count: NDArray[np.int64] = np.zeros(n + 1, dtype=np.int64)
        for begin in range(0, len(edges), _BLOCK):
            first = edges[begin : begin + _BLOCK + 1, 0]
            if not (first[1:] >= first[:-1]).all():
                return edges
            count[1:] += np.bincount(first[:_BLOCK], minlength=n)
        start = np.cumsum(count)
        return cls(start, edges[:, 1].copy())

    def __len__(self) -> int:
        return len(self.second)

    def listed(self) -> NDArray[np.int32]:
        """The pairs one by one, shape (p, 2)."""
        edges = np.empty((len(self), 2), dtype=np.int32)
        edges[:, 0] = np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))
        edges[:, 1] = self.second
        edges.flags.writeable = False
        return edges


@dataclass(frozen=True)
class PairPlan:
    """Packed pairs, and whether they contain a fused distortion or are given factors at each evaluation."""

    core: Any  # PairPlan32 or PairPlan64, as the embedding's precision asks
    fused: bool


def pack_pairs(
    edges: IntArray,
    parts: tuple[FusedPart, ...],
    n: int,
    m: int,
    dtype: np.dtype[np.generic],
    n_threads: int,
) -> PairPlan:
    """The plan for `edges`, with the fused `parts` of their distortion if there are any."""
    plan_type = _core.PairPlan64 if dtype == np.float64 else _core.PairPlan32
    core: Any = plan_type(n, m)
    for part in parts:
        whole = part.pairs is None or len(part.pairs) == len(edges)
        pairs = edges if whole else np.ascontiguousarray(edges[part.pairs])
        weights = np.asarray(part.weights, dtype=np.float64)
        same = weights.ndim == 0 or bool((weights == weights[0]).all())
        common = float(weights.flat[0])
        deviations = None if part.deviations is None else np.asarray(part.deviations, dtype=np.float64)
        core.add(
            part.kernel,
            part.first,
            part.second,
            part.floor,
            pairs,
            None if same else weights,
            common,
            deviations,
            n_threads,
        )
    if not parts:
        core.add("factors", 0.0, 0.0, 0.0, edges, None, 1.0, None, n_threads)
    return PairPlan(core, bool(parts))
