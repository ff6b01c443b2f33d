"""The frozen result of every method, with its status and history; its file, and `load`, which opens every file."""

from __future__ import annotations

import html
import importlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import __version__
from .algebra import matmul, svd
from .checks import plain_json
from .data.archive import Archive, read_archive, write_archive
from .data.serialize import Packer, unpack
from .errors import InvalidInputError, InvalidParameterError, ModelFileError
from .run import parse_memory
from .typing import FloatArray

KIND = "embedding"
HISTORY_COLUMNS = ("iteration", "objective", "residual", "seconds")
STATUS_WORDS = ("converged", "max_iter", "time_limit", "interrupted", "stopped", "failed")

# What opens each kind of file. The names stand here, never in a file, so a file can choose among these and no
# others; as text they let this layer name loaders of layers above it without importing them.
_LOADERS = {
    KIND: "winkel.embedding:from_archive",
    "estimator": "winkel.estimators.base:from_archive",
}


@dataclass(frozen=True)
class Status:
    """How a run ended: a word that code can test and a sentence that a person can read.

    Attributes
    ----------
    word : str
        "converged", "max_iter", "time_limit", "interrupted", "stopped" or "failed".
    sentence : str
        A description in words, with numbers.
    """

    word: str
    sentence: str

    def __post_init__(self) -> None:
        if self.word not in STATUS_WORDS:
            raise InvalidParameterError(
                f"The word of a Status must be one of {', '.join(STATUS_WORDS)}; got {self.word!r}."
            )

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance."""
        return self.word == "converged"

    def __str__(self) -> str:
        return f"{self.word}: {self.sentence}"


@dataclass(frozen=True, eq=False)
class History(Mapping[str, NDArray[Any]]):
    """Read-only columns with one entry per iteration, including the start.

    It is a mapping from names to columns: those below, and further ones that the solver recorded.

    Attributes
    ----------
    iteration : ndarray
        Number of the iteration, counted from 0.
    objective : ndarray
        The value that the solver minimizes.
    residual : ndarray
        The value that is compared with `tol`; NaN if it is not known.
    seconds : ndarray
        Time since the start, including the time before a checkpoint from which the run continued.
    """

    columns: Mapping[str, NDArray[Any]]

    def __post_init__(self) -> None:
        frozen = {}
        for name, column in self.columns.items():
            frozen[name] = np.array(column)
            frozen[name].flags.writeable = False
        if not {*HISTORY_COLUMNS} <= frozen.keys() or {c.shape for c in frozen.values()} != {
            (len(frozen["iteration"]),)
        }:
            raise InvalidParameterError(
                f"A History needs columns of the same length, among them {', '.join(HISTORY_COLUMNS)}."
            )
        object.__setattr__(self, "columns", MappingProxyType(frozen))

    @property
    def iteration(self) -> NDArray[np.int64]:
        return self.columns["iteration"]

    @property
    def objective(self) -> NDArray[np.float64]:
        return self.columns["objective"]

    @property
    def residual(self) -> NDArray[np.float64]:
        return self.columns["residual"]

    @property
    def seconds(self) -> NDArray[np.float64]:
        return self.columns["seconds"]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        """The number of recorded entries: the iterations and the start."""
        return len(self.columns["iteration"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History) or list(self) != list(other):
            return False
        return all(np.array_equal(self[name], other[name], equal_nan=True) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({self.n_rows} rows: {', '.join(self.columns)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.columns),)


@dataclass(frozen=True, eq=False)
class Frames:
    """Intermediate maps that were kept.

    Attributes
    ----------
    iteration : ndarray of shape (n_frames,)
        The iteration after which each map was kept.
    Y : ndarray of shape (n_frames, n, n_components)
        The maps, in single precision.
    """

    iteration: NDArray[np.int64]
    Y: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.iteration)

    def turned_to(self, Y: FloatArray) -> Frames:
        """The same frames, each rotated or reflected about the origin to match `Y` as closely as possible.

        This is for maps that are only determined up to a rotation, which would otherwise jump from frame to frame.
        """
        turned = np.empty_like(self.Y)
        for frame, out in zip(self.Y, turned):
            left, _, right = svd(matmul(frame.astype(np.float64).T, Y))
            out[:] = matmul(frame, matmul(left, right))
        turned.flags.writeable = False
        return Frames(self.iteration, turned)


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """The map that a method found, with everything needed to evaluate and to reproduce it.

    It is frozen, and its arrays are read-only. `len(embedding)` is the number of rows, and `numpy.asarray(embedding)` the
    map itself.

    Attributes
    ----------
    Y : ndarray of shape (n, n_components)
        The map.
    objective, residual : float
        The objective and residual at Y; the residual says how far Y is from being stationary.
    history : History
        Objective, residual and seconds of every iteration.
    status : Status
        How the run ended: a word and a sentence.
    seed : int or None
        The seed; together with `settings` it reproduces the run.
    settings : mapping
        The settings that were given and those that the method chose, as JSON values.
    blocks : mapping of str to ndarray
        Further arrays of the method, such as variances.
    graph : Graph or None
        The graph that was embedded, if there was one.
    frames : Frames or None
        Intermediate maps that were kept.
    version : str
        The version of winkel that made the map.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> result = wk.MDE(max_iter=20, random_state=0).fit(wk.datasets.load_digits().X[:200]).result_
    >>> len(result), np.asarray(result).shape, result.seed
    (200, (200, 2), 0)
    """

    Y: FloatArray
    objective: float
    residual: float
    history: History
    status: Status
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    blocks: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graph: Any = None
    frames: Frames | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        Y = _read_only(self.Y)
        if Y.ndim != 2 or not np.issubdtype(Y.dtype, np.floating):
            raise InvalidInputError(
                f"Y must be a two-dimensional array of floats; got shape {Y.shape}, dtype {Y.dtype}."
            )
        blocks = {name: _read_only(block) for name, block in self.blocks.items()}
        object.__setattr__(self, "Y", Y)
        object.__setattr__(self, "objective", float(self.objective))
        object.__setattr__(self, "residual", float(self.residual))
        object.__setattr__(self, "blocks", MappingProxyType(blocks))
        # Checked here, since a setting that cannot be saved should not come to light after the work.
        object.__setattr__(self, "settings", MappingProxyType(plain_json(self.settings, "settings")))

    def __repr__(self) -> str:
        n, m = self.Y.shape
        parts = [f"{n} × {m}", f"objective {self.objective:.6g}", self.status.word]
        if self.blocks:
            parts.append(f"blocks {', '.join(self.blocks)}")
        return f"<Embedding {'; '.join(parts)}>"

    def __len__(self) -> int:
        return len(self.Y)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy:
            return np.array(self.Y, dtype=dtype)
        return np.asarray(self.Y, dtype=dtype)

    def _repr_html_(self) -> str:
        """A small table for a notebook."""
        n, m = self.Y.shape
        rows = {
            "map": f"{n} × {m}",
            "objective": f"{self.objective:.6g}",
            "residual": f"{self.residual:.3g}",
            "status": f"{self.status.word}: {self.status.sentence}",
            "iterations": str(self.history.n_rows - 1),
            "seed": str(self.seed),
            "blocks": ", ".join(f"{name} {block.shape}" for name, block in self.blocks.items()),
            "settings": ", ".join(f"{name}={value!r}" for name, value in self.settings.items()),
            "winkel": self.version,
        }
        lines = (f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items() if v)
        return f"<table><tbody>{''.join(lines)}</tbody></table>"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        values["settings"], values["blocks"] = dict(self.settings), dict(self.blocks)
        return type(self), tuple(values.values())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this embedding to one file, which `winkel.load` opens."""
        meta, arrays = to_arrays(self)
        write_archive(path, KIND, meta, arrays)


