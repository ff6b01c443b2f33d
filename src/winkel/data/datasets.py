"""Loaders of well-known data, each giving a Dataset.

A file is looked for in the folder named by the environment variable WINKEL_DATA, then in the cache
(WINKEL_CACHE, or this user's cache folder), and then, where a stable public address exists, downloaded into
the cache. Data have their own licences, and winkel redistributes none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameterError
from . import parsers
from .arrays import Matrix
from .fetch import Arrays, Source, arrays, download, find

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_IDX_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_MNIST_MD5 = (
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
_FASHION_MD5 = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
_FASHION_NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_NETWORKS = ("AstroPh", "CondMat", "HepPh", "HepTh", "GrQc")


def _idx_sources(folder: str, checksums: tuple[str, ...]) -> tuple[Source, ...]:
    return tuple(Source(folder + name, _GZIP, md5) for name, md5 in zip(_IDX_FILES, checksums, strict=True))


SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": _idx_sources("https://ossci-datasets.s3.amazonaws.com/mnist/", _MNIST_MD5),
    "fashion_mnist": _idx_sources(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/", _FASHION_MD5
    ),
    "coil20": (
        Source(
            "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip", _ZIP
        ),
    ),
    "coauthorship": tuple(
        Source(f"https://snap.stanford.edu/data/ca-{name}.txt.gz", _GZIP) for name in _NETWORKS
    ),
    "analogies": (
        Source("https://raw.githubusercontent.com/tmikolov/word2vec/master/questions-words.txt", b": "),
    ),
    "glove": (Source("https://nlp.stanford.edu/data/glove.6B.zip", _ZIP),),
    "salinas_a": (
        Source("https://www.ehu.eus/ccwintco/uploads/d/df/SalinasA.mat", b"MATLAB"),
        Source("https://www.ehu.eus/ccwintco/uploads/a/aa/SalinasA_gt.mat", b"MATLAB"),
    ),
    "mammoth": (
        Source(
            "https://raw.githubusercontent.com/PAIR-code/understanding-umap/master/raw_data/mammoth_3d_50k.json",
            b"[",
        ),
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Data as published: `X` in its own dtype, labels `y` if there are any, and the names that are known."""

    X: Matrix
    y: NDArray[Any] | None
    name: str
    description: str
    ids: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    # Value of y: its name.
    label_names: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    extras: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def _names(names: Any) -> Mapping[int, str]:
    return MappingProxyType(dict(enumerate(map(str, names))))


def _extras(content: Arrays, *keys: str) -> Mapping[str, Any]:
    return MappingProxyType({key: content[key] for key in keys if key in content})


def load_digits() -> Dataset:
    """8 × 8 images of 1 797 handwritten digits, part of scikit-learn: needs no file."""
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return Dataset(
        X, y, "digits", "8 × 8 images of handwritten digits", extras=MappingProxyType({"image_shape": (8, 8)})
    )


def load_mnist() -> Dataset:
    """28 × 28 images of 70 000 handwritten digits (LeCun et al. 1998), the 60 000 training rows first."""
    content = arrays("mnist70k.npz", SOURCES["mnist"], parsers.build_idx_images)
    return _images(
        content, "mnist", "28 × 28 images of handwritten digits, 60 000 training rows first", (28, 28)
    )


def load_fashion_mnist() -> Dataset:
    """28 × 28 images of 70 000 pieces of clothing (Xiao et al. 2017), the 60 000 training rows first."""
    content = arrays("fashion_mnist70k.npz", SOURCES["fashion_mnist"], parsers.build_idx_images)
    text = "28 × 28 images of pieces of clothing, 60 000 training rows first"
    return _images(content, "fashion_mnist", text, (28, 28), _names(_FASHION_NAMES))


def load_coil20() -> Dataset:
    """32 × 32 images of 20 objects, each seen from 72 angles on a turntable (Nene, Nayar and Murase 1996)."""
    content = arrays("coil20_32x32.npz", SOURCES["coil20"], parsers.build_coil20)
    return _images(content, "coil20", "32 × 32 images of 20 objects on a turntable, 72 angles each", (32, 32))


