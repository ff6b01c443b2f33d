"""The folder of a run by shards: arrays on disk, of which each task writes a part, and a record of finished work.

A task writes the rows that it owns, always with the same bytes. A line in the record of the stage says that
its part is finished, so that a run that ended early continues with the missing parts.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.archive import atomic_file
from ..errors import InvalidParameterError, ModelFileError
from ..run import Run
from ..typing import FloatArray
from .engine import Engine, explained

_IDENTITY = "run.json"
# Descriptions of the stages for the progress display.
_WORDS = {
    "copied": "shards read",
    "assigned": "cells of rows",
    "sorted": "rows in the order of cells",
    "searched": "neighbours searched",
    **{f"joined-{r}": f"neighbours' neighbours, round {r + 1}" for r in range(4)},
    "compared": "neighbours compared",
    "given": "weights",
    "paired": "pairs",
}
_MOST_REFUSED = 8  # results of a stage that are not accepted, after which it ends


@dataclass(frozen=True)
class Folder:
    """Named arrays of a run, each an .npy file; it can be sent to other processes that use the same disk."""

    path: Path

    @classmethod
    def opened(cls, path: str | os.PathLike[str], identity: dict[str, Any]) -> Folder:
        """The folder of the run that `identity` describes, created if it does not exist; a folder of another run is refused."""
        folder = cls(Path(os.fspath(path)).absolute())  # workers may have another working folder
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.tidy()
        mine = json.loads(json.dumps(identity))
        theirs = folder.note(_IDENTITY)
        if theirs is None:
            folder.keep_note(_IDENTITY, mine)
            return folder
        other = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
        if other:
            raise folder.of_another_run(", ".join(other))
        return folder

    def of_another_run(self, what: str) -> InvalidParameterError:
        """The error for a folder of another run."""
        return InvalidParameterError(
            f"{str(self.path)!r} belongs to another run, which differs in {what}. Use the data and settings of that run, choose "
            "another folder, or delete this one."
        )

    def tidy(self) -> None:
        """Delete files that were left by clients and workers that ended while they were writing."""
        for pattern in ("shared-*.npy", ".*.tmp"):
            for left in self.path.glob(pattern):
                left.unlink(missing_ok=True)

    # ---------------------------------------------------------------------------------------------- arrays

    def create(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        """An array that will be written in parts; its space is allocated at once, so that a full disk is noticed before the work."""
        header = npy_header(shape, dtype)
        size = len(header) + int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        path = self._file(name)
        with explained(path):
            if path.exists() and path.stat().st_size == size:
                with path.open("rb") as file:
                    if file.read(len(header)) == header:
                        return  # begun by an earlier run
            try:
                with path.open("wb") as file:
                    file.write(header)
                    file.flush()
                    os.posix_fallocate(file.fileno(), 0, size)
            except OSError:
                path.unlink(missing_ok=True)
                raise

    def write(self, name: str, first: int, rows: FloatArray | Any) -> None:
        """Write consecutive rows of an array that was created."""
        whole = self.map(name)
        values = np.ascontiguousarray(rows, dtype=whole.dtype)
        if values.shape[1:] != whole.shape[1:] or not 0 <= first <= first + len(values) <= len(whole):
            raise ValueError(
                f"{name}: rows {first} to {first + len(values)} of shape {values.shape} do not fit."
            )
        row = int(np.prod(whole.shape[1:], dtype=np.int64)) * whole.dtype.itemsize
        with explained(self._file(name)), self._file(name).open("r+b") as file:
            file.seek(whole.offset + first * row)
            file.write(memoryview(values).cast("B"))

    def read(self, name: str, first: int, last: int) -> Any:
        """Consecutive rows of an array, in memory."""
        return np.array(self.map(name)[first:last])

    def map(self, name: str) -> Any:
        """A whole array, mapped into memory."""
        try:
            return np.load(self._file(name), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ModelFileError(f"{str(self._file(name))!r} cannot be read: {error}.") from error

    def stamp(self, name: str) -> int:
        """A number that changes when an array is written again, which makes copies in memory out of date."""
        return self._file(name).stat().st_mtime_ns

    def save(self, name: str, values: Any) -> None:
        """Write a whole array, all or nothing."""
        array = np.ascontiguousarray(values)
        with atomic_file(self._file(name)) as file:
            file.write(npy_header(array.shape, array.dtype))
            # By Python, which tells of a full disk what NumPy does not.
            file.write(array.reshape(-1).view(np.uint8))

    def remove(self, *names: str) -> None:
        """Delete arrays that are no longer needed."""
        for name in names:
            self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.npy"

    # ---------------------------------------------------------------------------------------------- stages

    def note(self, name: str) -> Any:
        """A small JSON value that was stored, or None."""
        try:
            return json.loads((self.path / name).read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ModelFileError(f"{str(self.path / name)!r} cannot be read: {error}.") from error

    def keep_note(self, name: str, value: Any) -> None:
        """Store a small JSON value."""
        with atomic_file(self.path / name) as file:
            file.write(json.dumps(value).encode())

    def forget(self, *stages: str) -> None:
        """Mark stages as not done."""
        for stage in stages:
            for kind in ("json", "jsonl"):
                (self.path / f"{stage}.{kind}").unlink(missing_ok=True)

    def once(self, stage: str, work: Callable[[], Any]) -> Any:
        """The result of `work`, a small JSON value; from an earlier run if there is one, otherwise computed."""
        kept = self.note(f"{stage}.json")
        if kept is None:
            kept = json.loads(json.dumps({"result": work()}))
            self.keep_note(f"{stage}.json", kept)
        return kept["result"]

    def stage(
        self,
        stage: str,
        engine: Engine,
        function: Callable[..., Any],
        count: int,
        run: Run,
        *shared: Any,
        accept: Callable[[int, Any], bool] = lambda k, result: True,
        words: str | None = None,
    ) -> list[Any]:
        """The results of function(k, folder, *shared) for k from 0 to count − 1, small JSON values; results of an earlier run are reused.

        Results that `accept` refuses count as not done. After a few of them, the stage ends early, with None for missing results.
        """
        record = self.path / f"{stage}.jsonl"
        done = {k: result for k, result in _recorded(record).items() if accept(k, result)}
        missing = [k for k in range(count) if k not in done]
        results, refused = engine.map(function, missing, self, *shared), 0
        for k in run.progress(missing, words or _WORDS.get(stage, stage), len(missing)):
            done[k] = next(results)
            with explained(record), record.open("a") as file:
                file.write(json.dumps({"item": k, "result": done[k]}) + "\n")
            refused += not accept(k, done[k])
            if refused == _MOST_REFUSED:
                break
        return [done.get(k) for k in range(count)]


def npy_header(shape: tuple[int, ...], dtype: Any) -> bytes:
    """The first bytes of an .npy file."""
    header = io.BytesIO()
    described = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(header, {"descr": described, "fortran_order": False, "shape": shape})
    return header.getvalue()


def _recorded(record: Path) -> dict[int, Any]:
    """The results of finished tasks by their number; a line that was cut off by a crash counts as missing."""
    done: dict[int, Any] = {}
    with suppress(FileNotFoundError):
        whole = record.read_bytes()
        for line in whole.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                done[int(entry["item"])] = entry["result"]
        if whole and not whole.endswith(b"\n"):
            with record.open("ab") as file:
                file.write(b"\n")
    return done
