"""How far maps can be trusted: scores of a whole map, of each point, of a map made again, of several side by side.

    X, map ──> Measured, Context ──> scores ──> Faithfulness, Comparison, Tuning
               context.py            scores.py  faithfulness.py, compare.py, tune.py

`registry.py` says what a score is and knows all of them; `scores.py` has winkel's own, each a function of a Context.
`context.py` computes what scores ask for at most once, from `sources.py` (rows against all rows), `ranks.py` (one pass over
the measured rows), `angles.py`, `classes.py` (labels) and `baseline.py` (principal components). `indicatrix.py` judges
each point; `fits.py`, `stability.py` and `null_test.py` (with `density.py`) make maps again; `similarity.py` compares two maps.
"""
