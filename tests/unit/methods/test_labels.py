"""Memberships that lean towards classes: worked out by hand, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.methods.labels import memberships_by_class

P = np.array([[0, 0.8, 0.4, 0], [0.8, 0, 0.2, 0.5], [0.4, 0.2, 0, 1.0], [0, 0.5, 1.0, 0]])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("labels", [[0, 0, 1, -1], [0.5, 0.5, 1.5, np.nan]])
def test_memberships_between_classes_are_less(weight, labels):
    apart = 0.0 if weight == 1 else np.exp(-2.5 / (1 - weight))
    left = P * np.array(
        [
            [1, 1, apart, 1],
            [1, 1, apart, np.exp(-1)],
            [apart, apart, 1, np.exp(-1)],
            [1, np.exp(-1), np.exp(-1), 1],
        ]
    )
    own = left / left.max(axis=1, keepdims=True)
    found = memberships_by_class(sp.csr_array(P), np.array(labels), weight)
    np.testing.assert_allclose(found.toarray(), own + own.T - own * own.T, atol=1e-12)
    assert found.nnz == np.count_nonzero(own + own.T)


def test_a_row_between_other_classes_alone_is_left_without():
    found = memberships_by_class(sp.csr_array(P), np.array([0, 0, 0, 1]), 1.0)
    assert found.toarray()[3].max() == 0
    assert np.isfinite(found.data).all()
