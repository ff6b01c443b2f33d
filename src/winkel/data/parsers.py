"""Published file formats of well-known data, each turned into the arrays that winkel keeps."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError, missing_extra
from .fetch import Arrays

# The bands of the Salinas scene that are left when those of water absorption are taken out (counted from 0).
SALINAS_BANDS = np.setdiff1d(np.arange(224), np.r_[107:112, 153:167, 223]).astype(np.int16)
GLOVE_MEMBER = "glove.6B.100d.txt"


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn every error of an unreadable file into one error that names the file."""
    try:
        yield
    except (OSError, EOFError, ValueError, KeyError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{str(path)!r} is not {what}: {error}. Delete the file, so that it is downloaded again."
        ) from error


def _text(path: Path) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return content.decode("utf-8")


def parse_idx(path: Path) -> NDArray[np.uint8]:
    """The array of bytes in a gzipped IDX file: magic 0 0 8 ndim, then the sizes, then the values."""
    with _reading(path, "a gzipped IDX file of bytes"):
        content = gzip.decompress(path.read_bytes())
        if len(content) < 4 or content[:3] != b"\x00\x00\x08":
            raise ValueError(f"it begins with {content[:4]!r}")
        n_dims = content[3]
        shape = np.frombuffer(content, dtype=">u4", count=n_dims, offset=4).astype(np.int64)
        values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_dims)
        if values.size != int(shape.prod()):
            raise ValueError(f"it has {values.size} values for the shape {tuple(shape.tolist())}")
        return values.reshape(shape)


def build_idx_images(paths: Sequence[Path]) -> Arrays:
    """X and y of four IDX files: training images and labels, then test images and labels."""
    images = [parse_idx(path) for path in paths[0::2]]
    labels = [parse_idx(path) for path in paths[1::2]]
    for image, label, path in zip(images, labels, paths[0::2], strict=True):
        if image.ndim != 3 or label.ndim != 1 or len(image) != len(label):
            raise InvalidInputError(
                f"{str(path)!r} has shape {image.shape}, and its labels {label.shape}: no pair."
            )
    return {"X": np.concatenate([a.reshape(len(a), -1) for a in images]), "y": np.concatenate(labels)}


def build_coil20(paths: Sequence[Path]) -> Arrays:
    """X, y and angle_index of the zip of images obj1__0.png, ..., averaged over squares of 4 × 4 pixels."""
    try:
        from matplotlib.image import imread
    except ImportError as error:
        raise missing_extra("matplotlib", "plot", "Reading the images of COIL-20") from error
    with _reading(paths[0], "the zip file of COIL-20"), zipfile.ZipFile(paths[0]) as archive:
        found = {
            (int(match[1]), int(match[2])): name
            for name in archive.namelist()
            if (match := re.search(r"obj(\d+)__(\d+)\.png$", name))
        }
        if not found:
            raise ValueError("it has no image called obj<number>__<number>.png")
        order = sorted(found)
        rows = [_shrink(imread(io.BytesIO(archive.read(found[key])), format="png")) for key in order]
    objects, angles = np.array(order).T
    return {
        "X": np.array(rows),
        "y": (objects - 1).astype(np.uint8),
        "angle_index": angles.astype(np.uint8),
    }


