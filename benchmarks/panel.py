"""The entry "panel": maps of unlike data by winkel and its peers, at every scale."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from . import quality
from .contestants import Task
from .datasets import DIGITS, Dataset, mnist_labels, mnist_pixels
from .harness import Arrays, Contestant, Entry
from .truth import nearest

SAMPLE = 1000
ROWS = 15_000  # of data sets that have more
FEWER, FEWEST = (
    5000,
    2000,
)  # rows up to which contestants take part whose time or memory grows with the square of n


def score(dataset: Dataset, task: Task, arrays: Arrays) -> dict[str, float]:
    """Every scale from the nearest rows to the whole, accuracy where there are labels, tearing and strays."""
    Y, X = np.asarray(arrays["Y"], dtype=np.float64), dataset.load()
    rows = quality.sample_rows(len(X), SAMPLE)
    found = quality.all_scales(X, Y, rows, metric=dataset.metric)
    labels = dataset.labels()
    if labels is not None:
        order = np.random.Generator(np.random.Philox(key=7)).permutation(len(Y))
        found["10-NN accuracy"] = quality.label_accuracy(Y[order], labels[order], quality.n_train(len(Y)))
    sample, lists, _ = nearest(dataset, task.n_neighbors, SAMPLE)
    return found | quality.tearing(lists, sample, Y) | {"strays": quality.strays(Y)}


@cache
def archive(name: str) -> dict[str, np.ndarray]:
    """The arrays of NAME.npz in the folder WINKEL_DATA."""
    folder = os.environ.get("WINKEL_DATA")
    if not folder:
        raise SystemExit("the panel reads its data from the folder WINKEL_DATA, which is not set.")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


@cache
def chosen(n: int) -> np.ndarray:
    """Numbers of the ROWS rows that are taken of n, the same for data and labels."""
    return np.sort(np.random.Generator(np.random.Philox(key=n)).permutation(n)[:ROWS])


def thinned(values: np.ndarray) -> np.ndarray:
    return values if len(values) <= ROWS else values[chosen(len(values))]


def of_archive(name: str, file: str, description: str, rows: int, *, labelled: bool = False) -> Dataset:
    """A data set of WINKEL_DATA, at most ROWS of it."""

    def build() -> np.ndarray:
        arrays = archive(file)
        X = arrays["X"][arrays["usable"]] if "usable" in arrays else arrays["X"]
        return thinned(X.reshape(len(X), -1)).astype(np.float32)

    return Dataset(
        name,
        description,
        min(rows, ROWS),
        build,
        (lambda: thinned(archive(file)["y"])) if labelled else None,
    )


def swiss_roll() -> np.ndarray:
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(10_000, random_state=0)[0].astype(np.float32)


@cache
def unequal_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Twelve Gaussian blobs in 20 dimensions, their widths from 0.2 to 3 and their sizes from 50 to 1 500."""
    random = np.random.Generator(np.random.Philox(key=12))
    sizes = random.permutation(np.geomspace(50, 1500, 12)).astype(int)
    centers, widths = 6 * random.normal(size=(12, 20)), np.geomspace(0.2, 3, 12)
    y = np.repeat(np.arange(12), sizes)
    return (centers[y] + widths[y, None] * random.normal(size=(len(y), 20))).astype(np.float32), y


