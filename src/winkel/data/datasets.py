"""Loaders of well-known data, each of which returns a Dataset.

A file is looked for in the folder named by the environment variable WINKEL_DATA, then in the cache
(WINKEL_CACHE, or this user's cache folder). If it is in neither and a stable public address exists, it is downloaded into
the cache. The data sets have their own licences, and winkel does not redistribute them.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import choice, flag
from ..typing import MaybeNone
from . import parsers
from .arrays import Matrix
from .fetch import NETWORKS, SOURCES, Arrays, arrays, download, find

__all__ = [
    "Dataset",
    "load_analogies",
    "load_coauthorship",
    "load_coil20",
    "load_counties",
    "load_covid_balf",
    "load_cytof",
    "load_digits",
    "load_fashion_mnist",
    "load_mammoth",
    "load_mnist",
    "load_pbmc3k",
    "load_popres",
    "load_salinas_a",
    "load_words",
    "load_yale_b",
]

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


@dataclass(frozen=True, eq=False)
class Dataset:
    """Data as published, with the names of rows and columns that are known.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n, m)
        The data in its own dtype.
    y : ndarray or None
        Labels, one for each row, if there are any.
    name, description : str
        The name of the data set, and a short description.
    ids : ndarray or None
        Names of the rows.
    feature_names : tuple of str or None
        Names of the columns.
    label_names : mapping of int to str
        Names of the values of `y`.
    extras : mapping
        Other published information, such as `image_shape`.

    Examples
    --------
    >>> import winkel as wk
    >>> digits = wk.datasets.load_digits()
    >>> digits.description, digits.extras["image_shape"]
    ('8 × 8 images of handwritten digits', (8, 8))
    """

    X: Matrix
    y: NDArray[Any] | MaybeNone
    name: str
    description: str
    ids: NDArray[Any] | MaybeNone = None
    feature_names: tuple[str, ...] | None = None
    label_names: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    extras: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def _repr_html_(self) -> str:
        """A small table for a notebook."""
        n, m = self.X.shape
        classes = "" if self.y is None else f"{len(np.unique(self.y))} different labels"
        rows = {
            "name": self.name,
            "data": f"{n} × {m}, {self.X.dtype}",
            "labels": classes,
            "beside them": ", ".join(self.extras),
        }
        lines = (f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items() if v)
        head = html.escape(self.description)
        return f"<table><caption>{head}</caption><tbody>{''.join(lines)}</tbody></table>"


def _names(names: Any) -> Mapping[int, str]:
    return MappingProxyType(dict(enumerate(map(str, names))))


def _extras(content: Arrays, *keys: str) -> Mapping[str, Any]:
    return MappingProxyType({key: content[key] for key in keys if key in content})


def load_digits() -> Dataset:
    """Images of 1 797 handwritten digits; they are part of scikit-learn, so no file is needed.

    Returns
    -------
    Dataset
        8 × 8 images, one per row; y is the digit.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_digits().X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return Dataset(
        X, y, "digits", "8 × 8 images of handwritten digits", extras=MappingProxyType({"image_shape": (8, 8)})
    )


def load_mnist() -> Dataset:
    """Images of 70 000 handwritten digits (LeCun et al. 1998).

    Returns
    -------
    Dataset
        28 × 28 images, one per row, with the 60 000 training rows first; y is the digit.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_mnist().X.shape  # doctest: +SKIP
    (70000, 784)
    """
    content = arrays("mnist70k.npz", SOURCES["mnist"], parsers.build_idx_images)
    return _images(
        content, "mnist", "28 × 28 images of handwritten digits, 60 000 training rows first", (28, 28)
    )


def load_fashion_mnist() -> Dataset:
    """Images of 70 000 pieces of clothing (Xiao et al. 2017).

    Returns
    -------
    Dataset
        28 × 28 images, one per row, with the 60 000 training rows first; y is the kind of clothing.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_fashion_mnist().X.shape  # doctest: +SKIP
    (70000, 784)
    """
    content = arrays("fashion_mnist70k.npz", SOURCES["fashion_mnist"], parsers.build_idx_images)
    text = "28 × 28 images of pieces of clothing, 60 000 training rows first"
    return _images(content, "fashion_mnist", text, (28, 28), _names(_FASHION_NAMES))


