"""Inputs on which fuzzing once failed, and seeds of every target: read, or refused by an error of winkel's own."""

from __future__ import annotations

import pytest

from . import fuzz

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "FOLDER", tmp_path)


@pytest.mark.parametrize(
    "target", [t for t in fuzz.TARGETS if t != "h5ad"]
)  # that one limits the process's memory
def test_seeds_are_read_and_the_corpus_does_no_harm(target):
    judge = fuzz.Judge(target)
    seeds = fuzz.seeds(target)
    kept = len(list((fuzz.CORPUS / target).glob("*")))
    read = [judge(data) for data in seeds]
    assert judge.failures == {}
    assert all(read[: len(seeds) - kept])


def test_a_file_put_together_is_the_file_that_was_taken_apart():
    apart = fuzz.seeds("model")[0]
    again = fuzz.taken_apart(fuzz.put_together(apart))
    assert again == apart


def test_the_corpus_is_small():
    assert sum(file.stat().st_size for file in fuzz.CORPUS.rglob("*") if file.is_file()) < 200_000
