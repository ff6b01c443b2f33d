"""From the map back to the data: the pictures that places on the map stand for, with the expected error."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
mde = wk.MDE(random_state=0).fit(digits.X[:-50])
new = digits.X[-50:]
found, error = mde.inverse_transform(mde.transform(new), return_error=True)
true = np.linalg.norm(found - new, axis=1)
print(f"new digits, mapped and decoded again: error {true.mean():.1f}, expected error {error.mean():.1f}")
wk.plot_decoded(mde, (8, 8), title="What places of the map stand for", path=folder / "back_to_data.png")
