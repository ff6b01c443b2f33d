"""What is said of the papers' results: worse ones first, and nothing without a date, versions and the machine."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from winkel.methods.kds import Coder, encode

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "paper" / "results"

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="benchmarks are not part of an installation")


@pytest.fixture
def papers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.paper.__main__")


def results():
    return [file for size in ("quick", "medium", "full") for file in sorted((RESULTS / size).glob("*.md"))]


@pytest.mark.parametrize("page", ["mde", "forces", "tsm", "lvm", "kds"])
def test_what_is_worse_than_the_paper_stands_first(page):
    before = (ROOT / "docs" / f"{page}.md").read_text().split("\n## ")[0]
    assert "**Still worse than the paper" in before


@pytest.mark.parametrize("file", results(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_result_says_how_when_and_on_what_it_was_made(file):
    text = file.read_text()
    assert re.search(r"^`python -m benchmarks\.paper\.\w+", text, re.MULTILINE)
    assert re.search(r"^\d+ \w+ 20\d\d, winkel [\d.]+, Python [\d.]+, numpy .*cores?\b", text, re.MULTILINE)
    lines = text.splitlines()
    kinds = [
        kind
        for kind in ("- worse than", "- not the paper's", "- no worse")
        if any(x.startswith(kind) for x in lines)
    ]
    first = [min(i for i, line in enumerate(lines) if line.startswith(kind)) for kind in kinds]
    assert first == sorted(first)  # worse ones first


def test_the_index_is_that_of_the_results(papers):
    assert (RESULTS / "README.md").read_text() == papers.index()
    assert {file.stem for file in results()} <= set(papers.TASKS)


def test_every_task_has_a_script_and_a_quick_result(papers):
    for name, task in papers.TASKS.items():
        assert importlib.util.find_spec(task.arguments("quick")[0]) is not None
        assert (RESULTS / "quick" / f"{name}.md").exists(), name


def test_pictures_are_small():
    sizes = {file.name: file.stat().st_size for file in RESULTS.glob("*/*.png")}
    assert max(sizes.values()) < 150_000


def test_a_number_is_compared_as_exactly_as_it_is_printed(papers, capsys):
    record = importlib.import_module("benchmarks.paper.record")
    record.against("accuracy", 0.9998, 1.0)
    record.against("accuracy", 0.994, 1.0)
    record.against("error", 0.40004, 0.4, lower=True)
    record.against("error", 0.41, 0.4, lower=True)
    kinds = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert kinds == [record.GOOD, record.WORSE, record.GOOD, record.WORSE]


@pytest.mark.parametrize(
    ("n", "m", "printed"), [(1000, 2, 1.432), (1000, 10, 7.795), (1000, 100, 104.5), (10_000, 10, 6.065)]
)
def test_the_pairs_of_chapter_7_are_the_paper_s_own(papers, n, m, printed):
    mde = importlib.import_module("benchmarks.paper.mde")
    edges = mde.pairs_of(n, 10 * n)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == 10 * n
    assert float(f"{mde.optimum(edges, n, m):.4g}") == printed  # table 7.1


@pytest.mark.parametrize("printed", [False, True])
def test_the_encoder_of_many_layers_ends_at_the_best_codes(papers, printed):
    peers = importlib.import_module("benchmarks.paper.kds_baselines")
    rows = np.random.default_rng(0).normal(size=(60, 4))
    atoms, found = rows[:12] + 0.1, {}
    best = encode(rows, atoms, Coder(0.5)).matrix.toarray()
    for layers in (5, 2000):
        codes = peers.unrolled(rows, atoms, 0.5, layers, printed=printed)
        assert codes.min() >= 0
        assert np.allclose(codes.sum(axis=1), 1.0, atol=1e-5)
        found[layers] = np.abs(codes - best).max()
    assert found[2000] < 1e-3 < found[5]
