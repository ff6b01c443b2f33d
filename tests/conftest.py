"""Settings for all tests."""

import sys

import pytest
from hypothesis import settings

# Tests assert behaviour, not seconds: a slow moment of the machine is no failure. Examples are the same in every run: a
# change is judged by what it changes, not by the day's luck.
settings.register_profile("winkel", deadline=None, derandomize=True)
# Under the sanitizers everything is several times slower; what they look for shows in few examples.
settings.register_profile("sanitized", deadline=None, max_examples=5, derandomize=True)
settings.load_profile("winkel")


@pytest.fixture(autouse=True)
def forget_scores():
    """Scores that a test or an example registers are forgotten at its end, so that no other test meets them."""
    yield
    registry = sys.modules.get("winkel.measures.registry")
    if registry is not None:
        for name, definition in list(registry._KNOWN.items()):
            if definition.function.__module__ != "winkel.measures.scores":
                del registry._KNOWN[name]


@pytest.fixture(autouse=True)
def close_figures():
    """Figures that a test leaves open are closed at its end: matplotlib warns of more than twenty."""
    yield
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close("all")
