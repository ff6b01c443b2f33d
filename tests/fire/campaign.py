"""A million executions of every target of the fuzzers, in pieces; what each piece came to is a line of `executions.csv`.

    python -m tests.fire.campaign FOLDER [--total 1000000] [--piece 50000] [--minutes 60] [--only TARGET ...]

FOLDER keeps the inputs by which atheris goes on, from piece to piece. Lines add up: a campaign goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from . import fuzz
from .child import ENVIRONMENT, ROOT

LEDGER = Path(__file__).parent / "executions.csv"
FIELDS = ("date", "target", "how", "executions", "cpu_seconds", "failures", "endless_in_hdf5")


def totals() -> dict[str, int]:
    """Executions so far, by target."""
    found = dict.fromkeys(fuzz.TARGETS, 0)
    with LEDGER.open(newline="") as stream:
        for line in csv.DictReader(stream):
            found[line["target"]] += int(line["executions"])
    return found


def piece(target: str, folder: Path, runs: int, seconds: float) -> bool:
    """Run a piece and write its line; whether it went well."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "found.json").unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tests.fire.fuzz", target, str(folder), "--runs", str(runs)]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], cwd=ROOT, env=ENVIRONMENT, text=True, capture_output=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not (folder / "found.json").exists():
        print(f"{target}: nothing found, code {done.returncode}: {done.stderr[-500:]}", flush=True)
        return False
    found = json.loads((folder / "found.json").read_text())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    failures = found["failures"] + ([f"code {done.returncode}"] if done.returncode else [])
    with LEDGER.open("a", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerow(
            [
                date.today(),
                target,
                fuzz.how(target),
                found["executions"],
                round(cpu),
                len(failures),
                found["elsewhere"],
            ]
        )
    print(f"{target}: {found['executions']} executions, {cpu:.0f} s of CPU, {failures}", flush=True)
    return not failures


def main() -> int:
    """Go on until every target has its number, or time is up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=fuzz.TARGETS, default=list(fuzz.TARGETS))
    parser.add_argument("--total", type=int, default=10**6)
    parser.add_argument("--piece", type=int, default=50_000)
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    end, well = time.monotonic() + 60 * options.minutes, True
    for target in options.only:
        while (missing := options.total - totals()[target]) > 0 and (left := end - time.monotonic()) > 5:
            if not piece(target, options.folder / target, min(missing, options.piece), left):
                well = False
                break
    print(totals())
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
