"""Adversarial data, by name: every generator × every form is one case, and every case goes to every estimator.

`CASES` holds functions without parameters. Data is small; what matters is its shape, scale, ties, type or brokenness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


def _normal(n: int = 24, m: int = 4, seed: int = 0) -> np.ndarray:
    return _rng(seed).normal(size=(n, m))


def _blobs(gap: float = 8.0) -> np.ndarray:
    return _normal(30) + gap * np.eye(4)[np.arange(30) % 3]


def _angles(n: int = 24) -> np.ndarray:
    return np.linspace(0, 2 * np.pi, n, endpoint=False)


def _with(X: np.ndarray, at: tuple[int, int], value: float) -> np.ndarray:
    X = X.copy()
    X[at] = value
    return X


NUMBERS: dict[str, Callable[[], np.ndarray]] = {
    "normal": _normal,
    "blobs": _blobs,
    "blobs far apart": lambda: _blobs(1e7),
    "blobs nearly joined": lambda: _blobs(1.0),
    "equal rows": lambda: np.full((20, 3), 2.5),
    "zeros": lambda: np.zeros((20, 3)),
    "all but one equal": lambda: _with(np.ones((20, 3)), (7, 1), 5.0),
    "all but one zero": lambda: _with(np.zeros((20, 3)), (7, 1), 5.0),
    "twins": lambda: np.repeat(_normal(12), 2, axis=0),
    "twelve copies each": lambda: np.repeat(_normal(3), 12, axis=0),
    "near twins": lambda: np.repeat(_normal(12), 2, axis=0) + 1e-13 * _normal(24, 4, 1),
    "two values": lambda: np.repeat([[0.0, 1.0], [3.0, 2.0]], 12, axis=0),
    "one column": lambda: _normal(24, 1),
    "one column of whole numbers": lambda: np.arange(24.0)[:, None],
    "two rows": lambda: _normal(2),
    "three rows": lambda: _normal(3),
    "four rows": lambda: _normal(4),
    "sixteen rows": lambda: _normal(16),
    "wide": lambda: _normal(10, 200),
    "constant columns": lambda: np.hstack([_normal(24, 2), np.full((24, 2), 7.0)]),
    "rows of zeros": lambda: np.vstack([_normal(20), np.zeros((4, 4))]),
    "constant rows": lambda: np.repeat(_normal(24, 1), 4, axis=1),
    "an outlier": lambda: np.vstack([_normal(24), [[1e9, 0, 0, 0]]]),
    "two outliers": lambda: np.vstack([_normal(24), [[1e9, 0, 0, 0], [-1e9, 0, 0, 0]]]),
    "heavy tails": lambda: _rng(2).standard_cauchy((24, 4)),
    "magnitudes from 1e-30 to 1e30": lambda: _normal() * 10.0 ** np.linspace(-30, 30, 24)[:, None],
    "columns from 1e-20 to 1e20": lambda: _normal() * 10.0 ** np.linspace(-20, 20, 4),
    "an offset of 1e8": lambda: _normal() + 1e8,
    "an offset of 1e15": lambda: _normal() + 1e15,
    "an offset that swallows all": lambda: _normal() + 1e18,
    "a line": lambda: np.outer(np.arange(24.0), [1.0, 2.0, 3.0]),
    "a line with equal steps of 1e-9": lambda: np.outer(1 + 1e-9 * np.arange(24.0), [1.0, 2.0]),
    "a circle": lambda: np.column_stack([np.cos(_angles()), np.sin(_angles())]),
    "a grid": lambda: np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2),
    "corners of a cube": lambda: np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T.copy(),
    "a simplex": lambda: np.eye(20),
    "a scaled simplex": lambda: 1e5 * np.eye(20),
    "antipodes": lambda: np.vstack([_normal(12), -_normal(12)]),
    "one direction": lambda: np.outer(1.0 + np.arange(24), np.ones(3)),
    "opposite directions": lambda: np.outer(np.arange(24) - 11.5, np.ones(3)),
    "whole numbers": lambda: np.round(3 * _normal()),
    "zeros and ones": lambda: (_normal(24, 8) > 0).astype(float),
    "one hot": lambda: np.eye(5)[np.arange(24) % 5],
    "counts": lambda: _rng(3).poisson(0.3, size=(24, 12)).astype(float),
    "negative zeros": lambda: np.where(_normal() > 0, -0.0, 0.0),
    "denormals among ones": lambda: _with(_normal(), (3, 1), 5e-324),
    "largest that is allowed": lambda: _normal() * 1e152,
    "too large": lambda: _normal() * 1e200,
    "too small": lambda: _normal() * 1e-250,
    "two components": lambda: np.vstack([_normal(12), 1e4 + _normal(12, 4, 1)]),
    "ten components of two": lambda: np.repeat(1e3 * np.arange(10.0), 2)[:, None] + _normal(20, 3) * 0.01,
    "a star": lambda: np.vstack([np.zeros((1, 23)), np.eye(23)]),
    "growing steps": lambda: (2.0 ** np.arange(24))[:, None] * np.ones(2),
    "a distance matrix": lambda: np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0))),
}
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "double": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "in units of 1e-140": lambda X: X * 1e-140,
    "column-major, every second row": lambda X: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
}
BROKEN: dict[str, Callable[[], Any]] = {
    "NaN": lambda: _with(_normal(), (2, 1), np.nan),
    "infinity": lambda: _with(_normal(), (2, 1), np.inf),
    "no rows": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((5, 0)),
    "one row": lambda: _normal(1),
    "one dimension": lambda: np.arange(5.0),
    "three dimensions": lambda: np.zeros((4, 3, 2)),
    "a number": lambda: 5,
    "None": lambda: None,
    "text": lambda: "data.csv",
    "rows of text": lambda: [["a", "b"]] * 5,
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "complex": lambda: _normal() + 1j,
    "dates": lambda: np.zeros((5, 2), dtype="datetime64[D]"),
    "objects": lambda: np.full((5, 2), object()),
    "masked": lambda: np.ma.masked_array(_normal(), mask=_normal() > 2),
    "records": lambda: np.zeros(5, dtype=[("a", float), ("b", int)]),
    "a function": lambda: len,
    "a dict": lambda: {"a": 1},
    "a broken CSR": lambda: _broken_csr(),
    "sparse with NaN": lambda: sp.csr_matrix(_with(_normal(), (2, 1), np.nan)),
}
KINDS: dict[str, Callable[[], Any]] = {
    "sparse": lambda: sp.csr_matrix(NUMBERS["counts"]()),
    "sparse, empty": lambda: sp.csr_matrix((20, 5)),
    "sparse, one entry": lambda: sp.csr_matrix(_with(np.zeros((20, 5)), (3, 2), 1.0)),
    "coordinates": lambda: sp.coo_array(NUMBERS["counts"]()),
    "half precision": lambda: _normal().astype(np.float16),
    "bytes": lambda: _rng(1).integers(0, 255, size=(24, 6)).astype(np.uint8),
    "wide integers": lambda: _rng(1).integers(-(2**60), 2**60, size=(24, 4)),
    "booleans": lambda: _normal() > 0,
    "big-endian": lambda: _normal().astype(">f8"),
    "read-only": lambda: _locked(_normal()),
    "a list of lists": lambda: _normal().tolist(),
    "long double": lambda: _normal().astype(np.longdouble),
}


def _broken_csr() -> Any:
    matrix = sp.csr_matrix(_normal())
    matrix.indices = matrix.indices.copy()
    matrix.indices[3] = 10**6
    return matrix


def _locked(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def _formed(make: Callable[[], np.ndarray], form: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
    def case() -> Any:
        with np.errstate(all="ignore"):
            return form(make())

    return case


CASES: dict[str, Callable[[], Any]] = {
    **{
        f"{name}, {how}": _formed(make, form) for name, make in NUMBERS.items() for how, form in FORMS.items()
    },
    **BROKEN,
    **KINDS,
}


def jobs() -> list[tuple[str, str, str]]:
    """Every estimator × every case × every metric that it takes, "euclidean" first; by the names of all three."""
    from ..estimators import instances, make

    takes = [i for i, (name, own) in instances().items() if "metric" in make(name, **own).get_params()]
    return [(instance, case, METRICS[0]) for instance in instances() for case in CASES] + [
        (instance, case, metric) for instance in takes for case in CASES for metric in METRICS[1:]
    ]


METRICS = ("euclidean", "cosine", "correlation", "manhattan", "chebyshev", "hamming", "jaccard")