def load_yale_b() -> Dataset:
    """192 × 168 images of four faces under 64 lights each: subjects 5, 9, 3, 4 of Extended Yale B."""
    content = arrays("yaleb_5_9_3_4_192x168.npz")
    return _images(content, "yale_b", "192 × 168 images of four faces under 64 lights each", (192, 168))


def _images(
    content: Arrays,
    name: str,
    description: str,
    shape: tuple[int, int],
    label_names: Mapping[int, str] = MappingProxyType({}),
) -> Dataset:
    """The Dataset of images, one a row; extras tell their shape and whatever else the file holds."""
    X = content["X"].reshape(len(content["X"]), -1)
    extras = {key: value for key, value in content.items() if key not in ("X", "y")} | {"image_shape": shape}
    return Dataset(
        X,
        content["y"],
        name,
        description,
        label_names=label_names,
        extras=MappingProxyType(extras),
    )


def load_salinas_a(*, corrected: bool = False) -> Dataset:
    """Spectra of 83 × 86 places in the Salinas valley, one a row; y is the crop, 0 where none is given.

    All 224 bands, or the 204 that are left without those of water absorption if `corrected`.
    """
    content = arrays("salinas_a.npz", SOURCES["salinas_a"], parsers.build_salinas_a)
    height, width, n_bands = content["X"].shape
    bands = content["corrected_bands"] if corrected else np.arange(n_bands)
    crops = {
        0: "unlabelled",
        1: "Brocoli_green_weeds_1",
        10: "Corn_senesced_green_weeds",
        11: "Lettuce_romaine_4wk",
        12: "Lettuce_romaine_5wk",
        13: "Lettuce_romaine_6wk",
        14: "Lettuce_romaine_7wk",
    }
    return Dataset(
        np.ascontiguousarray(content["X"].reshape(-1, n_bands)[:, bands]),
        content["gt"].ravel(),
        "salinas_a",
        "hyperspectral scene of the Salinas valley, one spectrum a row",
        feature_names=tuple(f"band {band}" for band in bands.tolist()),
        label_names=MappingProxyType(crops),
        extras=MappingProxyType(
            {"image_shape": (height, width), "corrected_bands": content["corrected_bands"]}
        ),
    )


def load_words(name: str = "glove", *, size: str = "30k") -> Dataset:
    """Word vectors with the words as ids, most frequent first.

    "glove": GloVe 6B in 100 dimensions (Pennington et al. 2014), the 100 000 most frequent words ("100k")
    or the 30 000 most frequent and all words of the analogy questions ("30k"). "word2vec": 26 423 words of
    Google News in 300 dimensions (Mikolov et al. 2013), of unit norm; `size` has no meaning there.
    """
    if name == "word2vec":
        content = arrays("words_word2vec_gnews_300d_26k.npz")
        text = "word2vec vectors of Google News, of unit norm"
    elif name == "glove" and size in ("30k", "100k"):
        content = arrays(f"words_glove6b_100d_{size}.npz", SOURCES["glove"], _build_glove(size))
        text = f"GloVe 6B vectors, {size} words"
    else:
        raise InvalidParameterError(
            f'load_words knows "word2vec", and "glove" with size "30k" or "100k"; got {name!r}, {size!r}.'
        )
    return Dataset(content["X"], None, name, text, ids=content["words"], extras=_extras(content, "rank"))


def _build_glove(size: str) -> Any:
    def build(paths: list[Path]) -> Arrays:
        if size == "100k":
            return parsers.parse_glove(paths[0], 100_000)
        questions = load_analogies().X
        return parsers.parse_glove(paths[0], 30_000, frozenset(map(str.lower, questions.ravel().tolist())))

    return build


def load_analogies() -> Dataset:
    """Analogy questions (Mikolov et al. 2013): four words a row, "a is to b as c is to d"; y is the section.

    `extras["semantic"]` marks the questions of the first five sections; the others are about grammar.
    """
    path = find("questions-words.txt.gz") or download(
        SOURCES["analogies"][0], wanted="questions-words.txt.gz"
    )
    content = parsers.parse_analogies(path)
    return Dataset(
        content["words"],
        content["section"],
        "analogies",
        "analogy questions, four words each",
        label_names=_names(content["sections"]),
        extras=MappingProxyType({"semantic": content["section"] < 5}),
    )


