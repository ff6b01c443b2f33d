"""Sanity checks of an embedding that only need its problem (Agrawal et al. 2021, section 2.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..embedding import Embedding
from ..errors import InvalidParameterError
from ..run import Stream, resolve_seed
from ..typing import FloatArray, IntArray, RandomState

if TYPE_CHECKING:
    from .problem import Problem


@dataclass(frozen=True, eq=False)
class Redundancy:
    """Average distortion of the pairs that an embedding was fitted to, and of pairs that were held out.

    If `held_out` is much larger than `fitted`, the pairs do not support each other: there may be too few of them.

    Attributes
    ----------
    fitted, held_out : float
        Average distortion of the fitted and of the held-out pairs.
    n_fitted, n_held_out : int
        Numbers of fitted and of held-out pairs.
    embedding : Embedding
        The embedding of the fitted pairs.
    """

    fitted: float
    held_out: float
    n_fitted: int
    n_held_out: int
    embedding: Embedding


@dataclass(frozen=True, eq=False)
class GroupBias:
    """Average distortion of the pairs with an end in each group, and their number.

    Attributes
    ----------
    groups : tuple
        Names of the groups.
    average_distortion : ndarray
        Average distortion E of each group; nan for a group without pairs.
    n_pairs : ndarray of int
        Number of pairs with an end in each group.
    gap : float
        Largest minus smallest E; 0 if the embedding is equally faithful to every group.
    """

    groups: tuple[Any, ...]
    average_distortion: NDArray[np.float64]
    n_pairs: IntArray

    @property
    def gap(self) -> float:
        """Largest minus smallest E; 0 if the embedding is equally faithful to every group."""
        known = self.average_distortion[self.n_pairs > 0]
        return float(known.max() - known.min())


def distortion_cdf(problem: Problem, Y: ArrayLike) -> tuple[FloatArray, NDArray[np.float64]]:
    """Distortions of all pairs in ascending order, and the share of pairs with at most that distortion.

    Parameters
    ----------
    problem : Problem
        The problem.
    Y : array of shape (n_items, n_components)
        An embedding.

    Returns
    -------
    distortions, shares : ndarrays of shape (n_pairs,)
        Two numbers for each pair of items.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.problem import distortion_cdf
    >>> problem = wk.Problem([[0, 1], [1, 2]], wk.penalties.Quadratic(), n_components=1)
    >>> distortions, shares = distortion_cdf(problem, [[0.0], [1.0], [3.0]])
    >>> distortions.tolist(), shares.tolist()
    ([1.0, 4.0], [0.5, 1.0])
    """
    distortions = np.sort(problem.distortions(Y))
    return distortions, np.searchsorted(distortions, distortions, side="right") / len(distortions)


def held_out(
    problem: Problem, fraction: float = 0.2, random_state: RandomState = None
) -> tuple[Problem, Problem]:
    """The problem without a random `fraction` of its pairs, and the problem of those pairs alone.

    Parameters
    ----------
    problem : Problem
        The problem whose pairs are divided.
    fraction : float, default=0.2
        Share of the pairs that is held out.
    random_state : int, Generator or None, default=None
        The seed of the random choice of pairs.

    Returns
    -------
    kept, held : Problem
        Two problems on the same items.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.problem import held_out
    >>> problem = wk.Problem([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]], wk.penalties.Quadratic(), n_components=1)
    >>> [part.n_pairs for part in held_out(problem, 0.4, random_state=0)]
    [3, 2]
    """
    count = round(fraction * problem.n_pairs) if 0 < fraction < 1 else 0
    if not 1 <= count < problem.n_pairs:
        raise InvalidParameterError(
            "fraction must lie between 0 and 1 and leave at least one pair on each side; "
            f"got {fraction!r} of {problem.n_pairs} pairs."
        )
    order = Stream.named(resolve_seed(random_state), "held-out pairs").permutation(problem.n_pairs)
    return problem.restricted(order[count:]), problem.restricted(order[:count])


def redundancy(
    problem: Problem,
    fraction: float = 0.2,
    *,
    init: ArrayLike | None = None,
    max_iter: int = 300,
    tol: float = 1e-5,
    random_state: RandomState = None,
) -> Redundancy:
    """Average distortion of held-out pairs, compared with that of the pairs an embedding was fitted to.

    An item that loses all its pairs stays where it started; if items have few pairs, hold out only a few.

    Parameters
    ----------
    problem : Problem
        The problem whose pairs are divided; it is solved without the held-out pairs.
    fraction : float, default=0.2
        Share of the pairs that is held out.
    init : array of shape (n_items, n_components) or None, default=None
        The start; None uses the random start of the constraint.
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-5
        The residual at which to stop.
    random_state : int, Generator or None, default=None
        The seed of the held-out pairs and of the start.

    Returns
    -------
    Redundancy
        Both averages, and the embedding.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.problem import redundancy
    >>> graph = wk.graph.knn(wk.datasets.load_digits().X[:300], 15)
    >>> problem = wk.Problem(graph.edges, wk.penalties.Quadratic(), constraint=wk.Standardized())
    >>> found = redundancy(problem, random_state=0)
    >>> found.held_out > found.fitted, found.n_held_out == round(0.2 * problem.n_pairs)
    (True, True)
    """
    seed = resolve_seed(random_state)
    fit, rest = held_out(problem, fraction, seed)
    embedding = fit.solve(init, max_iter=max_iter, tol=tol, random_state=seed)
    fitted, left = (float(np.mean(part.distortions(embedding.Y), dtype=np.float64)) for part in (fit, rest))
    return Redundancy(fitted, left, fit.n_pairs, rest.n_pairs, embedding)


def group_bias(problem: Problem, Y: ArrayLike, groups: Mapping[Any, ArrayLike] | ArrayLike) -> GroupBias:
    """Average distortion of the pairs that touch each group of items.

    Parameters
    ----------
    problem : Problem
        The problem.
    Y : array of shape (n_items, n_components)
        An embedding.
    groups : mapping or array of shape (n_items,)
        Item numbers or masks by name (groups may overlap), or a label for each item.

    Returns
    -------
    GroupBias
        Averages and numbers of pairs, and the gap between groups.

    Examples
    --------
    >>> import winkel as wk
    >>> from winkel.problem import group_bias
    >>> problem = wk.Problem([[0, 1], [1, 2]], wk.penalties.Quadratic(), n_components=1)
    >>> found = group_bias(problem, [[0.0], [1.0], [3.0]], ["a", "a", "b"])
    >>> found.groups, found.average_distortion.tolist(), found.gap
    (('a', 'b'), [2.5, 4.0], 1.5)
    """
    members = _members(groups, problem.n_items)
    distortions = problem.distortions(Y).astype(np.float64)
    touched = [mask[problem.edges].any(axis=1) for mask in members.values()]
    count = np.array([int(pairs.sum()) for pairs in touched])
    average = np.array([distortions[pairs].mean() if pairs.any() else np.nan for pairs in touched])
    return GroupBias(tuple(members), average, count)


def _members(groups: Mapping[Any, ArrayLike] | ArrayLike, n: int) -> dict[Any, NDArray[np.bool_]]:
    """Which items each group holds."""
    if not isinstance(groups, Mapping):
        labels = np.asarray(groups)
        if labels.shape != (n,):
            raise InvalidParameterError(
                f"groups must name the items of each group, or hold one label for each of the {n} items; "
                f"got shape {labels.shape}."
            )
        return {label: labels == label for label in np.unique(labels).tolist()}
    members = {}
    for name, member in groups.items():
        items, mask = np.asarray(member), np.zeros(n, dtype=bool)
        if not items.size or (items.dtype != bool and not np.issubdtype(items.dtype, np.integer)):
            raise InvalidParameterError(
                f"group {name!r} must hold item numbers or a mask of {n} entries; got {member!r}."
            )
        wrong = items.shape != (n,) if items.dtype == bool else items.min() < 0 or items.max() >= n
        if wrong:
            raise InvalidParameterError(f"group {name!r} names items outside 0 to {n - 1}.")
        mask[items] = True
        members[name] = mask
    return members
