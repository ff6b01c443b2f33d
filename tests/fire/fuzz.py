"""Fuzzing: bytes into the readers, which may refuse them by an error of winkel's own and do nothing else.

Seeds are mutated, and inputs that were read whole are mutated further; nothing is guided by coverage. One target a process, by
`python -m tests.fire.fuzz TARGET SECONDS FOLDER`, which writes the number of executions and the first failure as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.data.archive import read_archive
from winkel.errors import WinkelError

SUFFIXES = (".csv", ".npy", ".npz", ".tsv")
FOLDER = Path(".")


def model(data: bytes) -> None:
    """The loader of model files; the checksum is made right, so that the parts behind it are reached."""
    (FOLDER / "f").write_bytes(_summed(data))
    wk.load(FOLDER / "f", max_memory="100MB")


def checkpoint(data: bytes) -> None:
    """The reader of checkpoints."""
    (FOLDER / "c").write_bytes(_summed(data))
    read_archive(FOLDER / "c", kind="checkpoint", max_memory=10**8)


def table(data: bytes) -> None:
    """The readers of data; the first byte chooses the format."""
    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else ".csv"
    (FOLDER / f"t{suffix}").write_bytes(data[1:])
    wk.data.read(FOLDER / f"t{suffix}")


def arguments(data: bytes) -> None:
    """The parser of the command line: words, separated by zero bytes. Parsing alone; nothing is run."""
    from winkel.cli.parser import make_parser

    words = data.decode("utf-8", "replace").split("\0")
    with contextlib.suppress(SystemExit):
        make_parser().parse_args(words)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "model": model, "checkpoint": checkpoint, "table": table, "arguments": arguments,
}  # fmt: skip


def seeds(target: str) -> list[bytes]:
    """Small whole inputs to begin with."""
    if target == "arguments":
        lines = [
            "embed a.csv -o b.csv --method lvm --set n_neighbors=5",
            "measure a.csv b.csv",
            "info",
            "view a.html",
        ]
        return [line.replace(" ", "\0").encode() for line in lines]
    if target == "table":
        stream = io.BytesIO()
        np.save(stream, np.eye(3))
        packed = io.BytesIO()
        np.savez(packed, X=np.eye(3))
        return [b"\0a,b\n1,2\n3,4\n", b"\1" + stream.getvalue(), b"\2" + packed.getvalue(), b"\3a\tb\n1\t2\n"]
    file = FOLDER / "seed"
    if target == "model":
        wk.MDE(max_iter=2, n_neighbors=3, random_state=0).fit(
            np.random.default_rng(0).normal(size=(8, 2))
        ).save(file)
    else:
        with contextlib.suppress(ZeroDivisionError):
            X = np.random.default_rng(0).normal(size=(8, 2))
            wk.LVM(
                max_iter=2, n_neighbors=3, random_state=0, checkpoint=file, callbacks=[lambda info: 1 / 0]
            ).fit(X)
        file = next(path for path in FOLDER.iterdir() if path.name.startswith("seed"))
    return [file.read_bytes()]


def _summed(data: bytes) -> bytes:
    """The bytes with the lengths and the checksum that they should have, in three of four cases."""
    import hashlib
    import struct

    if len(data) < 96 or data[-1] % 4 == 0:
        return data
    body = bytearray(data[:-32])
    body[24:32] = struct.pack("<Q", len(data))
    return bytes(body) + hashlib.blake2b(body, digest_size=32).digest()


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A seed with some bytes changed, moved, cut or doubled."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 6)):
        kind, at = rng.randrange(5), rng.randrange(max(1, len(data)))
        if kind == 0 and data:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif kind == 2:
            del data[at : at + rng.randint(1, 16)]
        elif kind == 3:
            data[at : at + 4] = rng.choice(
                [b"\xff\xff\xff\xff", b"\0\0\0\0", b"1e99", b"nan,", b"-1,[", b'"x":']
            )
        else:
            end = at + rng.randint(1, 32)
            data[at:at] = data[at:end]
    return bytes(data)


def main() -> None:
    """Fuzz one target for so many seconds."""
    global FOLDER
    name, seconds, FOLDER = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    run, count, failure = TARGETS[name], 0, ""
    rng, pool = random.Random(0), seeds(name)
    begin = time.monotonic()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        while time.monotonic() - begin < seconds and not failure:
            data = mutated(rng.choice(pool), rng)
            count += 1
            try:
                run(data)
                if len(pool) < 200 and rng.random() < 0.05:
                    pool.append(data)  # what is read whole is a good place to go on from
            except WinkelError:
                pass
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"[:200]
                (FOLDER / "failure").write_bytes(data)
    print(json.dumps({"executions": count, "failure": failure}))


if __name__ == "__main__":
    main()
