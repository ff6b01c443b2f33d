"""A start from groups of neighbours, which are mapped first; used if the graph of many rows is known but not the rows."""

from __future__ import annotations

import numpy as np

from ...graph import Graph
from ...graph.structure import graph_of_groups, neighbor_groups
from ...problem import Problem, penalties
from ...run import Run
from ...solvers import iterate
from ...solvers.lbfgs import LBFGS
from ...typing import FloatArray
from ..starts import spectral_start

# From GROUPS_FROM rows on, groups of neighbours are mapped first, with this share of the repulsion and this number of iterations.
GROUPS_FROM, GROUPS_SHARE, GROUPS_ITERATIONS = 1000, 1e-4, 100
_GROUP_SPREAD = 0.3  # standard deviation of the rows about their group, in units of the Cauchy penalty


def grouped_start(problem: Problem, graph: Graph, run: Run) -> FloatArray:
    """A start for `neighbor_problem(graph)` with the Cauchy penalty: groups of neighbours, mapped as rows will be.

    A group attracts others as its rows do together, and repels them as its number of rows; its rows start around its place.
    """
    pulls = problem.distortion
    assert isinstance(pulls, penalties.PushAndPull)
    groups = neighbor_groups(graph, run)
    coarse = graph_of_groups(problem.edges, groups, pulls.weights)
    spread = run.stream("around").normal((graph.n, problem.n_components))
    if coarse.n_edges == 0:  # every component is a group
        return spread
    of_groups = Problem(
        coarse.edges,
        penalties.PushAndPull(coarse.weights, pulls.attractive, pulls.repulsive),
        n_items=coarse.n,
        n_components=problem.n_components,
        background=problem.background,
        charges=np.bincount(groups),
        n_jobs=run.n_jobs,
    ).with_background(GROUPS_SHARE)
    start = spectral_start(coarse, problem.n_components, run).astype(np.float32)
    solver = LBFGS(expects_convergence=False)
    found = iterate(solver, of_groups, start, run.quiet(), max_iter=GROUPS_ITERATIONS)
    if found.status.word == "interrupted":
        raise KeyboardInterrupt
    return np.asarray(found.state.Y[groups] + _GROUP_SPREAD * spread)


def attracts_everywhere(problem: Problem) -> bool:
    """Whether every pair attracts; a user's graph may have weights of zero or less."""
    return float(np.min(problem.distortion.weights)) > 0  # type: ignore[attr-defined]
