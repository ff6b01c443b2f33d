"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021): items in a few dimensions, such that pairs are distorted little.

    data ──> distinct.py ──> plan.py (Source, Plan) ──> problem.solve ──> Model ──> placement.py (new rows)
             equal rows      what attracts, repels,
             are one item    start, stages, iterations

fit.py        fit, place, extend: the functions that the estimator calls
plan.py       Settings, the checked parameters; Focus, between shape and neighbours; Plan, the decisions for one fit
neighbors.py  attraction of neighbours, and repulsion; lengths.py  distances and lengths of paths to preserve
problems.py   preserve_neighbors, preserve_distances: the problems themselves, without an estimator
"""

from .problems import preserve_distances, preserve_neighbors

__all__ = ["preserve_distances", "preserve_neighbors"]
