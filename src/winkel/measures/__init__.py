"""How far maps can be trusted: scores of a whole map, of each point, of repeated maps, and of several maps side by side.

    X, map ──> Measured, Context ──> scores ──> Faithfulness, Comparison, Tuning
               context.py            scores.py  faithfulness.py, compare.py, tune.py

`registry.py` defines what a score is and lists all scores; `scores.py` has winkel's own, each a function of a Context.
`context.py` computes everything that scores need, at most once, from `sources.py` (rows compared with all rows), `ranks.py` (one pass over
the measured rows), `angles.py`, `classes.py` (labels) and `baseline.py` (principal components). `indicatrix.py` evaluates
each point; `fits.py`, `stability.py` and `null_test.py` (with `density.py`) repeat maps; `similarity.py` compares two maps.
"""