def coauthors() -> np.ndarray:
    """Distances along the largest component of a network of co-authors (arXiv, general relativity).

    An edge is 2 − J long, J being the share of common co-authors (Jaccard's, each with themselves): edges of length one would leave
    nothing but ties.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components, shortest_path

    ends = archive("coauthorship_snap")["ca_GrQc"].T
    n = int(ends.max()) + 1
    links = csr_matrix((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    links = (
        (links + links.T + csr_matrix((np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n))) > 0
    ).astype(float)
    piece = connected_components(links)[1]
    rows = np.flatnonzero(piece == np.bincount(piece).argmax())
    links = links[rows][:, rows]
    common, size = (links @ links).multiply(links).tocoo(), np.asarray(links.sum(axis=1)).ravel()
    length = 2 - common.data / (size[common.row] + size[common.col] - common.data)
    lengths = csr_matrix((length, (common.row, common.col)), shape=links.shape)
    lengths.setdiag(0)
    lengths.eliminate_zeros()
    return shortest_path(lengths, directed=False).astype(np.float32)


PANEL = (
    DIGITS,
    Dataset(
        "mnist", "MNIST, raw pixels", ROWS, lambda: thinned(mnist_pixels()), lambda: thinned(mnist_labels())
    ),
    of_archive("coil20", "coil20_32x32", "20 objects on a turntable", 1440, labelled=True),
    of_archive("mammoth", "mammoth_3d_50k", "the surface of a mammoth", 50_000),
    Dataset("swissroll", "a rolled-up plane", 10_000, swiss_roll),
    of_archive("pbmc3k", "scrna_pbmc3k_pca50", "single cells of blood", 2638, labelled=True),
    of_archive("covid", "scrna_covid_balf3_pca50", "single cells of lungs", 3724, labelled=True),
    of_archive("cytof", "cytof_bcrxl_173k", "mass cytometry", 172_791),
    of_archive("counties", "us_counties_acs2017", "US counties, census figures", 3139),
    of_archive("words", "words_glove6b_100d_30k", "word vectors", 30_000),
    Dataset("coauthors", "co-authors, distances along their network", 4158, coauthors, metric="precomputed"),
    Dataset(
        "blobs",
        "blobs of unequal density",
        len(unequal_blobs()[1]),
        lambda: unequal_blobs()[0],
        lambda: unequal_blobs()[1],
    ),
)


def labelled() -> list[Dataset]:
    """The data sets with labels; not the blobs, which are apart on every map."""
    return [d for d in PANEL if d.name != "blobs" and d.labels() is not None]


def _winkel(name: str, function: str) -> Contestant:
    return Contestant(f"winkel {name}", f"maps:winkel_{function}", ("winkel", "numpy"), "winkel")


def _scikit_learn(name: str, function: str, max_rows: int) -> Contestant:
    return Contestant(
        f"scikit-learn {name}", f"maps:sklearn_{function}", ("scikit-learn", "numpy"), max_rows=max_rows
    )


HIGHER = (
    "recall 15", "recall 50", "recall 150", "R_NX AUC", "trustworthiness", "continuity", "distance correlation", "10-NN accuracy",
)  # fmt: skip
LOWER = ("links cut", "torn pieces", "strays")
NEAREST = "t-SNE spends all of its attraction on the nearest rows. The default spends a part of it on wider neighbourhoods, which R_NX AUC rewards, and keeps the mammoth whole."
LOOSE = "Methods that attract strongly hold rows together, also those that do not belong together. They cut fewer links and lose the nearest neighbours instead."
# Why a peer may be ahead in a column: a sentence of ours beside the counts, which are made from the table.
COMMENTS = {
    "first call s": "These methods take a fixed number of cheap steps over sampled pairs or triples, or solve one eigenproblem. On few rows that is less "
    "work than a repulsion between all pairs.",
    "second call s": "as for the first call, but without what is loaded or compiled at first use.",
    "recall 15": NEAREST,
    "recall 50": NEAREST,
    "recall 150": "In the smaller data sets, 150 rows are a whole group. Methods that pack groups tightly get them right as groups. The default attracts within a "
    "narrower surrounding than t-SNE does.",
    "R_NX AUC": 'The default keeps a connected surface such as the mammoth in one piece, at the price of some neighbours. `focus="neighbors"` tears it '
    "as t-SNE does.",
    "trustworthiness": NEAREST,
    "continuity": LOOSE,
    "distance correlation": "Methods that start from principal components and hardly leave them, or that preserve distances (MDS, Isomap), keep the "
    'large distances. The default preserves neighbours; `preserve="distances"` is for this score. On a rolled-up plane '
    "the score counts distances straight through the roll, which a flat map should not keep.",
    "10-NN accuracy": "This is decided by a seventh of the rows; on digits and COIL-20 one row is 0.4 to 0.5 points (`labels.md` judges all rows). On COIL-20 "
    "the default keeps more of the 15 nearest images, some of which are of other objects.",
    "links cut": LOOSE,
    "torn pieces": LOOSE,
    "strays": "Tight groups have hard edges. A soft edge reaches a few percent beyond the middle 99 %.",
    "peak MB": "On few rows most of winkel's peak is due to imports: importing scikit-learn also imports pandas and pyarrow, which are in winkel's environment but "
    "not in that of the other packages. `over import MB` leaves imports out.",
}
ENTRY = Entry(
    name="panel",
    title="Varied data, at every scale",
    contestants=(
        _winkel("MDE", "mde"),
        _winkel("t-SNE", "tsne"),
        _winkel("two-kernel LLE", "lle"),
        Contestant("openTSNE", "maps:opentsne", ("openTSNE", "numpy")),
        Contestant("umap seeded", "maps:umap_seeded", ("umap-learn", "pynndescent", "numba", "numpy")),
        Contestant("pacmap seeded", "maps:pacmap_seeded", ("pacmap", "faiss-cpu", "numba", "numpy")),
        Contestant("trimap", "maps:trimap", ("trimap", "numba", "numpy")),
        Contestant("pymde", "maps:pymde", ("pymde", "torch", "numpy")),
        Contestant("phate", "maps:phate", ("phate", "numpy")),
        Contestant("torchdr umap", "maps:torchdr_umap", ("torchdr", "torch", "numpy"), max_rows=FEWER),
        _scikit_learn("t-SNE", "tsne", FEWER),
        _scikit_learn("Isomap", "isomap", FEWER),
        _scikit_learn("LLE", "lle", FEWER),
        _scikit_learn("spectral", "spectral", FEWER),
        _scikit_learn("MDS", "mds", FEWEST),
    ),
    reference="winkel MDE",
    timings=("first", "second"),
    datasets=PANEL,
    quick=("digits",),
    score=score,
    better=dict.fromkeys(HIGHER, "higher") | dict.fromkeys(LOWER, "lower"),
    glance=("recall 15", "R_NX AUC", "distance correlation"),
    comments=COMMENTS,
    keeps_maps=True,
    checks_bytes=False,
    notes=(
        "Twelve data sets, mapped by winkel and by other packages, each with its defaults. **Bold** is better than `winkel MDE`.",
        f"- *Data.* Sets of more than {ROWS} rows are reduced to that number, drawn at random. Co-authors are given as a matrix of distances, "
        "which only some contestants take.\n"
        "- *Times.* First and second call are cold and warm, in one process. `× winkel` above 1 means that winkel is faster. ≈ compares "
        "processor time, where rows were not run in turn or not on a quiet machine (`others took` is the largest share of their cores that "
        "other processes had).\n"
        f"- *Scores* are measured on {SAMPLE} sampled rows, each compared with all others. Accuracy is that of 10 map neighbours on a random "
        "seventh of the rows.\n"
        "- *Pieces.* Two rows of the map are linked when they are nearer than three times the larger of their distances to the fifth "
        "neighbour; a piece is what such links hold together. `links cut` is the share of the data's neighbour links that run between pieces. "
        "A piece is torn when more than 5 % of its links do.\n"
        "- *Strays* is the map's extent divided by that of its middle 99 %.",
        "![Every map of the panel: a row for each data set, a column for each contestant](panel.png)",
        "A seventh of the smaller data sets is 200 to 500 rows. By the labels of all rows contestants are compared in `labels.md`.",
    ),
)
