"""Fuzzing: bytes into the readers, which may refuse them by an error of winkel's own and do nothing else.

Where atheris is installed (`pip install atheris`), it guides by coverage of winkel's Python (`guided`); elsewhere seeds are mutated
blindly (`blind`). h5ad files, on which HDF5 may run for ever, go to children that are watched (`watched`). Seeds are made by this version of winkel, and `corpus` holds further inputs by target: those that once failed.
One target a process:

    python -m tests.fire.fuzz TARGET FOLDER [--seconds 60] [--runs N] [--blind]

writes the number of executions and what failed to FOLDER/found.json, and keeps inputs that failed beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import random
import re
import resource
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
SUFFIXES = (".csv", ".npy", ".npz", ".tsv", ".csv.gz")
ROOM = 8192  # where arrays begin in files that are put together from a header and the rest
LONGEST = {
    "model": 12000,
    "checkpoint": 8000,
    "table": 3000,
    "h5ad": 26000,
    "arguments": 600,
}  # bytes of an input
FOLDER = Path(".")


def model(data: bytes) -> None:
    """The loader of model files."""
    import winkel as wk

    (FOLDER / "f").write_bytes(put_together(data))
    wk.load(FOLDER / "f", max_memory="100MB")


def checkpoint(data: bytes) -> None:
    """The reader of checkpoints, for a run that the file says it is of."""
    from winkel.data.archive import read_archive
    from winkel.solvers.checkpoint import Checkpoint
    from winkel.solvers.em import EMState

    file = FOLDER / "c"
    file.write_bytes(put_together(data))
    found = read_archive(file, kind="checkpoint", max_memory=10**8)
    Checkpoint(file, found.meta.get("identity", {})).load(EMState)


def table(data: bytes) -> None:
    """The readers of data; the first byte chooses the format."""
    suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else ".csv"
    _read(suffix, data[1:])


def h5ad(data: bytes) -> None:
    """The reader of AnnData files, in little memory: HDF5 takes ever more for some broken files, for minutes."""
    _limit_memory()
    _read(".h5ad", data)


@cache
def _limit_memory(room: int = 60 * 10**6) -> None:
    """From now on this process may have `room` bytes more than it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))


def _read(suffix: str, data: bytes) -> None:
    import winkel as wk

    (FOLDER / f"t{suffix}").write_bytes(data)
    wk.data.read(FOLDER / f"t{suffix}")


def arguments(data: bytes) -> None:
    """The parser of the command line and of --set: words, separated by zero bytes. Parsing alone; nothing is run."""
    from winkel.cli.methods import read_settings

    parser, methods = _parser()
    words = data.decode("utf-8", "replace").split("\0")
    with contextlib.suppress(SystemExit):
        options = parser.parse_args(words)
        if options.command == "embed" and options.method in methods:
            read_settings(methods[options.method], options.set)


@cache
def _parser() -> Any:
    """The parser, and the methods by name. Messages are not looked for in other languages, which takes most of the time."""
    from winkel.cli.methods import methods
    from winkel.cli.parser import make_parser

    os.environ["LANGUAGE"] = "C"
    return make_parser(), methods()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "model": model, "checkpoint": checkpoint, "table": table, "h5ad": h5ad, "arguments": arguments,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------- inputs


def seeds(target: str) -> list[bytes]:
    """Small whole inputs to begin with, and the corpus."""
    made = {
        "arguments": _lines,
        "table": _tables,
        "model": _models,
        "checkpoint": _checkpoints,
        "h5ad": _h5ad,
    }
    return made[target]() + [file.read_bytes() for file in sorted((CORPUS / target).glob("*"))]


def _lines() -> list[bytes]:
    lines = (
        "embed a.csv -o b.csv --method lvm --set n_neighbors=5 --set max-iter=20 --seed 3 --max-memory 4GB",
        "embed a.npz --key X --label y --columns a,b --set metric=cosine --set repulsive=log -o b.csv --html b.html",
        "measure a.csv b.csv --scores recall,trustworthiness --n-neighbors 7",
        "compare a.csv --methods mde,umap -o out",
        "info",
        "view a.html --port 80",
        "demo -o x",
    )
    return [line.replace(" ", "\0").encode() for line in lines]


