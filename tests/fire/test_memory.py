"""Forecasts of memory against measured peaks, and the limit that is kept. `make fire` measures a grid of sizes for every estimator."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from winkel.data import as_table
from winkel.errors import MemoryLimitError
from winkel.graph import neighbor_graph
from winkel.methods.forces.fit import _listed_together
from winkel.methods.forces.objectives.lle import Reconstruction
from winkel.run import Run

from ..estimators import instances, make, rows
from .child import ENVIRONMENT, ROOT
from .faults import _limited


def long_crowd(n):
    """A long thin crowd, whose spectral start is handed over to multigrid."""
    X = 0.3 * np.random.Generator(np.random.Philox(key=2)).normal(size=(n, 4))
    X[:, 0] += np.linspace(0, n / 40, n)
    return X


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_forecasts_are_near_the_peaks_and_the_limit_is_kept():
    done = subprocess.run(
        [sys.executable, "-m", "tests.fire.memory", "--quick"], cwd=ROOT, env=ENVIRONMENT, text=True,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("MB") >= 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("instance", instances())
def test_work_beyond_the_limit_is_refused_before_it_begins(instance):
    name, own = instances()[instance]
    seen: list[object] = []
    X = rows(400, 6)
    forecast = make(name, **own)._forecast(as_table(X))
    assert forecast > 0
    with pytest.raises(MemoryLimitError, match=f"{name} is forecast to need"):
        make(name, **own, max_memory=forecast - 1, callbacks=[seen.append]).fit(X)
    assert not seen
    assert make(name, **own, max_memory=forecast + 1, callbacks=[seen.append]).fit(X).n_iter_ > 0
    more = make(name, **own)._forecast(as_table(rows(4000, 6)))
    assert more > forecast


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set above what /proc says is in use")
@pytest.mark.parametrize("what", ["page", "report", "table"])
def test_what_runs_out_of_memory_while_it_writes_says_so_and_leaves_the_old_file(what):
    assert _limited(what, 8_000_000) == "refused"


def test_the_start_of_umap_is_in_its_forecast():
    """Spectral, which takes more than that by principal components, and no dense copy of sparse rows."""
    X = rows(40000, 3)
    by_pca, usual, spectral = (
        make("UMAP", init=init, n_components=3)._forecast(as_table(X)) for init in ("pca", "auto", "spectral")
    )
    assert by_pca < usual == spectral
    sparse = sp.random(2000, 20000, 0.001, "csr", random_state=0)
    assert make("UMAP")._forecast(as_table(sparse)) < 8 * sparse.shape[0] * sparse.shape[1]


def test_umap_forecasts_the_largest_grid_in_the_plane():
    """Which grows with the map, however it began; in space there is none."""
    X = as_table(rows(20000, 3))
    flat, deep = (make("UMAP", init="pca", n_components=d)._forecast(X) for d in (2, 3))
    assert flat > deep + 20000 * 56 * 8


def test_umap_forecasts_by_how_many_rows_list_each_other():
    """On a line nearly all do, so that there are fewer pairs than in many dimensions."""
    line, crowd = rows(6000, 1), rows(6000, 30)
    few, many = (make("UMAP", n_neighbors=40, n_components=3)._forecast(as_table(X)) for X in (line, crowd))
    assert many > 1.1 * few


@pytest.mark.filterwarnings("ignore")
def test_umap_asks_for_multigrid_before_it_takes_it():
    """As LVM does, below: of a long thin crowd."""
    pytest.importorskip("pyamg")
    X = long_crowd(9000)
    umap = make("UMAP", n_neighbors=40, n_components=3, max_iter=2)
    forecast = int(umap._forecast(as_table(X)))
    with pytest.raises(MemoryLimitError, match="by multigrid is forecast to need"):
        umap.set_params(max_memory=forecast + 1).fit(X)
    assert umap.set_params(max_memory=2 * forecast).fit(X).n_iter_ == 2


def test_kds_forecasts_by_the_atoms_that_rows_use():
    """Rows that are mixtures of all atoms have longer codes than rows that lie at one atom each."""
    rng = np.random.Generator(np.random.Philox(key=1))
    corners = np.eye(12)[np.arange(40000) % 12] + 0.001 * rng.normal(size=(40000, 12))
    mixed = rng.dirichlet(np.full(12, 2.0), size=40000)
    short, long = (make("KDS", locality=1e-3)._forecast(as_table(X)) for X in (corners, mixed))
    assert long - short > 40000 * 12  # the bytes of one more atom a row, at least


def test_lvm_forecasts_by_the_vectors_that_its_start_holds():
    """As many for one dimension as for three, and eight more from four on."""
    X = as_table(rows(20000, 5))
    one, three, four = (make("LVM", n_components=d)._forecast(X) for d in (1, 3, 4))
    assert one == three
    assert four - three >= 20000 * 8 * 8


@pytest.mark.filterwarnings("ignore")
def test_lvm_asks_for_multigrid_before_it_takes_it():
    """A long thin crowd, whose start is handed over to multigrid, which takes more than other starts with so many neighbours."""
    pytest.importorskip("pyamg")
    X = long_crowd(4000)
    lvm = make("LVM", n_neighbors=40, max_iter=2)
    forecast = int(lvm._forecast(as_table(X)))
    with pytest.raises(MemoryLimitError, match="by multigrid is forecast to need"):
        lvm.set_params(max_memory=forecast + 1).fit(X)
    assert lvm.set_params(init="random").fit(X).n_iter_ == 2
    assert lvm.set_params(init="spectral", max_memory=2 * forecast).fit(X).n_iter_ == 2


@pytest.mark.parametrize("dimensions", [2, 12])
def test_lle_forecasts_by_how_many_rows_stand_in_one_list(dimensions):
    """More in many dimensions; by two samples nearly as many as in the lists of all rows, which are asked for before they are taken."""
    X, k = as_table(rows(9000, dimensions)), 12
    index = np.asarray(neighbor_graph(X, k, Run.of(random_state=0, n_jobs=1)).knn_indices)
    W = np.full(index.shape, 1 / k)
    pairs = Reconstruction.of(index, W, Run.of(random_state=0)).repulsion.nnz
    assert 1.0 < _listed_together(X, k, "euclidean") / (pairs / 9000) < 1.15
    with pytest.raises(MemoryLimitError, match=f"of which {pairs} pairs stand in one list"):
        Reconstruction.of(index, W, Run.of(random_state=0, max_memory=50 * pairs))