def _shrink(image: NDArray[Any]) -> NDArray[np.uint8]:
    """One row of bytes for a grey image of values in [0, 1], each the mean of 4 × 4 pixels."""
    grey = image if image.ndim == 2 else image[..., 0]
    height, width = (size // 4 for size in grey.shape)
    means = grey[: 4 * height, : 4 * width].reshape(height, 4, width, 4).mean(axis=(1, 3), dtype=np.float64)
    shrunk: NDArray[np.uint8] = np.rint(255 * means).astype(np.uint8).ravel()
    return shrunk


def parse_edges(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Unique edges i < j of a SNAP edge list, nodes numbered in order of their ids; and the ids. No loops."""
    with _reading(path, "an edge list of SNAP"):
        lines = [line for line in _text(path).splitlines() if line and not line.startswith("#")]
        pairs = np.array([line.split() for line in lines], dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"its lines give an array of shape {pairs.shape}, not pairs")
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    ids, edges = np.unique(pairs, return_inverse=True)
    return edges.reshape(-1, 2).astype(np.int32), ids.astype(np.int32)


def build_coauthorship(paths: Sequence[Path]) -> Arrays:
    """Edges and ids of SNAP's collaboration networks, under names such as ca_GrQc and ca_GrQc_ids."""
    built: dict[str, NDArray[Any]] = {}
    for path in paths:
        match = re.search(r"ca-(\w+)\.txt", path.name)
        name = f"ca_{match[1] if match else path.stem}"
        built[name], built[f"{name}_ids"] = parse_edges(path)
    return built


def parse_analogies(path: Path) -> Arrays:
    """Four words and a section number for each question of questions-words.txt, and the section names."""
    sections: list[str] = []
    questions: list[list[str]] = []
    numbers: list[int] = []
    with _reading(path, "a list of analogy questions"):
        for line in _text(path).splitlines():
            words = line.split()
            if words[:1] == [":"]:
                sections.append(" ".join(words[1:]))
            elif words:
                if len(words) != 4 or not sections:
                    raise ValueError(
                        f"a question has four words under a heading; this line has not: {line!r}"
                    )
                questions.append(words)
                numbers.append(len(sections) - 1)
        if not questions:
            raise ValueError("it has no question")
    return {
        "words": np.array(questions),
        "section": np.array(numbers, np.uint8),
        "sections": np.array(sections),
    }


def parse_glove(path: Path, n_words: int, more: frozenset[str] = frozenset()) -> Arrays:
    """The first `n_words` words of GloVe 6B (100 dimensions) and those in `more`: vectors, words, ranks."""
    words: list[str] = []
    ranks: list[int] = []
    vectors: list[NDArray[np.float16]] = []
    with (
        _reading(path, "the zip file of GloVe 6B"),
        zipfile.ZipFile(path) as archive,
        archive.open(GLOVE_MEMBER) as stream,
    ):
        for rank, line in enumerate(stream):
            word, _, numbers = line.decode("utf-8").rstrip("\n").partition(" ")
            if rank >= n_words and word not in more:
                if not more:
                    break
                continue
            words.append(word)
            ranks.append(rank)
            vectors.append(np.array(numbers.split(" "), dtype=np.float32).astype(np.float16))
        if not words:
            raise ValueError(f"{GLOVE_MEMBER} is empty")
        return {"X": np.stack(vectors), "words": np.array(words), "rank": np.array(ranks, dtype=np.int32)}


def build_salinas_a(paths: Sequence[Path]) -> Arrays:
    """X (rows × columns × bands), gt and corrected_bands of SalinasA.mat and SalinasA_gt.mat."""
    cube, gt = _mat_array(paths[0], 3), _mat_array(paths[1], 2)
    if cube.shape != (*gt.shape, 224):
        raise InvalidInputError(
            f"{str(paths[0])!r} has shape {cube.shape} and its labels {gt.shape}; 224 bands are expected."
        )
    return {"X": cube.astype(np.int16), "gt": gt.astype(np.uint8), "corrected_bands": SALINAS_BANDS}


def _mat_array(path: Path, n_dims: int) -> NDArray[Any]:
    """The only array of that many dimensions in a MATLAB file."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    with _reading(path, "a MATLAB file"):
        try:
            content = loadmat(path)
        except MatReadError as error:
            raise ValueError(str(error)) from error
        found = [a for name, a in content.items() if not name.startswith("__") and np.ndim(a) == n_dims]
        if len(found) != 1:
            raise ValueError(f"it has {len(found)} arrays of {n_dims} dimensions")
        return np.asarray(found[0])


def build_mammoth(paths: Sequence[Path]) -> Arrays:
    """X of the JSON list of points in space."""
    with _reading(paths[0], "a JSON list of points in space"):
        X = np.array(json.loads(_text(paths[0])), dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != 3:
            raise ValueError(f"it gives an array of shape {X.shape}")
        return {"X": X}
