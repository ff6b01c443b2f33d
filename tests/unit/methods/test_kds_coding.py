"""Codes on the simplex: optimal over all atoms, row by row, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import _core
from winkel.errors import InvalidParameterError
from winkel.methods.kds import Coder, decode, encode
from winkel.methods.kds.coding import CODERS
from winkel.run import Run


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def problem(n=150, m=120, d=20, seed=0, dtype=np.float64):
    draw = rng(seed)
    atoms = draw.normal(size=(m, d)) + 3.0
    rows = draw.dirichlet(np.full(m, 0.05), size=n) @ atoms + 0.3 * draw.normal(size=(n, d))
    return rows.astype(dtype), atoms


def gradient(x, y, atoms, locality):
    return atoms @ (x @ atoms - y) + locality * np.sum((y - atoms) ** 2, axis=1)


def value(x, y, atoms, locality):
    return 0.5 * np.sum((y - x @ atoms) ** 2) + locality * x @ np.sum((y - atoms) ** 2, axis=1)


@pytest.mark.parametrize("method", CODERS)
@pytest.mark.parametrize("locality", [1e-4, 0.01, 0.3, 3.0])
def test_kkt_of_the_whole_problem(method, locality):
    # Many more atoms than a row looks at first, and weak locality, so that the first look is not enough.
    rows, atoms = problem()
    codes = encode(rows, atoms, Coder(locality, method))
    X = codes.matrix.toarray()
    for x, y, told, gap in zip(X, rows, codes.objective, codes.gap):
        g = gradient(x, y, atoms, locality)
        reached = value(x, y, atoms, locality)
        assert x @ g - g.min() <= 1e-7 * reached + 1e-10
        assert gap == pytest.approx(max(0.0, x @ g - g.min()), abs=1e-9)
        assert told == pytest.approx(reached, rel=1e-9)


def test_both_coders_find_the_same_codes():
    rows, atoms = problem(n=60)
    one, other = (encode(rows, atoms, Coder(0.1, method)).matrix.toarray() for method in CODERS)
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("method", CODERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_alone_and_any_threads_give_the_same_bytes(method, dtype):
    rows, atoms = problem(n=101, d=70, dtype=dtype)
    coder = Coder(0.05, method)
    together = encode(rows, atoms, coder)
    for jobs in (2, 3):
        again = encode(rows, atoms, coder, Run(n_jobs=jobs))
        assert again.matrix.data.tobytes() == together.matrix.data.tobytes()
        assert again.matrix.indices.tobytes() == together.matrix.indices.tobytes()
        assert again.objective.tobytes() == together.objective.tobytes()
    dense = together.matrix.toarray()
    for i in (0, 7, 47, 48, 100):
        alone = encode(rows[i : i + 1], atoms, coder)
        assert alone.matrix.toarray().tobytes() == dense[i].tobytes()
    backwards = encode(rows[::-1], atoms, coder).matrix.toarray()[::-1]
    assert backwards.tobytes() == dense.tobytes()


def test_single_precision_is_close_to_double():
    rows, atoms = problem(dtype=np.float32)
    single = encode(rows, atoms, Coder(0.5))
    double = encode(rows.astype(np.float64), atoms, Coder(0.5))
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-5)
    np.testing.assert_allclose(single.matrix.toarray(), double.matrix.toarray(), atol=1e-3)


@pytest.mark.parametrize("method", CODERS)
def test_a_start_changes_nothing_but_the_way(method):
    rows, atoms = problem()
    coder = Coder(0.1, method)
    cold = encode(rows, atoms, coder)
    moved = atoms + 0.05 * rng(3).normal(size=atoms.shape)
    for start in (cold.matrix, encode(rows, atoms[::-1], coder).matrix):
        warm = encode(rows, moved, coder, start=start)
        np.testing.assert_allclose(warm.objective, encode(rows, moved, coder).objective, rtol=1e-7)


@pytest.mark.parametrize("method", CODERS)
def test_special_atoms(method):
    rows, atoms = problem(n=30, m=25, d=4)
    coder = Coder(0.2, method)
    plain = encode(rows, atoms, coder)
    # Twins are as good as one; a row that is an atom is coded by it alone; one atom codes everything.
    twins = encode(rows, np.vstack([atoms, atoms]), coder)
    np.testing.assert_allclose(twins.objective, plain.objective, rtol=1e-7)
    own = encode(atoms, atoms, coder)
    np.testing.assert_allclose(own.matrix.toarray(), np.eye(25), atol=1e-12)
    np.testing.assert_allclose(own.objective, 0.0, atol=1e-9)
    only = encode(rows, atoms[:1], coder)
    np.testing.assert_array_equal(only.matrix.toarray(), np.ones((30, 1)))
    same = encode(rows, np.repeat(atoms[:1], 5, axis=0), coder)
    np.testing.assert_allclose(same.objective, only.objective)


def test_place_and_scale_of_the_data_do_not_matter():
    rows, atoms = problem(n=40, m=30, d=5)
    plain = encode(rows, atoms, Coder(0.3)).matrix.toarray()
    far = encode(rows + 1e5, atoms + 1e5, Coder(0.3)).matrix.toarray()
    np.testing.assert_allclose(far, plain, atol=1e-5)
    for scale in (1e-20, 1e20):
        scaled = encode(rows * scale, atoms * scale, Coder(0.3)).matrix.toarray()
        np.testing.assert_allclose(scaled, plain, atol=1e-9)


def test_more_locality_means_nearer_and_fewer_atoms():
    rows, atoms = problem()
    sizes = [encode(rows, atoms, Coder(locality)).matrix.nnz for locality in (0.001, 0.1, 10.0, 1e4)]
    assert sizes == sorted(sizes, reverse=True)
    last = encode(rows, atoms, Coder(1e6)).matrix.toarray()
    nearest = ((rows[:, None] - atoms) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(last.argmax(axis=1), nearest)


def test_decoding_is_the_combination():
    rows, atoms = problem(n=10)
    codes = encode(rows, atoms, Coder(0.01)).matrix
    np.testing.assert_allclose(decode(codes, atoms), codes.toarray() @ atoms)
    assert decode(codes[[3]], atoms).tobytes() == decode(codes, atoms)[3].tobytes()


def test_huge_points_are_projected():
    points = np.array([[1e30, 0.0, 1e30], [-1e30, -1e30, 5.0], [1e-300, 0.0, 0.0]])
    np.testing.assert_allclose(
        _core.project_simplex(points), [[0.5, 0, 0.5], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]]
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"locality": 0}, "locality"),
        ({"locality": -1.0}, "locality"),
        ({"locality": np.inf}, "locality"),
        ({"locality": "much"}, "locality"),
        ({"locality": 1.0, "tol": 0.0}, "tol"),
        ({"locality": 1.0, "method": "lasso"}, "'projected_gradient', 'frank_wolfe'; got 'lasso'"),
    ],
)
def test_misused_settings(settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        Coder(**settings)


def test_the_core_checks_sizes():
    rows, atoms = np.zeros((3, 2)), np.zeros((4, 2))
    none = (np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
    arguments = (1.0, 0, 1e-8, 10)
    with pytest.raises(ValueError, match="fit each other"):
        _core.code_simplex(rows, np.zeros(2), atoms, np.zeros((3, 3)), *arguments, *none)
    bad = (np.array([0, 1, 1, 1]), np.array([9], np.int32), np.ones(1))
    with pytest.raises(ValueError, match="not a CSR matrix"):
        _core.code_simplex(rows, np.zeros(2), atoms, np.zeros((4, 4)), *arguments, *bad)
    with pytest.raises(ValueError, match="not a CSR matrix"):
        _core.weighted_row_sums(np.array([0, 1]), np.array([3], np.int32), np.ones(1), rows, np.zeros(2))
    with pytest.raises(ValueError, match="at least one"):
        _core.project_simplex(np.zeros((2, 0)))
