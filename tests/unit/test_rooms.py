"""How many files a reader goes through to follow one fit: a map should not be put together from half the package."""

from __future__ import annotations

import sys
from pathlib import Path

import winkel as wk

PACKAGE = Path(wk.__file__).parent
X = wk.datasets.load_digits().X[:600]


def visited(fit):
    """Files of the package whose functions run in a second call of `fit`, when everything has been imported."""
    fit()
    seen = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return sorted(str(Path(name).relative_to(PACKAGE)) for name in seen if Path(name).is_relative_to(PACKAGE))


def test_the_default_map_goes_through_few_files():
    files = visited(lambda: wk.MDE(random_state=0).fit(X))
    assert "estimators/mde.py" in files
    assert len(files) <= 26, files
