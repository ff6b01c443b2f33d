"""Quadratic: the weights of a quadratic problem together with its exact solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError
from ...graph.graph import read_only
from ...run import Run
from ...solvers.eigen import bottom_of_dense, standardized
from ...typing import FloatArray

Matrix = NDArray[np.float64]
Pairs = tuple[NDArray[np.int32], FloatArray]

_PAIR_BYTES = 16  # two int32 and one float64
_LISTED_BY_DEFAULT = "2GB"
BLOCK = 1024  # rows handled at a time


@dataclass(frozen=True)
class ListedPairs:
    """Weights on the edges of a graph."""

    edges: NDArray[np.int32]
    weights: FloatArray

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.edges)

    def listed(self, max_memory: int | float | str | None) -> Pairs:
        """The pairs i < j and their weights."""
        return self.edges, self.weights


@dataclass(frozen=True)
class AllPairs:
    """Weights s_ij − s_i − s_j + s of all pairs: similarities, made in blocks of rows, centred by their means."""

    n: int
    similarity: Callable[[int, int], Matrix]  # rows start to stop, len × n
    means: Matrix
    mean: float

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.n * (self.n - 1) // 2

    def rows(self, start: int, stop: int) -> Matrix:
        """Centred similarities of rows start to stop with all."""
        block = self.similarity(start, stop) - self.means + self.mean
        block -= self.means[start:stop, None]
        return np.asarray(block)

    def listed(self, max_memory: int | float | str | None) -> Pairs:
        """The pairs i < j and their weights, if the list fits."""
        Run.of(random_state=0, max_memory=max_memory).check_memory(
            _PAIR_BYTES * self.count,
            f"the list of all {self.count} pairs of {self.n} items",
            "The solution in Y does not need this list; call pairs(max_memory=...) to allow more.",
        )
        edges, weights = np.empty((self.count, 2), np.int32), np.empty(self.count)
        at = 0
        for start in range(0, self.n, BLOCK):
            block = self.rows(start, min(start + BLOCK, self.n))
            for i, row in enumerate(block, start):
                end = at + self.n - 1 - i
                edges[at:end, 0], edges[at:end, 1] = i, np.arange(i + 1, self.n)
                weights[at:end] = row[i + 1 :]
                at = end
        return edges, weights


@dataclass(frozen=True)
class Quadratic:
    """The weights of a quadratic problem, and its exact solution.

    `to_textbook()` returns the coordinates as scaled in the paper of the method.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components)
        The map, standardized: (1/n) YᵀY = I, Yᵀ1 = 0, in order of ascending eigenvalue. With `masses` d, instead
        (1/n) Yᵀ diag(d) Y = I, Yᵀd = 0.
    objective : float
        (1/p) Σ w_ij ‖y_i − y_j‖², which is (n/p) times the sum of the eigenvalues.
    eigenvalues : ndarray of shape (n_components,)
        The bottom eigenvalues of L, not counting that of the constant vector.
    edges, weights : ndarrays of shape (p, 2) and (p,)
        The pairs i < j and w_ij. For methods that weigh all n(n−1)/2 pairs, they are listed when first requested, but
        not if that takes more than 2 GB (`pairs` allows more).
    masses : ndarray of shape (n,) or None
        How much each item counts in the constraint; None is one for all.
    method : str
        Name of the function that made the result.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> solved = wk.quadratic.pca(digits.X[:100])
    >>> solved.Y.shape, solved.n_edges
    ((100, 2), 4950)
    """

    method: str
    Y: Matrix
    eigenvalues: Matrix
    weighted: ListedPairs | AllPairs = field(repr=False)
    masses: Matrix | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("Y", "eigenvalues"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.Y)

    @property
    def n_edges(self) -> int:
        """Number p of weighted pairs."""
        return self.weighted.count

    @property
    def objective(self) -> float:
        """The smallest average distortion (1/p) Σ w_ij ‖y_i − y_j‖²."""
        return float(self.n / self.n_edges * self.eigenvalues.sum())

    @cached_property
    def _pairs(self) -> Pairs:
        return self.pairs(max_memory=_LISTED_BY_DEFAULT)

    @property
    def edges(self) -> NDArray[np.int32]:
        """The weighted pairs i < j, p × 2, in lexicographic order."""
        return self._pairs[0]

    @property
    def weights(self) -> FloatArray:
        """The weight of each pair."""
        return self._pairs[1]

    def pairs(self, *, max_memory: int | float | str | None = None) -> Pairs:
        """Edges and weights; an error if listing all pairs takes more than `max_memory` (None: no limit)."""
        edges, weights = self.weighted.listed(max_memory)
        return read_only(edges), read_only(weights)

    def to_textbook(self) -> Matrix:
        """The coordinates as scaled in the paper of the method.

        Scores of `pca` and `kernel_pca`, and coordinates of `classical_mds`, `isomap` and `mvu`, have the
        variance of their axis: Y_k √(−λ_k / n). `laplacian` and `lle` return unit vectors: Y / √n.
        """
        if isinstance(self.weighted, ListedPairs):
            return np.asarray(self.Y / np.sqrt(self.n))
        return np.asarray(self.Y * np.sqrt(-self.eigenvalues / self.n))


def require_positive(values: Matrix, noise: float, what: str) -> None:
    """Raise unless each axis has variance; among axes without variance, any direction is as good as another."""
    good = int((values > noise * max(float(values[0]), 0.0)).sum())
    if good < len(values):
        raise InvalidInputError(
            f"{what} has only {good} axes with variance above rounding, so n_components={len(values)} "
            + (
                f"is too many; at most {good} are determined."
                if good
                else "is not possible: all items coincide."
            )
        )


def solve_all_pairs(
    method: str,
    n: int,
    similarity: Callable[[int, int], Matrix],
    n_components: int,
    run: Run,
    what: str,
) -> Quadratic:
    """The quadratic problem whose weights are the double-centred similarities."""
    run.check_memory(
        8 * n * n * (2 if n <= 1000 else 1),
        f"the {n} × {n} matrix of {method}",
        "Give fewer items or a larger max_memory.",
    )
    L = np.empty((n, n))
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        L[start:stop] = similarity(start, stop)
    means = L.mean(axis=1)
    mean = float(means.mean())
    L -= means
    L -= (means - mean)[:, None]
    np.negative(L, out=L)
    found = bottom_of_dense(L, n_components)
    require_positive(-found.values, n * float(np.finfo(np.float64).eps), what)
    return Quadratic(method, standardized(found.vectors), found.values, AllPairs(n, similarity, means, mean))
