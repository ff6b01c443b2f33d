"""For any rows: the join finds the entries of S, and products with Z are those of the dense matrix."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from winkel.errors import DataWarning
from winkel.methods.tsm.factors import Factors
from winkel.methods.tsm.matching import DenseMatching, Matching
from winkel.methods.tsm.similarity import similarities
from winkel.run import Run


@settings(max_examples=40)
@given(
    n=st.integers(2, 120),
    m=st.integers(1, 9),
    d=st.integers(1, 6),
    tau=st.floats(0.05, 0.95),
    jobs=st.integers(1, 3),
    seed=st.integers(0, 10_000),
)
def test_products_with_z(n, m, d, tau, jobs, seed):
    rng = np.random.Generator(np.random.Philox(key=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        S, rows = similarities(rng.normal(size=(n, m)), tau, Run(n_jobs=jobs))
    r = np.linalg.norm(rows, axis=1)
    exact = np.maximum(0, rows @ rows.T - tau * np.outer(r, r))
    assert abs(S.dense() - exact).max() <= 2e-6 * r.max() ** 2
    basis, values = rng.normal(size=(S.n, d)), rng.normal(size=d)
    Z, delta = DenseMatching(S.dense(), S.total, tau).match((basis * values) @ basis.T)
    V = rng.normal(size=(S.n, d))
    found = Matching(S, Run(n_jobs=jobs)).product(Factors(basis, values), V)
    size = np.abs(Z).max() * np.abs(V).sum(axis=0).max()
    assert np.abs(found.ZV - Z @ V).max() <= 1e-5 * size
    assert abs(found.delta - delta) <= 1e-5 * np.abs(Z).max()
