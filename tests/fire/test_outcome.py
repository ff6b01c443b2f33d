"""Equal rows, starts from which nothing can come, and steps that explode: never a normal status on a map that shows nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import winkel as wk
from winkel.data import as_table
from winkel.errors import DataWarning, InvalidParameterError, MemoryLimitError, NotConvergedWarning
from winkel.estimators.magnitudes import all_equal

from ..estimators import instances, make, rows

INSTANCES = instances()
X = rows(36, 4)
quiet = pytest.mark.filterwarnings(
    "ignore::winkel.errors.DataWarning", "ignore::winkel.errors.NotConvergedWarning"
)


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.filterwarnings("ignore:perplexity")
@pytest.mark.filterwarnings("ignore:n_clusters")
def test_equal_rows_stand_in_one_place(instance):
    name, own = INSTANCES[instance]
    equal = np.full((20, 3), 2.5)
    with pytest.warns(DataWarning, match="all rows are equal"):
        made = make(name, **own).fit(equal)
    assert np.ptp(made.embedding_, axis=0).max() == 0
    assert made.status_.word == "converged"
    assert made.status_.sentence.startswith("All rows are equal")
    assert made.transform(equal[:2]).tobytes() == made.embedding_[:2].tobytes()
    assert np.isfinite(made.transform(rows(4, 3))).all()


@quiet
@pytest.mark.parametrize("instance", ["MDE", "LVM", "TSNE", "UMAP"])
def test_distances_that_are_all_zero(instance):
    name, own = INSTANCES[instance]
    made = make(name, **own, metric="precomputed").fit(np.zeros((12, 12)))
    assert np.ptp(made.embedding_, axis=0).max() == 0


def test_equal_rows_are_known():
    assert all_equal(as_table(np.ones((5, 2))))
    assert not all_equal(as_table([[1.0, 2], [1, 2], [1, 3]]))
    assert all_equal(as_table(sp.csr_matrix(np.tile([0.0, 3, 1], (4, 1)))))
    assert all_equal(as_table(sp.csr_matrix((4, 3))))
    assert not all_equal(as_table(sp.csr_matrix([[0.0, 3], [3, 0]])))
    assert not all_equal(as_table(sp.csr_matrix([[0.0, 3], [0, 0]])))


@pytest.mark.filterwarnings("ignore:perplexity")
@pytest.mark.parametrize(
    "instance", [i for i in INSTANCES if i.startswith(("AttractRepel", "LVM", "TSNE", "UMAP"))]
)
def test_a_start_in_one_place_is_refused(instance):
    name, own = INSTANCES[instance]
    with pytest.raises(
        InvalidParameterError, match="init must be an array whose rows are not all in one place"
    ):
        make(name, **own, init=np.zeros((len(X), 2))).fit(X)


@pytest.mark.filterwarnings("ignore:perplexity", "ignore:PCA by forces")
@pytest.mark.parametrize(
    "instance",
    [
        i
        for i in INSTANCES
        if i.startswith(("AttractRepel", "LVM", "MDE", "TSNE", "UMAP")) and i != "MDE-standardized"
    ],
)
def test_an_exploded_map_has_failed(instance):
    name, own = INSTANCES[instance]
    far = 1e30 * np.random.Generator(np.random.Philox(key=3)).normal(size=(len(X), 2))
    with pytest.warns(NotConvergedWarning, match="exploded"):
        made = make(name, **own, init=far).fit(X)
    # Twelve iterations bring no solver back from there; with more, PCA by forces would come back.
    assert np.ptp(made.embedding_, axis=0).max() > 1e20
    assert np.isfinite(made.embedding_).all()
    assert made.status_.word == "failed"
    assert made.status_.sentence.startswith("The map exploded")


def test_steps_that_are_far_too_long():
    with pytest.warns(NotConvergedWarning, match="exploded"):
        made = make("AttractRepel", objective="umap", solver="adam", learning_rate=1e30).fit(X)
    assert made.status_.word == "failed"


def test_a_collapsed_map_has_failed():
    with pytest.warns(NotConvergedWarning, match="collapsed"):
        made = make("KDS", n_atoms=1).fit(X)
    assert made.status_.word == "failed"


@quiet
def test_a_system_without_memory_is_told(monkeypatch):
    def no_memory(*args):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("winkel.estimators.mde.fit", no_memory)
    with pytest.raises(MemoryLimitError, match=r"MDE ran out of memory \(Unable to allocate 7 TiB\)"):
        wk.MDE(random_state=0).fit(X)
