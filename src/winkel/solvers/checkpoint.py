"""Runs on disk: the state of the loop, written from time to time, and read back to continue from exactly there."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple

from ..checks import plain_json
from ..data.archive import read_archive, write_archive
from ..data.serialize import Packer, unpack
from ..embedding import History
from ..errors import InvalidParameterError, ModelFileError
from ..typing import FloatArray
from .base import SolverState, StateT, digest

KIND = "checkpoint"


class Mark(NamedTuple, Generic[StateT]):
    """The state of a run after a complete iteration; replaced as a whole, so never half-written."""

    state: StateT
    best: StateT
    n_rows: int
    frames: tuple[tuple[int, FloatArray], ...]
    stride: int


class Checkpoint:
    """The checkpoint file of one run; `identity` says which run it belongs to."""

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        self.path = Path(path)
        self._identity = identity

    def save(self, mark: Mark[Any], history: History, seconds: float) -> None:
        """Write the file again, all or nothing."""
        packer = Packer()
        meta = {
            "identity": self._identity,
            "state": packer.pack(_fields(mark.state), "state"),
            "best": packer.pack(_fields(mark.best), "best"),
            "history": packer.pack(dict(history), "history"),
            "frames": packer.pack(mark.frames, "frames"),
            "stride": mark.stride,
            "seconds": seconds,
        }
        write_archive(self.path, KIND, meta, packer.arrays, compress=False)

    def load(self, state_type: type[StateT]) -> tuple[Mark[StateT], History, float]:
        """The mark, history and seconds of the file, once it is known to belong to this run."""
        archive = read_archive(self.path, kind=KIND)
        meta = archive.meta
        if not isinstance(meta.get("identity"), dict):
            raise ModelFileError(
                f"The checkpoint {str(self.path)!r} has no identity: so it is unknown which run it belongs to."
            )
        self._check_identity(meta["identity"])
        try:
            history = History(unpack(meta["history"], archive.arrays))
            state = state_type(**unpack(meta["state"], archive.arrays))
            best = state_type(**unpack(meta["best"], archive.arrays))
            frames = unpack(meta["frames"], archive.arrays)
            mark = Mark(state, best, history.n_rows, frames, int(meta["stride"]))
            return mark, history, float(meta["seconds"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The checkpoint {str(self.path)!r} does not contain what this version of the solver needs "
                f"({error}). Delete it to start again."
            ) from None

    def _check_identity(self, theirs: Mapping[str, Any]) -> None:
        names = [*self._identity, *(name for name in theirs if name not in self._identity)]
        differences = [
            f"{name} (here {_short(self._identity.get(name))}, there {_short(theirs.get(name))})"
            for name in names
            if self._identity.get(name) != theirs.get(name)
        ]
        if differences:
            raise InvalidParameterError(
                f"The checkpoint {str(self.path)!r} belongs to another run, which differs in "
                f"{'; '.join(differences)}. Use the data, settings and random_state of that run, choose "
                "another file, or delete this one."
            )


def identity(
    solver: Any, problem: object, Y0: FloatArray, fingerprint: Mapping[str, object] | None
) -> dict[str, Any]:
    """The properties that two runs must share so that one can continue where the other stopped: flat, JSON-able, comparable."""
    result = {"solver": solver.name, "problem": type(problem).__name__, "Y0": digest(Y0)}
    if dataclasses.is_dataclass(solver):
        for setting in dataclasses.fields(solver):
            value = getattr(solver, setting.name)
            try:
                result[f"solver.{setting.name}"] = plain_json(value, setting.name)
            except InvalidParameterError:
                result[f"solver.{setting.name}"] = type(value).__name__
    for name, value in (fingerprint or {}).items():
        result[f"fingerprint.{name}"] = plain_json(value, f"fingerprint.{name}")
    return result


def _fields(state: SolverState) -> dict[str, Any]:
    return {item.name: getattr(state, item.name) for item in dataclasses.fields(state)}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
