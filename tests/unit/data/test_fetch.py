"""Look-up order, downloads and the cache, against a web server on this machine."""

import hashlib
import http.server
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from winkel.data import datasets, fetch
from winkel.data.fetch import Source
from winkel.errors import InvalidInputError, MissingFileError, WinkelError

from .test_parsers import idx


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; counts requests; promises `missing` more bytes than it sends."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests, self.missing = {}, [], 0

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path[1:])
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + self.server.missing))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, no local folder and no proxy."""
    monkeypatch.delenv("WINKEL_DATA", raising=False)
    monkeypatch.setenv("WINKEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache"


def kept(cache):
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_a_download_is_kept_in_the_cache(server, cache):
    content = b"\x1f\x8b" + bytes(3_000_000)
    server.files["d/a.gz"] = content
    source = Source(
        server.url("d/a.gz"), b"\x1f\x8b", hashlib.md5(content, usedforsecurity=False).hexdigest()
    )
    path = fetch.download(source, wanted="a.npz")
    assert path.read_bytes() == content
    assert kept(cache) == ["127.0.0.1_d_a.gz"]
    assert fetch.download(source, wanted="a.npz") == path
    assert server.requests == ["/d/a.gz"]


@pytest.mark.parametrize(
    ("source", "missing", "message"),
    [
        (("none.gz",), 0, "404"),
        (("a.gz",), 5, r"cut short, 4 of 9 bytes|IncompleteRead"),
        (("a.gz", b"PK"), 0, r"begins with b'abcd' and should begin with b'PK'"),
        (("a.gz", b"ab", "0" * 32), 0, "checksum of the file is e2fc714c4727ee9395f324cd2e7f331f"),
    ],
)
def test_a_failed_download_leaves_nothing_behind(server, cache, source, missing, message):
    server.files["a.gz"], server.missing = b"abcd", missing
    name, *checks = source
    with pytest.raises(MissingFileError, match=message) as caught:
        fetch.download(Source(server.url(name), *checks), wanted="data.npz")
    for told in (server.url(name), str(cache), "WINKEL_DATA", "data.npz"):
        assert told in str(caught.value)
    assert kept(cache) == []


def test_no_network(cache):
    with Server() as closed:
        url = closed.url("a.gz")
    with pytest.raises(FileNotFoundError, match="Could not download") as caught:
        fetch.download(Source(url), wanted="a.npz")
    assert isinstance(caught.value, WinkelError)
    assert kept(cache) == []


def test_progress_is_optional(server, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    server.files["a"] = b"abcd"
    assert fetch.download(Source(server.url("a")), wanted="a.npz").read_bytes() == b"abcd"


def test_the_local_folder_comes_before_the_cache(tmp_path, cache, monkeypatch):
    folder = tmp_path / "folder"
    for place, value in ((folder, 1), (cache, 2)):
        place.mkdir()
        np.savez(place / "a.npz", X=np.full(3, value))
    np.savez(cache / "b.npz", X=np.full(3, 3))
    assert fetch.arrays("a.npz")["X"][0] == 2
    monkeypatch.setenv("WINKEL_DATA", str(folder))
    assert fetch.arrays("a.npz")["X"][0] == 1
    assert fetch.arrays("b.npz")["X"][0] == 3


def test_prepared_data_without_a_download(cache, monkeypatch):
    with pytest.raises(
        MissingFileError, match=r"popres_pca20\.npz is prepared data.*WINKEL_DATA.*it is not set"
    ) as caught:
        datasets.load_popres()
    assert str(cache) in str(caught.value)
    monkeypatch.setenv("WINKEL_DATA", "/no/such/folder")
    with pytest.raises(MissingFileError, match="it is now '/no/such/folder'"):
        datasets.load_cytof()


def test_a_damaged_file_is_named(cache):
    cache.mkdir()
    (cache / "popres_pca20.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InvalidInputError, match=r"popres_pca20\.npz' is damaged"):
        datasets.load_popres()


def test_a_data_set_is_built_from_downloads_once(server, cache, monkeypatch):
    parts = (np.full((3, 28, 28), 7), np.array([0, 1, 2]), np.full((2, 28, 28), 9), np.array([3, 4]))
    for k, part in enumerate(parts):
        server.files[f"{k}.gz"] = idx(part)
    monkeypatch.setitem(
        datasets.SOURCES, "mnist", tuple(Source(server.url(f"{k}.gz"), b"\x1f\x8b") for k in range(4))
    )
    for _ in range(2):
        data = datasets.load_mnist()
        assert data.X.shape == (5, 784)
        np.testing.assert_array_equal(data.y, [0, 1, 2, 3, 4])
        assert data.extras["image_shape"] == (28, 28)
    assert server.requests == ["/0.gz", "/1.gz", "/2.gz", "/3.gz"]
    assert "mnist70k.npz" in kept(cache)


def test_questions_are_downloaded_as_text(server, cache, monkeypatch):
    server.files["q.txt"] = b": family\nboy girl brother sister\n"
    monkeypatch.setitem(datasets.SOURCES, "analogies", (Source(server.url("q.txt"), b": "),))
    data = datasets.load_analogies()
    assert data.X.tolist() == [["boy", "girl", "brother", "sister"]]
    assert data.label_names[0] == "family"
    assert data.extras["semantic"].tolist() == [True]


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupted():
        with fetch.atomic_write(path) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "{base}/winkel"),
        ("win32", "LOCALAPPDATA", "{base}/winkel"),
        ("darwin", "XDG_CACHE_HOME", "{home}/Library/Caches/winkel"),
    ],
)
def test_cache_folder(monkeypatch, tmp_path, platform, variable, expected):
    monkeypatch.delenv("WINKEL_CACHE", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert fetch.cache_folder() == Path(expected.format(base=tmp_path, home=Path.home()))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="got 'elmo'"):
        datasets.load_words("elmo")
    with pytest.raises(ValueError, match="size must be one of '30k', '100k'; got '1k'"):
        datasets.load_words("glove", size="1k")
    with pytest.raises(ValueError, match=r"'AstroPh', .*; got 'Math'"):
        datasets.load_coauthorship("Math")
