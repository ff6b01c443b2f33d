"""Model files that were changed on purpose and given a right checksum: refused when they are loaded, or as good as they look.

Every array of every class's file is damaged in every way below. What loads all the same must place new rows without an error
from anywhere else and without NaN: nothing of a file reaches compiled code unchecked.
"""

from __future__ import annotations

import copy
import os

import numpy as np
import pytest

import winkel as wk
from winkel.data.archive import read_archive, write_archive
from winkel.errors import MemoryLimitError, ModelFileError, WinkelError

from ..estimators import instances, make, rows

X, NEW = rows(36, 4), rows(5, 4, seed=1)
FULL = "WINKEL_FIRE" in os.environ  # `make fire`
FEW = ("MDE", "LVM-coarse", "TSM", "KDSClustering", "TSNE")
CLASSES = {i: v for i, v in instances().items() if FULL or i in FEW}
pytestmark = pytest.mark.filterwarnings("ignore")


def nan_inside(a):
    if a.dtype.kind != "f" or not a.size:
        return None
    a = a.copy()
    a.flat[a.size // 2] = np.nan
    return a


def out_of_range(a):
    if a.dtype.kind not in "iu" or not a.size:
        return None
    a = a.copy()
    a.flat[-1] = 10**6 if a.dtype.itemsize > 2 else 200
    return a


def negative(a):
    if a.dtype.kind != "i" or not a.size:
        return None
    a = a.copy()
    a.flat[0] = -7
    return a


FORGERIES = {
    "transposed": lambda a: np.ascontiguousarray(a.T) if a.ndim == 2 and a.shape[0] != a.shape[1] else None,
    "short": lambda a: a[:-1] if a.ndim and len(a) > 1 else None,
    "empty": lambda a: a[:0] if a.ndim and len(a) else None,
    "flat": lambda a: a.ravel() if a.ndim == 2 else None,
    "NaN inside": nan_inside,
    "out of range": out_of_range,
    "negative": negative,
    "of text": lambda a: np.full(a.shape, "x") if a.size else None,
    "complex": lambda a: a.astype(complex) if a.dtype.kind == "f" else None,
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """What the file of each class holds."""
    made = {}

    def give(instance):
        if instance not in made:
            file = tmp_path_factory.mktemp("files") / "map.winkel"
            name, own = CLASSES[instance]
            make(name, **own).fit(X).save(file)
            made[instance] = read_archive(file)
        return made[instance]

    return give


def outcome(file) -> str:
    """ "refused", or "loaded" after it has placed rows; anything else is raised."""
    try:
        loaded = wk.load(file)
    except ModelFileError:
        return "refused"
    try:
        Y = loaded.transform(NEW)
    except WinkelError:
        return "loaded"
    assert np.isfinite(Y).all()
    assert len(loaded.embedding_) == len(loaded.result_)
    return "loaded"


@pytest.mark.parametrize("instance", CLASSES)
def test_forged_arrays(instance, archives, tmp_path):
    archive, refused, tried = archives(instance), 0, 0
    for name, array in archive.arrays.items():
        for forgery in FORGERIES.values():
            forged = forgery(array)
            if forged is None:
                continue
            write_archive(
                tmp_path / "f", "estimator", archive.meta, {**archive.arrays, name: forged}, compress=False
            )
            refused += outcome(tmp_path / "f") == "refused"
            tried += 1
        others = {other: value for other, value in archive.arrays.items() if other != name}
        write_archive(tmp_path / "f", "estimator", archive.meta, others, compress=False)
        assert outcome(tmp_path / "f") == "refused", f"without {name}"
    assert refused > 0.5 * tried
    for name in ("Y", "_rows", "codes_.data"):
        for array in (key for key in archive.arrays if key.split(".", 1)[-1] == name or key == name):
            write_archive(
                tmp_path / "f",
                "estimator",
                archive.meta,
                {**archive.arrays, array: nan_inside(archive.arrays[array])},
            )
            assert outcome(tmp_path / "f") == "refused", f"NaN in {array}"


@pytest.mark.parametrize("instance", CLASSES if FULL else ("MDE", "TSNE"))
def test_missing_and_foreign_parts(instance, archives, tmp_path):
    archive = archives(instance)

    def paths(value, so_far=()):
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield (*so_far, key)
            yield from paths(value[key], (*so_far, key))

    refused = 0
    for path in paths(archive.meta):
        for change in ("drop", "text", "number", "list") if FULL else ("drop", "text"):
            meta = copy.deepcopy(archive.meta)
            place = meta
            for key in path[:-1]:
                place = place[key]
            if change == "drop":
                del place[path[-1]]
            else:
                place[path[-1]] = {"text": "\x00x", "number": -5, "list": [[]]}[change]
            write_archive(tmp_path / "f", "estimator", meta, archive.arrays, compress=False)
            refused += outcome(tmp_path / "f") == "refused"
    assert refused > 30


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("distance_scale", "x"),
        ("distance_scale", -5),
        ("distance_scale", 0),
        ("focus", [[]]),
        ("focus", "x"),
        ("focus", 7),
    ],
)
def test_settings_that_new_rows_are_placed_by(name, value, tmp_path):
    file = tmp_path / "f"
    make("MDE", preserve="distances").fit(X).save(file)
    archive = read_archive(file)
    archive.meta["result"]["meta"]["settings"][name] = value
    write_archive(file, "estimator", archive.meta, archive.arrays)
    with pytest.raises(ModelFileError, match=f"'{name}' of the file cannot be that of a fitted MDE"):
        wk.load(file)


def test_a_small_file_that_would_become_large(tmp_path):
    file = tmp_path / "bomb"
    write_archive(file, "embedding", {}, {"a": np.zeros(2**24)})
    assert file.stat().st_size < 2**18
    with pytest.raises(MemoryLimitError, match=r"is forecast to need 134.2 MB, more than max_memory=10.0 MB"):
        wk.load(file, max_memory="10MB")
    with pytest.raises(ModelFileError):
        wk.load(file, max_memory="1GB")
