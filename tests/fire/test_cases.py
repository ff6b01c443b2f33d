"""Adversarial data × every estimator, a thin choice of it; `make fire` tries all, by every metric too."""

from __future__ import annotations

from ..estimators import instances
from .cases import CASES, METRICS, jobs
from .child import Box

GOOD = ("map", "refused")


def test_the_list_is_long_enough():
    assert len(CASES) >= 150
    assert len(set(METRICS)) >= 7
    every = jobs()
    assert len({*every}) == len(every)
    for instance in instances():
        assert sum(name == instance and metric == "euclidean" for name, _, metric in every) >= 150
    assert {name for name, _, metric in every if metric == "cosine"} >= {
        "MDE",
        "MDE-distances",
        "LVM",
        "UMAP",
        "TSNE",
        "AttractRepel-lle",
    }


def test_every_case_gives_a_map_or_an_error_of_our_own():
    """Each case once, estimators and metrics by turns, in a child process with a time box."""
    names, found = list(instances()), {}
    with Box() as box:
        for k, case in enumerate(list(CASES)[::3]):
            instance = names[k % len(names)]
            takes_metric = instance.startswith(("MDE", "LVM", "UMAP"))
            job = (instance, case, METRICS[k % len(METRICS)] if takes_metric else "euclidean")
            found[job] = box.try_case(job)
    assert {job: answer for job, answer in found.items() if answer not in GOOD} == {}
    assert {*found.values()} == {*GOOD}
