"""Files of well-known data: looked for in WINKEL_DATA, then in the cache, and otherwise downloaded into the cache.

A file only gets its name in the cache once it is complete and has passed its checks, so that an
interrupted download is never mistaken for data.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, MissingFileError
from .files import opened

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

TIMEOUT = 30.0  # seconds without an answer
_CHUNK = 2**20


@dataclass(frozen=True)
class Source:
    """One file on the network: its address, the bytes it begins with, and its published checksum if any."""

    url: str
    magic: bytes = b""
    md5: str | None = None

    @property
    def filename(self) -> str:
        """Name in the cache: host and path, so that files with the same name from different places are not confused."""
        host, _, rest = self.url.partition("://")[2].partition("/")
        return f"{host.partition(':')[0]}_{rest.replace('/', '_')}"


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
NETWORKS = ("AstroPh", "CondMat", "HepPh", "HepTh", "GrQc")


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
        Source(f"https://snap.stanford.edu/data/ca-{name}.txt.gz", _GZIP) for name in NETWORKS
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


def data_folder() -> Path | None:
    """The folder named by WINKEL_DATA, if any."""
    folder = os.environ.get("WINKEL_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """WINKEL_CACHE, or winkel's folder among the caches of this user."""
    folder = os.environ.get("WINKEL_CACHE")
    if folder:
        return Path(folder).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "winkel"


def find(filename: str) -> Path | None:
    """The file of that name in WINKEL_DATA or in the cache; None if neither has it."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return next((folder / filename for folder in folders if (folder / filename).is_file()), None)


def arrays(
    filename: str,
    sources: Sequence[Source] = (),
    build: Callable[[Sequence[Path]], Arrays] | None = None,
) -> Arrays:
    """Arrays of a prepared .npz file; if it is not found, it is built from downloads and kept in the cache."""
    path = find(filename)
    if path is not None:
        return load_arrays(path)
    if build is None:
        raise MissingFileError(
            f"{filename} is prepared data without a stable public download. {_advice(filename)}"
        )
    built = build([download(source, wanted=filename) for source in sources])
    with atomic_write(cache_folder() / filename) as stream:
        np.savez_compressed(stream, allow_pickle=False, **built)
    return built


def load_arrays(path: Path) -> Arrays:
    """All arrays of an .npz file; never unpickled."""
    try:
        with opened(path) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{str(path)!r} is damaged ({error}). Delete it and get it again.") from error


def download(source: Source, wanted: str) -> Path:
    """Path of the source's file in the cache, downloaded if it is not there yet.

    `wanted` is the file that a user could put into WINKEL_DATA instead; the message of a failure names it.
    """
    path = cache_folder() / source.filename
    if path.is_file():
        return path
    request = urllib.request.Request(source.url, headers={"User-Agent": "winkel"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, atomic_write(path) as stream:
            _receive(answer, stream, source)
    except (urllib.error.URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, urllib.error.HTTPError):
            reason = str(error)
            error.close()  # it holds the connection
        raise MissingFileError(
            f"Could not download {source.url} into {str(path.parent)!r}: {reason}. "
            f"Try again when there is a network connection. Or: {_advice(wanted)}"
        ) from error
    return path


def _receive(answer: Any, stream: IO[bytes], source: Source) -> None:
    """Copy a response to a stream; OSError if it is cut short or is not the expected file."""
    expected = answer.headers.get("Content-Length")
    digest = hashlib.md5(usedforsecurity=False)
    size, start = 0, b""
    with _progress(source, expected) as advance:
        while chunk := answer.read(_CHUNK):
            start = start or chunk[:64]
            stream.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            advance(len(chunk))
    if expected is not None and size != int(expected):
        raise OSError(f"the download was cut short, {size} of {expected} bytes came")
    if not start.startswith(source.magic):
        raise OSError(f"the file begins with {start[:16]!r} and should begin with {source.magic!r}")
    if source.md5 is not None and digest.hexdigest() != source.md5:
        raise OSError(f"the checksum of the file is {digest.hexdigest()} and should be {source.md5}")


@contextlib.contextmanager
def _progress(source: Source, expected: str | None) -> Iterator[Callable[[int], Any]]:
    """A function to call with the number of bytes that came; shows a bar if tqdm and a terminal are there."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda count: None
        return
    total = int(expected) if expected else None
    with tqdm(
        total=total, desc=source.url.rpartition("/")[2], unit="B", unit_scale=True, disable=None
    ) as bar:
        yield bar.update


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file `path` if the block ends without an error, and is deleted otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _advice(filename: str) -> str:
    folder = data_folder()
    told = "not set" if folder is None else f"now {str(folder)!r}"
    return (
        f"Put {filename} into a folder and set the environment variable WINKEL_DATA to that folder "
        f"(it is {told}), or put it into the cache folder {str(cache_folder())!r}."
    )