def load_coil20() -> Dataset:
    """Images of 20 objects on a turntable, 72 angles each (Nene, Nayar and Murase 1996).

    Returns
    -------
    Dataset
        32 × 32 images, one per row; y is the object, `extras["angle_index"]` the angle.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_coil20().X.shape  # doctest: +SKIP
    (1440, 1024)
    """
    content = arrays("coil20_32x32.npz", SOURCES["coil20"], parsers.build_coil20)
    return _images(content, "coil20", "32 × 32 images of 20 objects on a turntable, 72 angles each", (32, 32))


def load_yale_b() -> Dataset:
    """Images of four faces under 64 lights each: subjects 5, 9, 3, 4 of Extended Yale B.

    Returns
    -------
    Dataset
        192 × 168 images, one per row; y is the person.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_yale_b().X.shape  # doctest: +SKIP
    (256, 32256)
    """
    content = arrays("yaleb_5_9_3_4_192x168.npz")
    return _images(content, "yale_b", "192 × 168 images of four faces under 64 lights each", (192, 168))


def _images(
    content: Arrays,
    name: str,
    description: str,
    shape: tuple[int, int],
    label_names: Mapping[int, str] = MappingProxyType({}),
) -> Dataset:
    """The Dataset of images, one per row; extras contain their shape and the other arrays of the file."""
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
    """Spectra of 83 × 86 places in the Salinas valley.

    Parameters
    ----------
    corrected : bool, default=False
        Whether to leave out the bands of water absorption: 204 bands instead of 224.

    Returns
    -------
    Dataset
        One spectrum per row; y is the crop, 0 where it is not known.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_salinas_a().X.shape  # doctest: +SKIP
    (7138, 224)
    """
    content = arrays("salinas_a.npz", SOURCES["salinas_a"], parsers.build_salinas_a)
    height, width, n_bands = content["X"].shape
    bands = content["corrected_bands"] if flag("corrected", corrected) else np.arange(n_bands)
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
        "hyperspectral scene of the Salinas valley, one spectrum per row",
        feature_names=tuple(f"band {band}" for band in bands.tolist()),
        label_names=MappingProxyType(crops),
        extras=MappingProxyType(
            {"image_shape": (height, width), "corrected_bands": content["corrected_bands"]}
        ),
    )


def load_words(name: str = "glove", *, size: str = "30k") -> Dataset:
    """Word vectors with the words as ids, most frequent first.

    Parameters
    ----------
    name : {"glove", "word2vec"}, default="glove"
        "glove" is GloVe 6B in 100 dimensions (Pennington et al. 2014); "word2vec" is 26 423 words of Google News in 300
        dimensions, with unit norm (Mikolov et al. 2013).
    size : {"30k", "100k"}, default="30k"
        For "glove": the 30 000 most frequent words and all words of the analogy questions, or the 100 000 most frequent words.

    Returns
    -------
    Dataset
        One vector per row; `ids` holds the words.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_words("word2vec").X.shape  # doctest: +SKIP
    (26423, 300)
    """
    choice("name", name, ("glove", "word2vec"))
    choice("size", size, ("30k", "100k"))
    if name == "word2vec":
        content = arrays("words_word2vec_gnews_300d_26k.npz")
        text = "word2vec vectors of Google News, of unit norm"
    else:
        content = arrays(f"words_glove6b_100d_{size}.npz", SOURCES["glove"], _build_glove(size))
        text = f"GloVe 6B vectors, {size} words"
    return Dataset(content["X"], None, name, text, ids=content["words"], extras=_extras(content, "rank"))


def _build_glove(size: str) -> Any:
    def build(paths: list[Path]) -> Arrays:
        if size == "100k":
            return parsers.parse_glove(paths[0], 100_000)
        questions = load_analogies().X
        return parsers.parse_glove(paths[0], 30_000, frozenset(map(str.lower, questions.ravel().tolist())))

    return build


