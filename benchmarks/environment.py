"""The peers' own virtual environment: pinned versions, installed once, absences recorded with their reason.

    python -m benchmarks.environment            create it, or report what is there
    python -m benchmarks.environment --again    try the absent peers once more

The environment stands in `.venv-peers` of the project, or where WINKEL_BENCH_ENV points. Each peer is
installed by its own pip call under one list of constraints, so that a peer that fails takes no other with it
and none moves another's pins.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .files import write_json

ROOT = Path(__file__).resolve().parent.parent
PYTHON_VERSION = (3, 11)


@dataclass(frozen=True)
class Peer:
    """A package to install: its pin, the module that proves it works, and whether pip follows its needs."""

    pin: str
    module: str
    follow: bool = True

    @property
    def name(self) -> str:
        return self.pin.split("==")[0]


# torch comes first and under an exact pin, so that nothing later can choose another (far larger) build of it.
# PyMDE depends on torchvision only to download its examples; torchvision would replace torch by a CUDA build,
# so PyMDE is installed without following its dependencies, and an empty module answers its import.
PEERS = (
    Peer("torch==2.13.0", "torch"),
    Peer("numpy==2.4.6", "numpy"),
    Peer("scipy==1.17.1", "scipy"),
    Peer("scikit-learn==1.9.1", "sklearn"),
    Peer("numba==0.68.1", "numba"),
    Peer("matplotlib==3.11.2", "matplotlib"),
    Peer("requests==2.34.2", "requests"),
    Peer("pynndescent==0.7.0", "pynndescent"),
    Peer("umap-learn==0.5.12", "umap"),
    Peer("pacmap==0.9.1", "pacmap"),
    Peer("openTSNE==1.0.4", "openTSNE"),
    Peer("setuptools==80.9.0", "pkg_resources"),
    Peer("annoy==1.17.3", "annoy"),
    Peer("trimap==1.1.4", "trimap", follow=False),
    Peer("hnswlib==0.8.0", "hnswlib"),
    Peer("faiss-cpu==1.15.1", "faiss"),
    Peer("pymde==0.3.0", "pymde", follow=False),
    Peer("phate==2.0.0", "phate"),
    Peer("torchdr==0.5", "torchdr"),
)
TORCHVISION = '"""Empty: PyMDE imports torchvision, whose functions the benchmarks never call."""\n'


def folder() -> Path:
    """Where the peers' environment stands."""
    return Path(os.environ.get("WINKEL_BENCH_ENV") or ROOT / ".venv-peers").resolve()


def interpreter() -> Path:
    """The peers' interpreter."""
    return folder() / "bin" / "python"


def ensure(again: bool = False) -> dict[str, str]:
    """Reasons of the absent peers, after creating the environment if it is missing or its pins changed."""
    record = folder() / "peers.json"
    plan = hashlib.sha256(repr((PEERS, TORCHVISION)).encode()).hexdigest()
    if record.exists() and interpreter().exists():
        known = json.loads(record.read_text())
        if known["plan"] == plan and not (again and known["absent"]):
            return known["absent"]
    if not interpreter().exists():
        subprocess.run([find_python(), "-m", "venv", str(folder())], check=True)
    absent = install_all(kept(record))
    write_json(record, {"plan": plan, "pins": [peer.pin for peer in PEERS], "absent": absent})
    return absent


def find_python() -> str:
    """A Python of the version whose wheels are pinned."""
    if sys.version_info[:2] == PYTHON_VERSION:
        return sys.executable
    name = "python{}.{}".format(*PYTHON_VERSION)
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"The peers need {name}, which is not on PATH; install it or put it there.")
    return found


def kept(record: Path) -> set[str]:
    """The pins that an earlier record says are installed; none if it is older than that note."""
    if not record.exists():
        return set()
    known = json.loads(record.read_text())
    return {pin for pin in known.get("pins", ()) if pin.split("==")[0] not in known["absent"]}


def install_all(installed: set[str] = frozenset()) -> dict[str, str]:  # type: ignore[assignment]
    """Reasons of the peers that could not be installed or imported; those `installed` are left alone."""
    constraints = folder() / "constraints.txt"
    constraints.write_text("".join(f"{peer.pin}\n" for peer in PEERS))
    absent = {}
    for peer in PEERS:
        if peer.pin in installed:
            continue
        print(f"installing {peer.pin}", flush=True)
        if not peer.follow:
            write_empty_torchvision()
        reason = install(peer, constraints)
        if reason is not None:
            absent[peer.name] = reason
            print(f"  absent: {reason}", flush=True)
    return absent


def install(peer: Peer, constraints: Path) -> str | None:
    """None when `peer` is installed and its module can be imported; else the reason in a line."""
    command = [
        str(interpreter()),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(constraints),
        peer.pin,
    ]
    done = subprocess.run(command + ([] if peer.follow else ["--no-deps"]), capture_output=True, text=True)
    if done.returncode == 0:
        command = [str(interpreter()), "-c", f"import {peer.module}"]
        done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else last_error(done.stderr)


def last_error(text: str) -> str:
    """The last line of a pip log or traceback that says what went wrong."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("hint:", "note:"))
    ]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no message"])[-1][:300]


def write_empty_torchvision() -> None:
    """Put an empty `torchvision` beside the other packages."""
    command = [str(interpreter()), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
    site = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    package = site / "torchvision"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(TORCHVISION)


def main() -> None:
    parser = argparse.ArgumentParser(description="Create the peers' environment and say what is absent.")
    parser.add_argument("--again", action="store_true", help="try the absent peers once more")
    absent = ensure(parser.parse_args().again)
    print(f"peers in {folder()}")
    for peer in PEERS:
        print(f"  {peer.pin:24} {'absent: ' + absent[peer.name] if peer.name in absent else 'present'}")


if __name__ == "__main__":
    main()
