"""winkel.algebra against NumPy, which is its oracle up to rounding."""

import numpy as np
import pytest

from winkel import algebra


def normal(*shape, seed=0):
    return np.random.Generator(np.random.Philox(key=seed)).normal(size=shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "k", "m"), [(5, 3, 4), (100, 300, 7), (70, 20, 50), (1, 1, 1), (0, 3, 2), (3, 0, 2)]
)
def test_products(n, k, m, dtype):
    a, b = normal(n, k).astype(dtype), normal(k, m, seed=1).astype(dtype)
    wide, other = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_allclose(algebra.matmul(a, b), wide @ other, atol=1e-11)
    np.testing.assert_allclose(algebra.matmul(a.T, a), wide.T @ wide, atol=1e-11)
    np.testing.assert_allclose(algebra.matmul(a, b[:, 0]), wide @ other[:, 0], atol=1e-11)
    assert algebra.matmul(a, a.T, 3).tobytes() == algebra.matmul(a, a.T).tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 150])
def test_eigenvectors(n):
    a = normal(n, n)
    for matrix in (a + a.T, np.outer(a[0], a[0]), np.zeros((n, n))):
        values, vectors = algebra.eigh(matrix)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-11 * n)
        np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-11 * n)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


@pytest.mark.parametrize("n", [8, 90, 700])  # above 512 rows products are summed by blocks
@pytest.mark.parametrize("kind", ["any", "equal", "pieces"])
def test_few_eigenvectors_of_a_matrix(n, kind):
    a = normal(n, n)
    matrix = a + a.T
    if kind == "equal":  # two eigenvalues, each many times
        basis = np.linalg.qr(a)[0]
        matrix = (basis * np.where(np.arange(n) < n // 2, 1.0, 2.0)) @ basis.T
        matrix = (matrix + matrix.T) / 2
    elif kind == "pieces":
        matrix = np.kron(np.eye(2), matrix[: n // 2, : n // 2])
    count = n // 4
    values, vectors = algebra.eigh(matrix, largest=count)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[-count:], atol=1e-11 * n)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-11 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-12)
    for threads in (2, 3):
        assert algebra.eigh(matrix, threads, largest=count)[1].tobytes() == vectors.tobytes()
    whole = [algebra.eigh(matrix, threads)[1].tobytes() for threads in (1, 3)]
    assert whole[0] == whole[1]


def test_largest_eigenvectors():
    X = normal(300, 150) * np.linspace(1, 3, 150)
    values, vectors = algebra.largest_eigenvectors(X.T @ X, 3)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(X.T @ X)[::-1][:3])
    np.testing.assert_allclose(X.T @ X @ vectors, vectors * values, atol=1e-8)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (50, 8), (4, 4), (8, 1)])
def test_decompositions(shape):
    a = normal(*shape)
    a[:, -1] = a[:, 0]  # of less than full rank
    left, strength, right = algebra.svd(a)
    np.testing.assert_allclose((left * strength) @ right, a, atol=1e-12)
    np.testing.assert_allclose(strength, np.linalg.svd(a)[1], atol=1e-12)
    np.testing.assert_allclose(left.T @ left, np.eye(len(strength)), atol=1e-12)
    basis, triangle = algebra.qr(a)
    np.testing.assert_allclose(basis @ triangle, a, atol=1e-12)


def test_solutions_of_each():
    a, b = normal(6, 4, 9), normal(6, 4, seed=1)
    gram = algebra.each_product(a, a) + np.eye(4)
    np.testing.assert_allclose(algebra.each_solution(gram, b), np.linalg.solve(gram, b[:, :, None])[:, :, 0])
    np.testing.assert_allclose(algebra.solve_positive(gram[0], b[0]), np.linalg.solve(gram[0], b[0]))
    assert algebra.solve_positive(-gram[0], b[0]) is None


def test_functions():
    x = np.linspace(-30, 30, 601)
    np.testing.assert_allclose(algebra.exp(x), np.exp(x), rtol=1e-14)
    np.testing.assert_allclose(algebra.log(x * x + 0.1), np.log(x * x + 0.1), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(algebra.arccos(x / 30), np.arccos(x / 30), atol=1e-15)
    np.testing.assert_allclose(algebra.sin(x), np.sin(x), atol=1e-14)
    np.testing.assert_allclose(algebra.tanh(x), np.tanh(x), rtol=1e-13)
    assert algebra.exp(-800.0) == 0.0
