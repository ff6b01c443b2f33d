"""The forces of an objective on a map, pair by pair (`forces`), and how well two objectives agree (`gradient_agreement`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import array, integer, optional
from ...data import as_table
from ...graph import Graph
from ...graph.knn import count_items
from ...run import Run
from ...solvers import iterate
from ...typing import Metric, RandomState
from .fit import prepare
from .objectives.base import Forces, Objective, Sums, as_objective
from .schedule import scaled_start

Matrix = NDArray[np.float64]


def forces(
    X: Any,
    Y: ArrayLike,
    objective: str | Objective,
    *,
    metric: Metric = "euclidean",
    pairs: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Forces:
    """The attractions and repulsions that an objective exerts on the map Y of X.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Graph
        The data, one row for each row of the map; a matrix of similarities with kernel_x="precomputed".
    Y : array of shape (n_samples, n_components)
        A map of X.
    objective : str or object of `winkel.objectives`
        "lle", "tsne", "umap", "two_kernel_pca", "pca", or an objective with parameters.
    metric : str or callable, default="euclidean"
        The metric for finding neighbours.
    pairs : {"auto", "exact", "field", "sampled"}, default="auto"
        How the sum over all pairs is computed, as in `winkel.AttractRepel`.
    random_state : int, numpy Generator or None, default=0
        The seed of searches and samples.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    Forces
        The value and gradient, the attractive and repulsive parts of the gradient, and both forces for any pair.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> Y = wk.AttractRepel(objective="umap", max_iter=50, random_state=0).fit_transform(X)
    >>> found = wk.forces(X, Y, "lle")
    >>> found.attractive.shape
    (200, 2)
    >>> attraction, repulsion, slope = found.scalars([0, 1], [2, 3])
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs)
    chosen, data = as_objective(objective), _data(X, metric)
    points = np.ascontiguousarray(array("Y", Y, (count_items(data), None)))
    pairs = chosen.check_pairs(pairs)
    used, problem, weights = _problem(data, chosen, points.shape[1], metric, pairs, run)
    return used.forces(problem, weights, points)


@dataclass(frozen=True, eq=False)
class Agreement:
    """The gradients of two objectives along a fit by the first.

    Attributes
    ----------
    a, b : Objective
        The objectives; the fit minimizes `a`.
    iteration : ndarray
        Numbers of the kept iterates.
    inner, cosine : ndarray
        The inner product ⟨∇a, ∇b⟩ and its cosine, one for each kept iterate.
    """

    a: Objective
    b: Objective
    iteration: NDArray[np.int64]
    inner: Matrix
    cosine: Matrix

    @property
    def sign(self) -> int:
        """The sign of the mean inner product, in which early iterates count most, because their gradients are large."""
        return int(np.sign(np.mean(self.inner)))


def gradient_agreement(
    X: Any,
    Y: ArrayLike | None,
    a: str | Objective,
    b: str | Objective,
    *,
    n_points: int = 20,
    max_iter: int | None = None,
    metric: Metric = "euclidean",
    pairs: str = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Agreement:
    """How well the gradients of two objectives agree along a fit by the first.

    This tests Conjecture 1 of Draganov and Dohn (2023): the inner product of the gradients of UMAP and of
    two-kernel LLE, `LLE(kernel_x="fuzzy", kernel_y="umap")`, is positive on average. docs/forces.md gives the results. The
    fit takes small steps without exaggeration.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Graph
        The data; a matrix of similarities with kernel_x="precomputed".
    Y : array of shape (n_samples, n_components) or None
        The map to start from; None starts from a random one in two dimensions.
    a, b : str or object of `winkel.objectives`
        The objective of the fit, and the objective with which it is compared.
    n_points : int, default=20
        Largest number of iterates at which gradients are compared; there are at least two.
    max_iter : int or None, default=None
        Number of iterations of `a`; None makes as many as `winkel.AttractRepel`.
    metric : str or callable, default="euclidean"
        The metric for finding neighbours.
    pairs : {"auto", "exact", "field", "sampled"}, default="auto"
        How the sum over all pairs is computed, as in `winkel.AttractRepel`.
    random_state : int, numpy Generator or None, default=0
        The seed of the start, of searches and samples.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores available to this process.

    Returns
    -------
    Agreement
        Inner products and cosines at the kept iterates.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> wk.gradient_agreement(X, None, "umap", "lle", n_points=5, max_iter=40).sign
    1
    """
    frames = max(2, integer("n_points", n_points, 1))
    run = replace(Run.of(random_state=random_state, n_jobs=n_jobs), keep_frames=frames)
    first, second, data = as_objective(a), as_objective(b), _data(X, metric)
    n = count_items(data)
    if Y is None:
        Y = scaled_start(run.stream("init").normal((n, 2)), 1.0, run)
    start = np.ascontiguousarray(array("Y", Y, (n, None)))
    one, problem, _ = _problem(data, first, start.shape[1], metric, pairs, run)
    other = _problem(data, second, start.shape[1], metric, pairs, run)[1]
    plan = (one.steps or one.schedule).plain(optional(integer, "max_iter", max_iter, 0))
    found = iterate(one.solver(plan, problem), problem, start, run, max_iter=plan.max_iter)
    assert found.frames is not None
    inner, cosine = [], []
    for frame in found.frames.Y:
        at = np.ascontiguousarray(frame, dtype=np.float64)
        g, h = problem.gradient(at)[1], other.gradient(at)[1]
        product = float(np.sum(g * h))
        sizes = float(np.sqrt(np.sum(np.square(g)) * np.sum(np.square(h))))
        inner.append(product)
        cosine.append(product / sizes if sizes > 0 else 0.0)
    return Agreement(first, second, found.frames.iteration, np.array(inner), np.array(cosine))


def _data(X: Any, metric: Metric) -> Any:
    """The Table of rows, or the graph, distances or items, which are used as they are."""
    return X if isinstance(X, Graph) or callable(metric) or metric == "precomputed" else as_table(X)


def _problem(
    data: Any, objective: Objective, n_components: int, metric: Metric, pairs: str, run: Run
) -> tuple[Objective, Any, Any]:
    """The objective with parameters that the data allows, its problem in double precision, and its weights."""
    source, used = prepare(data, objective, metric, run)
    weights = used.weights(source, run)
    return used, used.problem(weights, Sums(pairs, n_components, np.float64), run), weights
