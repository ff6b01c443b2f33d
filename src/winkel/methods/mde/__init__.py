"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021): items in a few dimensions, so that pairs are distorted little.

    data ──> distinct.py ──> plan.py (Source, Plan) ──> problem.solve ──> Model ──> placement.py (new rows)
             equal rows      what attracts, repels,
             are one item    start, stages, iterations

fit.py        fit, place, extend: what the estimator calls
plan.py       Settings, the user's wishes, checked; Focus, between shape and neighbours; Plan, what is made of them
neighbors.py  neighbours that attract, and what repels; lengths.py  distances and lengths of paths that are preserved
problems.py   preserve_neighbors, preserve_distances: the problems themselves, without an estimator
"""

from .problems import preserve_distances, preserve_neighbors

__all__ = ["preserve_distances", "preserve_neighbors"]
