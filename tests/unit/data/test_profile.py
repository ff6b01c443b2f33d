"""profile: counts of constant columns, duplicate, zero and constant rows, dense and sparse alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import arrays, as_matrix
from winkel.data.profile import Profile, profile

# Rows 0, 2 and 5 are equal (-0.0 is 0.0), rows 1 and 4 are zero; columns 1 and 3 are constant.
X = np.array(
    [
        [1.0, 0.0, 2.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [1.0, -0.0, 2.0, 0.0],
        [4.0, 0.0, 4.0, 0.0],
        [0.0, 0.0, -0.0, 0.0],
        [1.0, 0.0, 2.0, -0.0],
    ]
)
EXPECTED = Profile(n_rows=6, n_columns=4, constant_columns=2, duplicate_rows=3, zero_rows=2, constant_rows=2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("block", [1, 8, 2**18])
def test_dense_counts(dtype, block, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_VALUES", block)
    assert profile(X.astype(dtype)) == EXPECTED


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_sparse_counts(make):
    assert profile(make(X)) == EXPECTED


def test_stored_zeros_do_not_make_rows_different():
    stored = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert profile(stored) == Profile(2, 2, 2, 1, 0, 0)
    assert stored.nnz == 3  # the matrix itself is not changed


def test_full_sparse_columns_and_rows():
    dense = np.array([[2.0, 5.0], [2.0, 2.0]])
    assert profile(sp.csr_array(dense)) == profile(dense) == Profile(2, 2, 1, 0, 0, 1)
    empty = Profile(3, 2, 2, 2, 3, 3)
    assert profile(sp.csr_array((3, 2))) == profile(np.zeros((3, 2))) == empty


def test_the_counts_match_a_plain_count_on_random_data():
    rng = np.random.Generator(np.random.Philox(key=5))
    for _ in range(20):
        values = as_matrix(rng.integers(0, 2, size=(40, 4)))
        assert profile(values).duplicate_rows == 40 - len(np.unique(values, axis=0))
        assert profile(values) == profile(sp.csr_array(values))


def test_notes_tell_the_treatment_that_applies():
    assert Profile(5, 5, 0, 0, 1, 1).notes() == ()
    euclidean = EXPECTED.notes()
    assert [note.split(" have ")[0] for note in euclidean] == ["2 columns", "3 rows"]
    (note,) = Profile(5, 5, 0, 0, 1, 2).notes("cosine")
    assert note.startswith("1 row has only zeros; such rows have distance 0 to each other and 1")
    (note,) = Profile(5, 5, 0, 0, 1, 2).notes("correlation")
    assert note.startswith("2 rows have one value throughout")
