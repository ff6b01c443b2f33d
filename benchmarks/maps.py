"""The entry "maps": whole pipelines from the data to a map."""

from __future__ import annotations

from . import quality
from .contestants import Task
from .datasets import DIGITS, MNIST_50, MNIST_784, Dataset
from .harness import Arrays, Contestant, Entry
from .truth import nearest

SAMPLE = 5000  # rows on which trustworthiness and recall are measured


def score(dataset: Dataset, task: Task, arrays: Arrays) -> dict[str, float]:
    """Trustworthiness, recall of the data's neighbours, strays and, where there are labels, 10-NN accuracy."""
    Y, k = arrays["Y"], task.n_neighbors
    rows, lists, _ = nearest(dataset, k, SAMPLE)
    found = {
        "trustworthiness": quality.trustworthiness(dataset.load(), Y, rows, k),
        "neighbour recall": quality.map_recall(lists, Y, rows),
        "strays": quality.strays(Y),
    }
    labels = dataset.labels()
    if labels is not None:
        found["10-NN accuracy"] = quality.label_accuracy(Y, labels, quality.n_train(len(Y)))
    return found


def _winkel(name: str, function: str) -> Contestant:
    return Contestant(f"winkel {name}", f"maps:winkel_{function}", ("winkel", "numpy"), "winkel")


ENTRY = Entry(
    name="maps",
    title="Whole maps, side by side",
    contestants=(
        _winkel("MDE", "mde"),
        _winkel("MDE 3-D", "mde_in_space"),
        _winkel("MDE sampled", "mde_sampled"),
        _winkel("LVM", "lvm"),
        _winkel("t-SNE", "tsne"),
        _winkel("two-kernel LLE", "lle"),
        _winkel("UMAP", "umap"),
        Contestant("pymde", "maps:pymde", ("pymde", "torch", "numpy")),
        Contestant("umap", "maps:umap", ("umap-learn", "pynndescent", "numba", "numpy")),
        Contestant("umap seeded", "maps:umap_seeded", ("umap-learn", "pynndescent", "numba", "numpy")),
        Contestant("pacmap", "maps:pacmap", ("pacmap", "faiss-cpu", "numba", "numpy")),
        Contestant("pacmap seeded", "maps:pacmap_seeded", ("pacmap", "faiss-cpu", "numba", "numpy")),
        Contestant("openTSNE", "maps:opentsne", ("openTSNE", "numpy")),
    ),
    reference="winkel MDE",
    timings=("first", "second"),
    datasets=(MNIST_50, MNIST_784, DIGITS),
    quick=("mnist50",),
    score=score,
    notes=(
        "Time is that from the data in memory to the map, of two dimensions unless named otherwise. `× winkel` is the median over "
        "the rounds of a contestant's time over that of `winkel MDE` in the same round: above 1, winkel is faster. "
        "What is compiled or imported at first use is in the first call, and a fresh process takes that and the import; the "
        "second call is in the same process. UMAP uses more than one thread only without a seed, and PaCMAP searches neighbours on one "
        "thread with a seed; both ways are shown. winkel's t-SNE, two-kernel LLE and UMAP are `AttractRepel`.",
        f"Trustworthiness and neighbour recall at k on {SAMPLE} sampled rows against all others; accuracy "
        "of 10 map neighbours on the last seventh of the rows (MNIST's test rows), voted by the rows "
        "before it; strays: the extent over that of the middle 99 %.",
    ),
)
