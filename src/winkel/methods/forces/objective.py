"""`Objective`: a loss of the framework by its name and kernels, and the problem it makes of data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataWarning, InvalidInputError, InvalidParameterError
from ...graph import Graph
from .kernels import DENSE_KERNELS_X, KERNELS_X, KERNELS_Y, MapKernel, gram, map_kernel, rbf_gamma
from .problem import ForceProblem, choose_pairs
from .weights import (
    Pairs,
    fuzzy_matrix,
    lists,
    lle_parts,
    perplexity_matrix,
    reconstruction,
    reconstruction_by_similarity,
)

OBJECTIVES = ("pca", "two_kernel_pca", "lle", "tsne", "umap")
_KERNELS = {  # on X and on Y, where none are given
    "pca": ("centered_linear", "linear"),
    "two_kernel_pca": ("fuzzy", "umap"),
    "lle": ("linear", "cauchy"),
    "tsne": ("perplexity", "cauchy"),
    "umap": ("fuzzy", "umap"),
}


@dataclass(frozen=True)
class Objective:
    """A loss Σ F(k_x, k_y) over pairs (Draganov and Dohn 2023, eq 3).

    name : "pca" ‖C(K_X − YYᵀ)C‖² · "two_kernel_pca" ‖K_X − K_Y‖² · "lle" Tr(M K_Y) + (1/n) Σ k_y, M = (I − W)ᵀ(I − W) of
        the reconstruction weights W · "tsne" Σ p log(p/q), p and q being k_x and k_y divided by their sums · "umap"
        −Σ p log k_y − Σ r log(1 − k_y), where r_ij = negative_sample_rate·(d_i + d_j)/(4n), d the row sums of p, is what
        UMAP's sampling does in the mean; with negative_sample_rate=None it is 1 − p, the cross-entropy of eq 2.
    kernel_x : "linear", "centered_linear", "rbf", "perplexity" (t-SNE's, of 3·perplexity neighbours), "fuzzy" (UMAP's, of
        n_neighbors), or "precomputed": X is a symmetric matrix of similarities. For "lle" the space in which rows are
        reconstructed from their n_neighbors.
    kernel_y : "cauchy", "umap" (a, b fitted to min_dist and spread), "gaussian"; "linear" for "pca".
    reg : share of the trace that is added to the Gram matrices of LLE. gamma : of the RBF kernel; None is 1 over the mean
        squared distance.
    """

    name: str = "lle"
    kernel_x: str | None = None
    kernel_y: str | None = None
    n_neighbors: int = 15
    perplexity: float = 30.0
    min_dist: float = 0.1
    spread: float = 1.0
    negative_sample_rate: float | None = 5.0
    reg: float = 1e-2
    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise InvalidParameterError(
                f"objective must be one of {', '.join(map(repr, OBJECTIVES))}; got {self.name!r}."
            )
        for name, known in (("kernel_x", KERNELS_X), ("kernel_y", KERNELS_Y)):
            if getattr(self, name) not in (None, *known):
                raise InvalidParameterError(
                    f"{name} must be None or one of {', '.join(map(repr, known))}; got {getattr(self, name)!r}."
                )
        if (self.name == "pca") != (self.y_kernel == "linear"):
            raise InvalidParameterError(
                'the linear kernel on the map goes with objective="pca" and only with it; '
                f"got objective={self.name!r}, kernel_y={self.kernel_y!r}."
            )
        if self.name == "pca" and self.x_kernel not in DENSE_KERNELS_X:
            raise InvalidParameterError(
                f'objective="pca" needs kernel_x to be one of {", ".join(map(repr, DENSE_KERNELS_X))}; '
                f"got {self.kernel_x!r}."
            )
        rate = self.negative_sample_rate
        if rate is not None and not (isinstance(rate, int | float | np.number) and 0 < rate < np.inf):
            raise InvalidParameterError(f"negative_sample_rate must be None or positive; got {rate!r}.")

    @property
    def x_kernel(self) -> str:
        """The kernel on the data."""
        return self.kernel_x or _KERNELS[self.name][0]

    @property
    def y_kernel(self) -> str:
        """The kernel on the map."""
        return self.kernel_y or _KERNELS[self.name][1]

    @property
    def needs_graph(self) -> bool:
        """Whether the weights come from nearest neighbours."""
        return self.x_kernel in ("perplexity", "fuzzy") or (
            self.name == "lle" and self.x_kernel != "precomputed"
        )

    def map_kernel(self) -> MapKernel:
        """The kernel on the map as a function."""
        return map_kernel(self.y_kernel, self.min_dist, self.spread)

    def neighbors_for(self, n: int) -> int:
        """How many neighbours are needed of n rows."""
        if self.x_kernel != "perplexity":
            return self.n_neighbors
        return max(1, min(n - 1, int(3 * self.perplexity)))

    def usable(self, n: int) -> Objective:
        """The same with a perplexity that n rows allow, and a warning where it is another."""
        most = (n - 1) / 3
        if self.x_kernel != "perplexity" or self.perplexity <= most:
            return self
        used = max(1.0, most)
        warnings.warn(
            f"perplexity={self.perplexity:g} needs three times as many neighbours, and there are only {n} rows; "
            f"perplexity={used:g} is used.",
            DataWarning,
            stacklevel=4,
        )
        return replace(self, perplexity=used)


@dataclass(frozen=True, eq=False)
class Built:
    """A problem, with what `forces` shows: K_X as used, and for LLE W + Wᵀ and WᵀW."""

    problem: ForceProblem
    similarities: sp.csr_array | None
    parts: tuple[sp.csr_array, sp.csr_array] | None


def build(
    objective: Objective,
    data: Any,
    graph: Graph | None,
    *,
    n_components: int = 2,
    pairs: str = "auto",
    n_jobs: int = 1,
    seed: int = 0,
    dtype: Any = np.float64,
) -> Built:
    """The problem that `objective` makes of rows (or of given similarities) and their neighbour graph."""
    kernel = objective.map_kernel()
    n = graph.n if graph is not None else data.shape[0]
    parts, K = None, None
    settings: dict[str, Any] = {}
    if objective.name == "lle":
        parts = _lle(objective, data, graph, n_jobs)
        weights: sp.csr_array = sp.csr_array(parts[1] - parts[0])
        near, far = "kernel", "kernel"
        # Tr(M K_Y) holds the diagonal of M too, where k_y is one, and so does the spread term.
        settings = {
            "far_weight": 1 / n,
            "constant": float(n + parts[1].diagonal().sum() - parts[0].diagonal().sum() + 1),
        }
    else:
        K = _similarities(objective, data, graph, n_jobs)
        weights, near, far, settings = _loss(objective, K)
    problem = ForceProblem(
        kernel=kernel,
        pairs=Pairs.of(weights, dtype),
        near_form=near,
        far_form=far,
        how=choose_pairs(pairs, kernel, far, n, n_components),
        n_jobs=n_jobs,
        seed=seed,
        **settings,
    )
    return Built(problem, K, parts)


def _loss(objective: Objective, K: sp.csr_array) -> tuple[sp.csr_array, str, str, dict[str, Any]]:
    """Weights, forms of the near and far curves, and the rest of a ForceProblem."""
    values = K.data.astype(np.float64)
    n = K.shape[0]
    if objective.name == "two_kernel_pca":
        return sp.csr_array(-2 * K), "kernel", "square", {"constant": float(np.sum(values * values))}
    entropy = float(np.sum(_xlogx(values)))
    if objective.name == "tsne":
        return K, "neg_log", "kernel", {"normalized": True, "constant": entropy}
    if values.size and values.max() > 1 + 1e-6:
        raise InvalidInputError(
            f'objective="umap" needs similarities in [0, 1]; the largest is {values.max():g}.'
        )
    if objective.negative_sample_rate is None:
        both = entropy + float(np.sum(_xlogx(np.maximum(1 - values, 0.0))))
        return K, "logit", "apart", {"constant": both}
    degree = np.asarray(K.sum(axis=1)).ravel()
    rate = objective.negative_sample_rate / (2 * n)
    return K, "neg_log", "apart", {"far_weight": rate, "charges": degree}


def _xlogx(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(p * np.log(np.where(p > 0, p, 1.0)))


def _similarities(objective: Objective, data: Any, graph: Graph | None, n_jobs: int) -> sp.csr_array:
    """K_X without its diagonal; for t-SNE of sum one."""
    name = objective.x_kernel
    if name == "perplexity":
        assert graph is not None
        K = perplexity_matrix(graph, objective.perplexity, n_jobs)
        if objective.name == "umap":
            K = K * (1 / K.data.max())  # memberships, not shares of one
    elif name == "fuzzy":
        assert graph is not None
        K = fuzzy_matrix(graph, n_jobs)
    else:
        dense = gram(data, name, objective.gamma)
        np.fill_diagonal(dense, 0)
        K = sp.csr_array(dense)
    if objective.name in ("tsne", "umap") and K.nnz and K.data.min() < 0:
        raise InvalidInputError(
            f"objective={objective.name!r} needs similarities that are not negative; the smallest is {K.data.min():g}."
        )
    if objective.name == "tsne":
        total = float(np.sum(K.data, dtype=np.float64))
        if not total > 0:
            raise InvalidInputError('objective="tsne" needs a pair of rows with a positive similarity.')
        K = K * K.dtype.type(1 / total)
    return sp.csr_array(K)


def _lle(
    objective: Objective, data: Any, graph: Graph | None, n_jobs: int
) -> tuple[sp.csr_array, sp.csr_array]:
    name = objective.x_kernel
    if name == "precomputed":
        K = sp.csr_array(gram(data, name))
        index = _most_similar(K, min(objective.n_neighbors, K.shape[0] - 1))
        return lle_parts(index, reconstruction_by_similarity(K, index, objective.reg))
    assert graph is not None
    index = lists(graph)[0]
    if name in ("perplexity", "fuzzy"):
        K = (
            fuzzy_matrix(graph, n_jobs)
            if name == "fuzzy"
            else perplexity_matrix(graph, objective.perplexity, n_jobs) * (2.0 * graph.n)
        )
        return lle_parts(index, reconstruction_by_similarity(sp.csr_array(K), index, objective.reg))
    if data is None or not hasattr(data, "shape"):
        raise InvalidInputError(
            'LLE reconstructs rows, so it needs them; for a graph or distances use kernel_x="fuzzy".'
        )
    gamma = rbf_gamma(_spread_rows(data), objective.gamma) if name == "rbf" else None
    return lle_parts(index, reconstruction(data, index, objective.reg, gamma))


def _spread_rows(data: Any) -> Any:
    return data.toarray() if sp.issparse(data) else data


def _most_similar(K: sp.csr_array, k: int) -> NDArray[np.int32]:
    dense = K.toarray()
    np.fill_diagonal(dense, -np.inf)
    return np.argsort(-dense, axis=1, kind="stable")[:, :k].astype(np.int32)