def to_arrays(embedding: Embedding) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """An embedding as JSON values and arrays, for a file of its own or as a part of another file."""
    packer = Packer()
    meta: dict[str, Any] = {
        "Y": packer.pack(embedding.Y, "Y"),
        "objective": embedding.objective,
        "residual": embedding.residual,
        "history": packer.pack(dict(embedding.history), "history"),
        "status": [embedding.status.word, embedding.status.sentence],
        "seed": embedding.seed,
        "settings": dict(embedding.settings),
        "blocks": packer.pack(embedding.blocks, "blocks"),
        "graph": None,
        "frames": None,
        "version": embedding.version,
    }
    if embedding.graph is not None:
        graph_meta, graph_arrays = embedding.graph.to_arrays()
        meta["graph"] = {"meta": graph_meta, "arrays": packer.pack(graph_arrays, "graph")}
    if embedding.frames is not None:
        frames = (embedding.frames.iteration, embedding.frames.Y)
        meta["frames"] = packer.pack(frames, "frames")
    return meta, packer.arrays


def from_arrays(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Embedding:
    """The embedding that was converted by `to_arrays`."""
    try:
        graph = meta["graph"]
        if not isinstance(meta["settings"], dict):
            raise ValueError("its settings have no names")
        if graph is not None:
            # Only an embedding with a graph needs it.
            graph_type = importlib.import_module("winkel.graph").Graph
            graph = graph_type.from_arrays(graph["meta"], unpack(graph["arrays"], arrays))
        found = Embedding(
            Y=unpack(meta["Y"], arrays),
            objective=meta["objective"],
            residual=meta["residual"],
            history=History(unpack(meta["history"], arrays)),
            status=Status(*meta["status"]),
            seed=meta["seed"],
            settings=meta["settings"],
            blocks=unpack(meta["blocks"], arrays),
            graph=graph,
            frames=None if meta["frames"] is None else Frames(*unpack(meta["frames"], arrays)),
            version=meta["version"],
        )
        _check_loaded(found)
        return found
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"The file does not contain a complete embedding ({error}).") from None


