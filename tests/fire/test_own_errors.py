"""Whatever is given for a parameter or a file: an error of winkel's own, which says what is allowed."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest

import winkel as wk
from winkel.checks import LARGEST
from winkel.errors import InvalidInputError, InvalidParameterError, MissingFileError, WinkelError
from winkel.estimators import registry

from ..estimators import instances, make, rows

X = rows(30, 4)
Y = np.ascontiguousarray(X[:, :2])
NAN, INF = float("nan"), float("inf")
ODD = {
    "nan": NAN, "inf": INF, "None": None, "text": "x", "no text": "", "list": [], "dict": {}, "bytes": b"x", "object": object(),
    "huge": 10**30, "negative": -1, "array": np.array([1, 2]), "complex": 1 + 2j, "surrogate": "\ud800", "half": 2.5,
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "instance", [i for i in instances() if i.partition("-")[2] in ("", "lle", "pca", "umap", "distances")]
)
def test_odd_parameters(instance, capsys):
    """Every parameter of every class gets every odd value; what is not allowed is refused by an error of our own."""
    name, own = instances()[instance]
    tried = 0
    for parameter in registry.entry(name).cls._get_param_names():
        for kind, value in ODD.items():
            if parameter == "checkpoint" and isinstance(value, str | bytes):
                continue  # the name of a file
            if parameter in ("verbose", "callbacks", "random_state") and kind not in (
                "text",
                "object",
                "array",
                "complex",
            ):
                continue
            try:
                make(name, **own | {"max_iter": 1} | {parameter: value}).fit(X)
            except WinkelError:
                tried += 1
    assert tried > 60
    capsys.readouterr()


@pytest.mark.parametrize("perplexity", [NAN, INF, None, "x", -1])
def test_odd_parameters_of_objectives(perplexity):
    with pytest.raises(InvalidParameterError, match="perplexity must be"):
        wk.objectives.TSNE(perplexity=perplexity)


@pytest.mark.parametrize("weights", [["a"] * 30, "x", 5, [NAN] * 30, [object()] * 30])
def test_odd_weights(weights):
    with pytest.raises(WinkelError):
        make("MDE").fit(X, sample_weight=weights)


@pytest.mark.parametrize("value", [NAN, INF, -1, 0, "much", b"1"])
def test_odd_memory(value):
    with pytest.raises(InvalidParameterError, match="max_memory must be"):
        wk.graph.knn(X, 3, max_memory=value)
    assert wk.graph.knn(X, 3, max_memory=1e30).n == 30


def test_integers_beyond_the_core():
    with pytest.raises(InvalidParameterError, match=f"n_components must be an integer in \\[1, {LARGEST}\\]"):
        wk.MDE(10**12).fit(X)
    with pytest.raises(InvalidParameterError, match=r"n_jobs must be .* up to 1024"):
        wk.MDE(n_jobs=10**6).fit(X)


@pytest.mark.parametrize("title", [5, b"x", "\ud800"])
def test_odd_titles(title, tmp_path):
    with pytest.raises(InvalidParameterError, match="title must be"):
        wk.write_html(tmp_path / "a.html", Y, title=title)
    assert not list(tmp_path.iterdir())


def test_files_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for opened in (wk.load, wk.data.read):
        with pytest.raises(MissingFileError, match="does not exist"):
            opened("nothing.csv")
        with pytest.raises(FileNotFoundError, match="is a folder"):
            opened(".")
        for odd in (5, None, "a\0b", ""):
            with pytest.raises(InvalidParameterError, match="path must be the path of a file"):
                opened(odd)


def test_folders_are_not_made(tmp_path):
    fitted = make("MDE").fit(X)
    missing = tmp_path / "no" / "such"
    with pytest.raises(MissingFileError, match=r"The folder .* does not exist"):
        fitted.save(missing / "map.winkel")
    with pytest.raises(MissingFileError, match=r"The folder .* does not exist"):
        wk.write_html(missing / "map.html", Y)
    with pytest.raises(MissingFileError, match=r"The folder .* does not exist"):
        wk.plot(Y, path=missing / "map.png")
    with pytest.raises(InvalidParameterError, match="is a folder"):
        fitted.save(tmp_path)
    assert not list(tmp_path.iterdir())


def header(shape) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.parametrize("shape", [(10**12, 10), (10**6, 10), (-5, 10), (2**62, 2**62)])
def test_a_header_that_promises_more_than_the_file_holds(shape, tmp_path):
    content = header(shape) + bytes(80)
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(InvalidInputError, match="promises"):
        wk.data.read(tmp_path / "x.npy")
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", content)
    with pytest.raises(InvalidInputError, match="promises"):
        wk.data.read(tmp_path / "x.npz")


def test_labels_without_an_order():
    with pytest.raises(InvalidInputError, match="labels must be numbers or text"):
        wk.measure(X, Y, labels=[object() for _ in range(30)], n_neighbors=5)


def test_formulas_in_tables(tmp_path):
    ids = np.array(["=1+1", "@x", "+a", "-b", "'c", "-1.5", "'=d", "plain"] + [f"r{i}" for i in range(22)])
    found = wk.maps.Map(Y, ids, ids)
    wk.maps.write_map(tmp_path / "map.csv", found)
    cells = [line.split(",")[0] for line in (tmp_path / "map.csv").read_text().splitlines()[1:]]
    assert cells[:8] == ["'=1+1", "'@x", "'+a", "'-b", "'c", "-1.5", "'=d", "plain"]
    again = wk.maps.read_map(tmp_path / "map.csv")
    assert again.ids.tolist()[:6] == ids.tolist()[:6]
    assert again.labels.tolist()[:4] == ids.tolist()[:4]
    assert os.listdir(tmp_path) == ["map.csv"]