def load_coauthorship(name: str = "AstroPh") -> Dataset:
    """Who wrote with whom on arXiv (SNAP): X is the adjacency matrix (CSR), extras["edges"] its pairs i < j.

    `name` is one of AstroPh, CondMat, HepPh, HepTh, GrQc. Loops are left out, and so are authors without a
    co-author.
    """
    if name not in _NETWORKS:
        raise InvalidParameterError(f"load_coauthorship knows {', '.join(_NETWORKS)}; got {name!r}.")
    from scipy.sparse import coo_array

    content = arrays("coauthorship_snap.npz", SOURCES["coauthorship"], parsers.build_coauthorship)
    edges, ids = content[f"ca_{name}"], content[f"ca_{name}_ids"]
    ones = np.ones(2 * len(edges), dtype=np.float32)
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    X = coo_array((ones, (ends[0], ends[1])), shape=(len(ids), len(ids))).tocsr()
    text = f"co-authors of arXiv papers in {name}"
    return Dataset(X, None, f"ca-{name}", text, ids=ids, extras=MappingProxyType({"edges": edges}))


def load_popres() -> Dataset:
    """Genes of 1 387 Europeans in 20 principal components (Novembre et al. 2008); y is the country."""
    content = arrays("popres_pca20.npz")
    extras = _extras(content, "eigenvalues", "abbr", "lonlat", "rot_ns_ew", "color")
    text = "European genetics, 20 principal components"
    return Dataset(content["X"], content["country"], "popres", text, ids=content["ids"], extras=extras)


def load_counties() -> Dataset:
    """US counties (ACS 2017) that have all values; y is the share of Democratic votes in 2016."""
    content = arrays("us_counties_acs2017.npz")
    usable = content["usable"]
    rows = {key: content[key][usable] for key in ("X", "X_raw", "votes", "fips", "state", "county")}
    share = content["vote_columns"].tolist().index("per_dem")
    return Dataset(
        rows["X"],
        rows["votes"][:, share],
        "counties",
        "US counties, 34 prepared features of ACS 2017",
        ids=rows["fips"],
        feature_names=tuple(content["columns"].tolist()),
        extras=_extras({**content, **rows}, "X_raw", "votes", "vote_columns", "state", "county"),
    )


def load_pbmc3k() -> Dataset:
    """2 638 blood cells in 50 principal components of gene expression; y is a clustering, not a truth."""
    content = arrays("scrna_pbmc3k_pca50.npz")
    return Dataset(
        content["X"],
        content["y"],
        "pbmc3k",
        "single blood cells, 50 principal components; the labels are clustering output",
        label_names=_names(content["names"]),
        extras=_extras(content, "umap", "tsne"),
    )


def load_covid_balf() -> Dataset:
    """3 724 cells of lung fluid in 50 principal components of gene expression; y is the cell type."""
    content = arrays("scrna_covid_balf3_pca50.npz")
    text = "single cells of lung fluid, 50 principal components"
    names, extras = _names(content["names"]), _extras(content, "sample")
    return Dataset(content["X"], content["y"], "covid_balf", text, label_names=names, extras=extras)


def load_cytof() -> Dataset:
    """172 791 blood cells by 24 markers of mass cytometry; y is the patient."""
    content = arrays("cytof_bcrxl_173k.npz")
    return Dataset(
        content["X"],
        content["patient"],
        "cytof",
        "single blood cells, 24 markers of mass cytometry",
        feature_names=tuple(content["markers"].tolist()),
        extras=_extras(content, "stimulated", "is_lineage"),
    )


def load_mammoth() -> Dataset:
    """50 000 points on the skeleton of a mammoth, in space."""
    content = arrays("mammoth_3d_50k.npz", SOURCES["mammoth"], parsers.build_mammoth)
    return Dataset(
        content["X"], None, "mammoth", "points on the skeleton of a mammoth", feature_names=("x", "y", "z")
    )
