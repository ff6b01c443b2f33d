"""Checks of report.py: what a run of some contestants leaves of an earlier table, and what is compared with what."""

from __future__ import annotations

import json

import pytest

from benchmarks import report
from benchmarks.harness import Contestant, Entry

ENTRY = Entry(
    name="toy",
    title="Toy",
    contestants=(Contestant("winkel", "a:b", (), "winkel"), Contestant("peer", "a:c", ())),
    reference="winkel",
    timings=("first",),
    better={"recall": "higher"},
    glance=("recall",),
    comments={"recall": "It tries harder.", "first call s": "It does less."},
)


def section(date: str, others: float = 0.0, **runs: tuple[float, float, float]) -> dict:
    """A section whose contestants have (wall seconds, processor seconds, recall)."""
    made = {"date": date, "commit": "abc", "repeats": 1, "load_before": 0, "load_after": 0}
    costs = {
        "rss_peak": 2e6,
        "rss_import": 1e6,
        "import_seconds": 1.0,
        "sha256": "x",
        "others": others,
        "round": 0,
    }
    records = {
        name: {
            "status": "ran",
            "session": made | {"threads": 1},
            "runs": [
                costs | {"first_seconds": wall, "first_cpu_seconds": cpu, "quality": {"recall": recall}}
            ],
        }
        for name, (wall, cpu, recall) in runs.items()
    }
    data = {"rows": 10, "columns": 2, "dtype": "float32", "description": "toy data"}
    machine = {"cpu": "c", "cores": 2, "memory_gb": 1, "system": "s"}
    task = {"threads": 1, "n_neighbors": 15, "seed": 0}
    return machine | made | {"contestants": records, "same_bytes": {}, "task": task, "dataset": data}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    return tmp_path


def test_a_run_of_some_contestants_leaves_the_others_with_their_session(folder):
    report.write(ENTRY, "toy", {"a": section("monday", winkel=(1, 2, 0.5), peer=(4, 3, 0.6))}, keep=True)
    text = report.write(ENTRY, "toy", {"a": section("tuesday", winkel=(2, 2, 0.5))}, keep=True, only=True)
    records = json.loads((folder / "toy.json").read_text())["sections"]["a"]["contestants"]
    assert {name: record["session"]["date"] for name, record in records.items()} == {
        "winkel": "tuesday",
        "peer": "monday",
    }
    assert "monday; commit abc (peer)." in text
    assert "≈1.50" in text  # processor time: 3 over 2, since the two were not run in turn


def test_all_contestants_replace_all(folder):
    report.write(ENTRY, "toy", {"a": section("monday", winkel=(1, 2, 0.5), peer=(4, 3, 0.6))}, keep=True)
    text = report.write(ENTRY, "toy", {"a": section("tuesday", winkel=(2, 2, 0.5))}, keep=True)
    assert "monday" not in text
    assert "| peer |" not in text.split("## a")[1]


def test_rows_of_other_data_do_not_stay(folder):
    report.write(ENTRY, "toy", {"a": section("monday", peer=(4, 3, 0.6))}, keep=True)
    other = section("tuesday", winkel=(2, 2, 0.5))
    other["dataset"] |= {"rows": 11}
    text = report.write(ENTRY, "toy", {"a": other}, keep=True, only=True)
    assert "| peer |" not in text.split("## a")[1]


@pytest.mark.parametrize(("others", "expected"), [(0.0, "| 4.00 |"), (0.5, "| ≈1.50 |")])
def test_only_a_quiet_machine_compares_by_the_clock(folder, others, expected):
    made = section("monday", others, winkel=(1, 2, 0.5), peer=(4, 3, 0.6))
    text = report.write(ENTRY, "toy", {"a": made}, keep=False)
    assert expected in text
    assert ("**Not quiet**" in text) == (others > 0)


def test_leads_of_peers_are_counted_named_and_explained(folder):
    leads = section("monday", winkel=(1, 2, 0.5), peer=(4, 3, 0.6))
    slight = section("monday", winkel=(1, 2, 0.5), peer=(4, 3, 0.505))
    text = report.write(ENTRY, "toy", {"a": leads, "b": slight}, keep=False)
    assert (
        "- **recall**, 2 of 2 cells: peer on a (by up to 0.1); 1 cell by at most 0.01. *Why:* It tries harder."
        in text
    )
    assert "| a | 0.5 | **0.6** |" in text
    assert "first call s**," not in text  # winkel is faster in both