def load_analogies() -> Dataset:
    """Analogy questions (Mikolov et al. 2013), "a is to b as c is to d".

    Returns
    -------
    Dataset
        Four words per row; y is the section. `extras["semantic"]` marks the questions of the first five sections; the others are
        about grammar.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_analogies().X.shape  # doctest: +SKIP
    (19544, 4)
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
    """Who wrote with whom on arXiv (SNAP).

    Parameters
    ----------
    name : {"AstroPh", "CondMat", "HepPh", "HepTh", "GrQc"}, default="AstroPh"
        The field of physics.

    Returns
    -------
    Dataset
        X is the adjacency matrix (CSR), and `extras["edges"]` are its pairs i < j. Loops and authors without co-authors are
        left out.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_coauthorship("GrQc").X.shape  # doctest: +SKIP
    (5241, 5241)
    """
    choice("name", name, NETWORKS)
    from scipy.sparse import coo_array

    content = arrays("coauthorship_snap.npz", SOURCES["coauthorship"], parsers.build_coauthorship)
    edges, ids = content[f"ca_{name}"], content[f"ca_{name}_ids"]
    ones = np.ones(2 * len(edges), dtype=np.float32)
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    X = coo_array((ones, (ends[0], ends[1])), shape=(len(ids), len(ids))).tocsr()
    text = f"co-authors of arXiv papers in {name}"
    return Dataset(X, None, f"ca-{name}", text, ids=ids, extras=MappingProxyType({"edges": edges}))


def load_popres() -> Dataset:
    """Genes of 1 387 Europeans in 20 principal components (Novembre et al. 2008).

    Returns
    -------
    Dataset
        One person per row; y is the country.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_popres().X.shape  # doctest: +SKIP
    (1387, 20)
    """
    content = arrays("popres_pca20.npz")
    extras = _extras(content, "eigenvalues", "abbr", "lonlat", "rot_ns_ew", "color")
    text = "European genetics, 20 principal components"
    return Dataset(content["X"], content["country"], "popres", text, ids=content["ids"], extras=extras)


def load_counties() -> Dataset:
    """US counties (ACS 2017) without missing values, described by 34 prepared features.

    Returns
    -------
    Dataset
        One county per row; y is the share of Democratic votes in 2016.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_counties().X.shape  # doctest: +SKIP
    (3139, 34)
    """
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
    """Gene expression of 2 638 blood cells in 50 principal components.

    Returns
    -------
    Dataset
        One cell per row; y is a clustering, not a truth.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_pbmc3k().X.shape  # doctest: +SKIP
    (2638, 50)
    """
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
    """Gene expression of 3 724 cells of lung fluid in 50 principal components.

    Returns
    -------
    Dataset
        One cell per row; y is the cell type.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_covid_balf().X.shape  # doctest: +SKIP
    (3724, 50)
    """
    content = arrays("scrna_covid_balf3_pca50.npz")
    text = "single cells of lung fluid, 50 principal components"
    names, extras = _names(content["names"]), _extras(content, "sample")
    return Dataset(content["X"], content["y"], "covid_balf", text, label_names=names, extras=extras)


def load_cytof() -> Dataset:
    """Mass cytometry of 172 791 blood cells by 24 markers.

    Returns
    -------
    Dataset
        One cell per row; y is the patient.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_cytof().X.shape  # doctest: +SKIP
    (172791, 24)
    """
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
    """Points on the skeleton of a mammoth, in space.

    Returns
    -------
    Dataset
        50 000 points; no labels.

    Examples
    --------
    >>> import winkel as wk
    >>> wk.datasets.load_mammoth().X.shape  # doctest: +SKIP
    (50000, 3)
    """
    content = arrays("mammoth_3d_50k.npz", SOURCES["mammoth"], parsers.build_mammoth)
    return Dataset(
        content["X"], None, "mammoth", "points on the skeleton of a mammoth", feature_names=("x", "y", "z")
    )
