"""The command line as a shell sees it: files, pipes, exit codes, hostile names, being killed and resumed."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from winkel.cli import main
from winkel.data import read
from winkel.maps import read_map

from ..unit.cli.data import CLASSES, rows, write_table
from .process import COMMAND, ENVIRONMENT, command, start

pytestmark = pytest.mark.slow
FEW = ("--set", "max_iter=20", "--set", "n_neighbors=5")
NAMED = ("--id", "name", "--label", "kind")


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv")
    return tmp_path


def write_as(folder, suffix):
    """The same table in another format; its name."""
    _, which = rows()
    X = read(folder / "table.csv", label="kind", id="name").values  # in double precision, as text is read
    names, kinds = [f"row {i}" for i in range(len(X))], [CLASSES[k] for k in which]
    path = folder / f"other{suffix}"
    if suffix == ".npz":
        np.savez(path, X=X, name=names, kind=kinds)
    else:
        columns = {"name": names, **{f"f{j}": X[:, j] for j in range(X.shape[1])}, "kind": kinds}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path.name


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_every_format_gives_the_same_map(folder, monkeypatch, capfd, suffix):
    monkeypatch.chdir(folder)
    name = write_as(folder, suffix)
    assert main(["embed", name, "-o", f"map{suffix}", *NAMED, *FEW, "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["files"] == {"map": f"map{suffix}"}
    assert "%|" not in err
    found = read_map(folder / f"map{suffix}")
    assert found.ids.tolist() == [f"row {i}" for i in range(60)]
    assert found.labels.tolist() == [CLASSES[i % 3] for i in range(60)]
    assert main(["--quiet", "embed", "table.csv", "-o", "map.csv", *NAMED, *FEW]) == 0
    np.testing.assert_allclose(found.Y, read_map("map.csv").Y, atol=1e-3)


def test_standard_input_and_output(folder):
    table = (folder / "table.csv").read_bytes()
    code, out, err = command("embed", "-", "-o", "-", *NAMED, *FEW, folder=folder, given=table)
    assert code == 0, err
    lines = out.decode().splitlines()
    assert lines[0] == "id,label,y1,y2"
    assert len(lines) == 61
    assert b"map: standard output" in err
    assert (
        main(["--quiet", "embed", str(folder / "table.csv"), "-o", str(folder / "map.csv"), *NAMED, *FEW])
        == 0
    )
    assert (folder / "map.csv").read_bytes() == out


def test_a_reader_that_goes_away_is_no_traceback(folder):
    line = " ".join([*COMMAND, "embed", "table.csv", "-o", "-", *NAMED, "--method", "pca", "| true"])
    result = subprocess.run(
        line, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=120, check=False
    )
    assert b"Traceback" not in result.stderr
    assert b"Exception ignored" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [((), 2), (("embed", "none.csv", "-o", "map.csv"), 1), (("--version",), 0)]
)
def test_exit_codes(folder, arguments, code):
    got, _, err = command(*arguments, folder=folder)
    assert got == code
    assert b"Traceback" not in err


def test_a_hostile_name(folder):
    name = "-rf $(touch owned);'\"\n<script>ünï😀.csv"
    os.rename(folder / "table.csv", folder / name)
    code, out, err = command(
        "embed", f"./{name}", f"--output=map of {name}", *NAMED, "--method=pca", "--json", folder=folder
    )
    assert code == 0, err
    assert json.loads(out)["input"] == f"./{name}"
    assert sorted(os.listdir(folder)) == sorted([name, f"map of {name}"])


LONG = ("--set", "tol=0", "--set", "n_neighbors=5")
AT_ONCE = ("--checkpoint-every", "0")


def wait_for_checkpoints(folder, process, count):
    """Wait until the checkpoint was written a few times: then some iterations are in it."""
    deadline, seen = time.monotonic() + 100, set()
    while len(seen) < count and time.monotonic() < deadline and process.poll() is None:
        for part in folder.glob("map.*.part*"):
            with suppress(FileNotFoundError):
                seen.add((part.name, part.stat().st_mtime_ns))
        time.sleep(0.001)
    assert len(seen) >= count


def test_a_killed_and_resumed_fit_gives_the_same_bytes(folder, monkeypatch, capfd):
    arguments = ["embed", "table.csv", "-o", "map.npz", *NAMED, *LONG, "--set", "max_iter=200"]
    process = start(*arguments, *AT_ONCE, folder=folder)
    wait_for_checkpoints(folder, process, 5)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "map.npz").exists()
    monkeypatch.chdir(folder)
    assert main([*arguments, "--resume", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["n_iter"] == 200
    arguments[3] = "whole.npz"
    assert main(["--quiet", *arguments]) == 0
    assert (folder / "map.npz").read_bytes() == (folder / "whole.npz").read_bytes()
    # A process that is killed while it writes cannot remove its temporary file.
    left = sorted(name for name in os.listdir(folder) if not name.endswith(".tmp"))
    assert left == ["map.npz", "table.csv", "whole.npz"]


def test_ctrl_c_writes_the_best_map_so_far(folder):
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from winkel.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ("embed", "table.csv", "-o", "map.csv", *NAMED, *LONG, *AT_ONCE, "--set", "max_iter=1000000")
    process = subprocess.Popen(
        [COMMAND[0], "-c", program, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for_checkpoints(folder, process, 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert b"--resume continues from here" in err
    assert b"Traceback" not in err
    assert read_map(folder / "map.csv").Y.shape == (60, 2)


def test_a_bar_is_drawn_on_a_terminal(folder):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, "embed", "table.csv", "-o", "map.csv", *NAMED, *FEW],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0, seen
    assert b"%|" in seen
    assert out == b""


def test_help_is_quick_to_import():
    code = "import sys; from winkel.cli.parser import make_parser; make_parser(); print(*sys.modules)"
    result = subprocess.run(
        [COMMAND[0], "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert not {"numpy", "scipy", "sklearn", "matplotlib"} & set(result.stdout.split())


def test_a_fit_needs_no_picture_package(folder):
    code = (
        "import sys; from winkel.cli import main; "
        "main(['--quiet', 'embed', 'table.csv', '-o', 'map.csv', '--id', 'name', '--label', 'kind', "
        "'--set', 'n_neighbors=5', '--set', 'max_iter=5']); print(*sys.modules)"
    )
    result = subprocess.run(
        [COMMAND[0], "-c", code], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert not {"matplotlib", "sklearn.neighbors", "starlette", "torch"} & set(result.stdout.split())