def _tables() -> list[bytes]:
    import gzip

    import numpy as np
    import scipy.sparse as sp

    stream, packed, sparse = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(stream, np.eye(3))
    np.savez(packed, X=np.eye(3), y=np.arange(3))
    sp.save_npz(sparse, sp.csr_matrix(np.eye(3)))
    return [
        b"\0a,b\n1,2\n3,4\n", b'\0"y;";"x ""1"""\n2;1e3\n+7;-.5\n', b"\1" + stream.getvalue(), b"\2" + packed.getvalue(),
        b"\2" + sparse.getvalue(), b"\3a\tb\n1\t2\n2\t1\n", b"\4" + gzip.compress(b"1,2\n3,4\n", mtime=0),
    ]  # fmt: skip


def _models() -> list[bytes]:
    import winkel as wk

    from ..estimators import instances, make, rows

    found, file = [], FOLDER / "seed"
    for name in ("MDE", "MDE-distances", "LVM", "KDSClustering", "TSM-landmarks", "AttractRepel-pca", "TSNE"):
        cls, own = instances()[name]
        fitted = make(cls, **{**own, "max_iter": 2}).fit(rows(8, 2))
        fitted.save(file)
        found.append(taken_apart(file.read_bytes()))
    fitted.result_.save(file)
    found.append(taken_apart(file.read_bytes()))
    wk.load(file)
    return found


def _checkpoints() -> list[bytes]:
    import winkel as wk

    from ..estimators import rows

    with contextlib.suppress(ZeroDivisionError):
        wk.LVM(
            max_iter=2, n_neighbors=3, random_state=0, checkpoint=FOLDER / "seed", callbacks=[lambda info: 1 / 0],
        ).fit(rows(8, 2))  # fmt: skip
    file = next(path for path in FOLDER.iterdir() if path.name.startswith("seed"))
    return [taken_apart(file.read_bytes())]


def _h5ad() -> list[bytes]:
    """Small files, two of the older layout, which has no checksums inside."""
    import anndata
    import h5py
    import numpy as np
    import scipy.sparse as sp
    from anndata.io import write_elem

    found, file = [], FOLDER / "seed.h5ad"
    for X, layout in ((np.eye(3), "earliest"), (sp.csr_matrix(np.eye(3)), "earliest"), (np.eye(3), "latest")):
        content = anndata.AnnData(X, obs={"group": ["a", "b", "a"]})
        with h5py.File(file, "w", libver=layout) as target:
            target.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
            for part in ("X", "obs", "var"):
                write_elem(target, part, getattr(content, part))
        found.append(file.read_bytes())
    return found


def taken_apart(file: bytes) -> bytes:
    """A file as the fuzzers change it: header, zero byte, arrays. Offsets are those of a header of fixed room."""
    size = struct.unpack("<Q", file[16:24])[0]
    header = json.loads(file[32 : 32 + size])
    first = min((entry["offset"] for entry in header["arrays"]), default=len(file) - 32)
    for entry in header["arrays"]:
        entry["offset"] += ROOM - first
    return json.dumps(header, separators=(",", ":")).encode() + b"\0" + file[first:-32]


def put_together(data: bytes) -> bytes:
    """A file with the lengths and the checksum that it should have, so that the checks behind those are reached."""
    if not data.startswith(b"{"):
        return data
    header, _, rest = data.partition(b"\0")
    header = header.ljust(ROOM - 32)
    body = (
        struct.pack("<8sIIQQ", b"\x89winkel\n", 1, 0, len(header), 64 + len(header) + len(rest))
        + header
        + rest
    )
    return body + hashlib.blake2b(body, digest_size=32).digest()


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


# ------------------------------------------------------------------------------------------------------ fuzzers


