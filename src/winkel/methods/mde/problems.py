"""Problems of minimum-distortion embedding without an estimator: to preserve neighbours or distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from ...checks import integer, positive
from ...graph import Graph
from ...problem import Centered, Constraint, Problem
from ...problem.constraints import as_constraint
from ...problem.distortions import Distortion
from ...problem.distortions.base import as_loss
from ...run import Run
from ...typing import FloatArray, Metric, RandomState
from .lengths import MAX_DISTANCES, distance_problem, flat_problem
from .neighbors import Forces, check_weights, listed_neighbors, neighbor_problem, shortened
from .plan import check_focus, choose_focus


def preserve_neighbors(
    data: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 15,
    metric: Metric = "euclidean",
    attractive: str | type[Distortion] | Distortion = "auto",
    repulsive: str | type[Distortion] | Distortion | None = "auto",
    repulsive_fraction: float = 1.0,
    repulsive_pairs: str = "auto",
    focus: str | float = "auto",
    sample_weight: ArrayLike | None = None,
    constraint: str | Constraint = "centered",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
    verbose: bool = False,
) -> Problem:
    """The Problem that draws neighbours together and pushes other pairs apart, as `winkel.MDE` does.

    Parameters
    ----------
    data : array, data frame, sparse matrix, AnnData, Graph, or what `winkel.graph.knn` takes
        The rows (for an AnnData object its `X`; use `winkel.scverse.table` for another array); or a graph, whose edges and weights are then
        the similar pairs. In a neighbour graph, pairs that list each other have weight 2, and other pairs weight 1.
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=15
        Number of neighbours that attract each row.
    metric : str or callable, default="euclidean"
        The metric of `winkel.graph.knn`.
    attractive : str, class or penalty, default="auto"
        The penalty of similar pairs: a name, one of `winkel.penalties`, or an object with `value` and `derivative`. "auto" is
        Log1p(exponent=2) together with the Cauchy penalty, and Log1p(exponent=1.3) with other repulsive penalties.
    repulsive : str, class, penalty or None, default="auto"
        The penalty of dissimilar pairs. "auto" is "cauchy" for a centred map in two or three dimensions with
        attractive="auto", otherwise "log". With None there are no dissimilar pairs.
    repulsive_fraction : float, default=1.0
        How many dissimilar pairs are drawn for each similar pair. If all pairs repel, the strength of their repulsion.
    repulsive_pairs : {"auto", "sampled", "all"}, default="auto"
        "sampled" draws dissimilar pairs, with weight −1, uniformly from the pairs that are not similar. With "all", the
        same total repulsion is shared by all pairs of rows, and summed as a field in two and three dimensions. "auto" is "all"
        for the Cauchy penalty, otherwise "sampled". The Cauchy penalty only acts on close rows, so its repulsion is not shared:
        each row repels every other with a fifth of its attraction (less if there are more than 4 000 rows), and the attraction of
        neighbours depends on their distances.
    focus : {"auto", "flat", "shape", "neighbors"} or float, default="auto"
        As in `winkel.MDE`: the strength of the Cauchy repulsion. With "flat" there is none, and lengths of paths are preserved.
    sample_weight : array of shape (n_rows,) or None, default=None
        Positive numbers; the weight of a pair is multiplied by the square root of the product of those of its two rows.
    constraint : {"centered", "standardized"} or Constraint, default="centered"
        Which maps are allowed.
    random_state : int, numpy Generator or None, default=None
        The seed of the neighbour search and of dissimilar pairs.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".
    verbose : bool, default=False
        Whether to show the progress of the neighbour search.

    Returns
    -------
    Problem
        Solve it with `problem.solve()`.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> problem = wk.preserve_neighbors(digits.X[:200], n_neighbors=8, random_state=0)
    >>> problem.n_items, problem.background
    (200, Cauchy(weights=..., exponent=1.0))
    >>> problem.solve(max_iter=20, random_state=0).Y.shape
    (200, 2)
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory, verbose=verbose)
    n_components = integer("n_components", n_components, 1)
    allowed = as_constraint(constraint)
    forces = Forces.of(attractive, repulsive, repulsive_pairs, n_components, allowed)
    fraction = positive("repulsive_fraction", repulsive_fraction)
    n_neighbors = integer("n_neighbors", n_neighbors, 1)
    graph = data if isinstance(data, Graph) else listed_neighbors(data, n_neighbors, forces, run, metric)
    weights = None if sample_weight is None else check_weights(sample_weight, graph.n)
    place = check_focus(focus)
    if forces.cauchy:
        short = shortened(graph, n_neighbors)
        chosen = choose_focus(place, short, run, may_lie_flat=isinstance(allowed, Centered))
        if chosen.flat:
            return flat_problem(short, allowed, n_components, run, weights).problem
        fraction *= chosen.share(graph.n)
    return neighbor_problem(graph, forces, n_neighbors, fraction, allowed, n_components, run, weights)


def preserve_distances(
    data: Any,
    n_components: int = 2,
    *,
    metric: Metric = "euclidean",
    loss: str | Callable[[FloatArray], Distortion] = "absolute",
    max_distances: int = MAX_DISTANCES,
    constraint: str | Constraint = "centered",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    max_memory: int | float | str | None = None,
) -> Problem:
    """The Problem that tries to give pairs the distances they have in the data, as `winkel.MDE(preserve="distances")` does.

    The size of a standardized map is fixed by the constraint. Distances are then scaled such that their root mean
    square equals that of the map, √(2nm/(n−1)) for n rows in m dimensions (section 4.2), so the unit of the data does not matter.

    Parameters
    ----------
    data : array, data frame, matrix of distances, sequence of items, or Graph
        Rows, whose distances are given by `metric`; with metric="precomputed", a symmetric matrix of distances; with a function
        as metric, any items; or a graph, whose distances are lengths of shortest paths (pairs without a path are left out).
    n_components : int, default=2
        Dimension of the map.
    metric : str or callable, default="euclidean"
        A metric of `winkel.graph.knn`, "precomputed", or a symmetric function of two items.
    loss : str or callable, default="absolute"
        A name of `winkel.losses`, or a function that makes a distortion from the vector of original distances.
    max_distances : int, default=50000000
        The largest number of pairs to use; if there are more, this many are drawn at random.
    constraint : {"centered", "standardized"} or Constraint, default="centered"
        Which maps are allowed.
    random_state : int, numpy Generator or None, default=None
        The seed of the drawn pairs.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    max_memory : int, str or None, default=None
        Largest amount of memory to use, in bytes or as text such as "4GB".

    Returns
    -------
    Problem
        Solve it with `problem.solve()`.

    Examples
    --------
    >>> import winkel as wk
    >>> corners = [[0, 0], [0, 3], [4, 0], [4, 3]]
    >>> problem = wk.preserve_distances(corners)
    >>> problem.distortion.deviations
    array([3., 4., 5., 5., 4., 3.])
    >>> problem.average_distortion(corners)
    0.0
    """
    run = Run.of(random_state=random_state, n_jobs=n_jobs, max_memory=max_memory)
    n_components = integer("n_components", n_components, 1)
    make, most = as_loss(loss), integer("max_distances", max_distances, 1)
    allowed = as_constraint(constraint)
    return distance_problem(data, metric, make, most, allowed, n_components, run).problem
