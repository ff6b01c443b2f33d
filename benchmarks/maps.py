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
        "- *Times* are from the data in memory to the map, of two dimensions unless named otherwise. The first call includes what is compiled or imported at first use; the second call "
        "is in the same process.\n"
        "- *× winkel* is the median over the rounds of a contestant's time divided by that of `winkel MDE` in the same round. Above 1, "
        "winkel is faster. ≈ compares processor time, where contestants were not run in turn or other processes used the machine.\n"
        "- *Seeds and threads.* UMAP uses more than one thread only without a seed, and PaCMAP searches neighbours on one thread with a "
        "seed; both are shown with and without one. winkel's t-SNE, two-kernel LLE and UMAP are `AttractRepel`.\n"
        f"- *Trustworthiness* and *neighbour recall* at k compare {SAMPLE} sampled rows with all others.\n"
        "- *Accuracy* is that of 10 map neighbours on the last seventh of the rows (MNIST's test rows), with the rows before it as voters.\n"
        "- *Strays* is the map's extent divided by that of its middle 99 %.",
    ),
)