class Judge:
    """Runs one target on inputs, counts, and keeps one input of every kind of failure."""

    def __init__(self, target: str) -> None:
        from winkel.errors import WinkelError

        self._run, self._own = TARGETS[target], WinkelError
        self.count, self.failures = 0, dict[str, str]()
        self.answer = ""  # what was said when the last input was refused
        self.elsewhere = 0  # inputs on which another library's own code did not end

    def __call__(self, data: bytes) -> bool:
        """Whether the input was read whole."""
        self.count += 1
        self.answer = ""
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                self._run(data)
            return True
        except self._own as error:
            self.answer = str(error)
            return False
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            key = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            if key not in self.failures:
                self.failures[key] = f"{key}: {error}"[:300]
                (FOLDER / f"failure-{hashlib.sha256(key.encode()).hexdigest()[:8]}").write_bytes(data)
            return False

    def tell(self) -> None:
        """Write what was found so far to FOLDER, whole at any time."""
        part = FOLDER / "found.part"
        found = {"executions": self.count, "failures": [*self.failures.values()], "elsewhere": self.elsewhere}
        part.write_text(json.dumps(found))
        part.replace(FOLDER / "found.json")


def blind(target: str, seconds: float, runs: int) -> None:
    """Mutate seeds, and inputs that were read whole."""
    rng, pool, judge = random.Random(0), seeds(target), Judge(target)
    begin = time.monotonic()
    while time.monotonic() - begin < seconds and judge.count != runs:
        data = mutated(rng.choice(pool), rng)
        if judge(data) and len(pool) < 200 and rng.random() < 0.05:
            pool.append(data)  # what is read whole is a good place to go on from
    judge.tell()


def watched(target: str, seconds: float, runs: int) -> None:
    """Mutate seeds, and inputs that got an answer that was not seen before, in children that may stand still."""
    from .watched import Watch

    pool, judge, answers = seeds(target), Judge(target), set[str]()
    for data in pool:
        judge(data)

    def work(rng: random.Random, count: Callable[[], None]) -> None:
        while True:
            data = mutated(rng.choice(pool), rng)
            judge(data)
            answer = re.sub(r"[0-9a-fx]{2,}|'.*?'", "", judge.answer)
            if answer not in answers and len(pool) < 200:
                answers.add(answer)
                pool.append(data)
            if judge.failures:
                (FOLDER / "failures").write_text(json.dumps(judge.failures))
            count()

    (FOLDER / "failures").write_text("{}")
    watch = Watch(FOLDER, FOLDER / f"t.{target}", work)
    watch.run(seconds, runs, time.time_ns())
    judge.failures |= json.loads((FOLDER / "failures").read_text())
    judge.failures |= {f"watched {k}": failure for k, failure in enumerate(watch.failures)}
    judge.count, judge.elsewhere = watch.count, watch.elsewhere
    judge.tell()


def guided(target: str, seconds: float, runs: int) -> None:
    """Mutate what reached new parts of winkel's Python, by atheris; it ends the process."""
    import atheris

    inputs = FOLDER / "inputs"
    inputs.mkdir(exist_ok=True)
    with atheris.instrument_imports(include=["winkel"]):
        first = seeds(target)
        judge = Judge(target)
        for data in first:  # what is imported when it is first used is imported here
            judge(data)
    for k, data in enumerate(first):
        (inputs / f"seed{k}").write_bytes(data)
    words = {word for data in first for word in re.findall(rb'"[\w. ]{2,30}"|[\w-]{3,30}', data)}
    (FOLDER / "words").write_bytes(b"".join(b'"%s"\n' % word.replace(b'"', b'\\"') for word in sorted(words)))

    def once(data: bytes) -> None:
        judge(data)
        if judge.count % 1000 == 0:
            judge.tell()

    options = [
        f"-max_total_time={seconds:.0f}", f"-runs={runs}", f"-max_len={LONGEST[target]}", "-len_control=0", "-timeout=60",
        "-rss_limit_mb=4000", f"-dict={FOLDER / 'words'}", f"-artifact_prefix={FOLDER}/", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(inputs)], once)
    judge.tell()
    atheris.Fuzz()


def how(target: str = "") -> str:
    """How inputs are found here, in words."""
    if target == "h5ad":
        return "guided by answers"
    return "blindly" if importlib.util.find_spec("atheris") is None else "guided by coverage"


def main() -> None:
    """Fuzz one target."""
    global FOLDER
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--blind", action="store_true")
    options = parser.parse_args()
    FOLDER = options.folder
    warnings.simplefilter("ignore")
    fuzzer = {"guided by coverage": guided, "guided by answers": watched}.get(how(options.target), blind)
    (blind if options.blind else fuzzer)(options.target, options.seconds, options.runs)


if __name__ == "__main__":
    main()
