"""An installed winkel does its main job: run it in an environment that has nothing but the wheel.

python tools/dist_smoke.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import winkel as wk


def main() -> None:
    """Maps by every estimator, transform, measure, a file, a page, the command line."""
    assert "site-packages" in wk.__file__ or "dist-packages" in wk.__file__, (
        f"this is not an installed winkel: {wk.__file__}"
    )
    X = wk.datasets.load_digits().X[:300]
    mde = wk.MDE(random_state=0).fit(X)
    assert np.array_equal(mde.transform(X[:3]), mde.embedding_[:3])
    for name in ("LVM", "TSM", "KDS", "AttractRepel"):
        Y = getattr(wk, name)(random_state=0).fit_transform(X)
        assert len(Y) == 300, name
        assert np.isfinite(Y).all(), name
    assert wk.measure(X, mde).scores["trustworthiness"].value > 0.9
    with tempfile.TemporaryDirectory() as folder:
        mde.save(Path(folder, "model.winkel"))
        assert np.array_equal(wk.load(Path(folder, "model.winkel")).embedding_, mde.embedding_)
        assert wk.write_html(Path(folder, "page.html"), mde).stat().st_size > 10_000
        np.save(Path(folder, "X.npy"), X)
        command = [
            Path(sys.executable).with_name("winkel"),
            "embed",
            Path(folder, "X.npy"),
            "-o",
            Path(folder, "map.csv"),
        ]
        subprocess.run(command, check=True, capture_output=True)
        assert Path(folder, "map.csv").stat().st_size > 3000
    print(f"winkel {wk.__version__} in Python {sys.version.split()[0]}: all well")


if __name__ == "__main__":
    main()