def _check_loaded(embedding: Embedding) -> None:
    """Raise ValueError if parts do not fit together, or if places are not finite."""
    Y, frames, graph = embedding.Y, embedding.frames, embedding.graph
    if not np.isfinite(Y).all():
        raise ValueError("the map has values that are not finite")
    for name, block in embedding.blocks.items():
        if block.dtype.kind not in "biufUS":
            raise ValueError(f"the block {name!r} holds {block.dtype}")
    if frames is not None and (frames.Y.ndim != 3 or frames.Y.shape[:1] != frames.iteration.shape):
        raise ValueError("its frames do not fit together")
    if graph is not None and graph.n != len(Y):
        raise ValueError(f"the graph has {graph.n} items, and the map {len(Y)} rows")
    if not isinstance(embedding.seed, int | None) or not isinstance(embedding.version, str):
        raise ValueError("its seed or version has a wrong type")
    if not all(isinstance(part, str) for part in (embedding.status.word, embedding.status.sentence)):
        raise ValueError("its status is no text")


def from_archive(archive: Archive) -> Embedding:
    """The embedding in an archive of kind "embedding"."""
    return from_arrays(archive.meta, archive.arrays)


def load(path: str | os.PathLike[str], *, max_memory: int | float | str | None = None) -> Any:
    """The Embedding or fitted estimator that was saved at `path`.

    Nothing in the file is ever executed. A file that is damaged, truncated, foreign or written in a newer
    format raises ModelFileError, whose message says which of these it is.

    Parameters
    ----------
    path : str or path
        A file written by `save` of an Embedding or an estimator.
    max_memory : int, str or None, default=None
        Largest amount of memory for its arrays, in bytes or as text such as "4GB"; it is checked before any array is decompressed.
        None is the free memory of this computer.

    Returns
    -------
    Embedding or estimator
        The saved object, with the same bytes.

    Examples
    --------
    >>> import winkel as wk
    >>> X = wk.datasets.load_digits().X[:200]
    >>> wk.MDE(max_iter=20, random_state=0).fit(X).save("digits.winkel")
    >>> wk.load("digits.winkel").transform(X[:3]).shape
    (3, 2)
    """
    archive = read_archive(path, max_memory=parse_memory(max_memory))
    if archive.kind not in _LOADERS:
        known = ", ".join(_LOADERS)
        advice = (
            "Pass it as `checkpoint` to the fit that wrote it."
            if archive.kind == "checkpoint"
            else f"Files with {known} can be loaded."
        )
        raise ModelFileError(
            f"{os.fspath(path)!r} holds a {archive.kind!r}, which load does not open. {advice}"
        )
    module, function = _LOADERS[archive.kind].split(":")
    return getattr(importlib.import_module(module), function)(archive)


def _read_only(array: Any) -> NDArray[Any]:
    """The array itself if nobody can write to it through this name, else a read-only copy."""
    array = np.asarray(array)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return cast(NDArray[Any], array)
