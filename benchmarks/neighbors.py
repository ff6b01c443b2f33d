"""The entry "neighbors": graphs of the k nearest neighbours."""

from __future__ import annotations

from . import quality
from .contestants import Task
from .datasets import CLUSTERS, MNIST_50, MNIST_784, Dataset
from .harness import Arrays, Contestant, Entry
from .truth import nearest

SAMPLE = 1000  # rows whose lists are compared with the exact ones
EXACT_ROWS = 100_000  # beyond which brute force is left out: its time grows with the square of n


def score(dataset: Dataset, task: Task, arrays: Arrays) -> dict[str, float]:
    """Recall of the true neighbours and error of the reported distances, on the sampled rows."""
    X = dataset.load()
    rows, _, distances = nearest(dataset, task.n_neighbors, SAMPLE)
    indices = arrays["indices"][rows]
    return {
        "recall": quality.neighbor_recall(X, rows, distances, indices),
        "distance error": quality.distance_error(X, rows, indices, arrays["distances"][rows]),
    }


def _winkel(name: str, max_rows: int | None = None) -> Contestant:
    return Contestant(f"winkel {name}", f"neighbors:winkel_{name}", ("winkel", "numpy"), "winkel", max_rows)


ENTRY = Entry(
    name="neighbors",
    title="Neighbour graphs, side by side",
    contestants=(
        _winkel("approximate"),
        _winkel("auto"),
        _winkel("exact", max_rows=EXACT_ROWS),
        Contestant("pynndescent", "neighbors:pynndescent", ("pynndescent", "numba", "numpy")),
        Contestant("pynndescent 60", "neighbors:pynndescent_60", ("pynndescent", "numba", "numpy")),
        Contestant("pymde approximate", "neighbors:pymde_approximate", ("pymde", "torch", "numpy")),
        Contestant("pymde exact", "neighbors:pymde_exact", ("pymde", "torch", "numpy"), max_rows=EXACT_ROWS),
        Contestant("hnswlib ef=100", "neighbors:hnswlib_100", ("hnswlib", "numpy")),
        Contestant("hnswlib ef=200", "neighbors:hnswlib_200", ("hnswlib", "numpy")),
        Contestant("faiss flat", "neighbors:faiss_flat", ("faiss-cpu", "numpy"), max_rows=EXACT_ROWS),
        Contestant(
            "sklearn brute", "neighbors:sklearn_brute", ("scikit-learn", "numpy"), max_rows=EXACT_ROWS
        ),
    ),
    reference="winkel approximate",
    timings=("first", "second"),
    datasets=(MNIST_50, MNIST_784, *CLUSTERS),
    quick=("mnist50", "mnist784", "clusters10k"),
    score=score,
    growth=tuple(dataset.name for dataset in CLUSTERS),
    notes=(
        "- *Times* are from the data in memory to the lists of the k nearest rows, without the row itself. The first call includes what is compiled or imported at first use; the second call "
        "is in the same process.\n"
        "- *× winkel* is the median over the rounds of a contestant's time divided by that of `winkel approximate` in the same round. Above 1, "
        "winkel is faster. ≈ compares processor time, where contestants were not run in turn or other processes used the machine.\n"
        f"- *Recall* is the share of the true k nearest on {SAMPLE} sampled rows, compared with brute force in float64, ties counted.\n"
        "- *Distance error* is the largest error of a reported distance divided by the mean distance.\n"
        "- `pynndescent 60` has `max_candidates=60`, as UMAP and PyMDE set it. hnswlib has M=16 and ef_construction=200; compare the "
        "fastest setting of it that reaches 0.99.",
    ),
)
