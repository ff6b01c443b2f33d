"""From the overall shape to the neighbours of each row: five maps of digits in a row, and along a slider."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
found = wk.spectrum(digits.X, labels=digits.y)
print(found)
found.plot(path=folder / "spectrum.png")
found.write_html(folder / "spectrum.html", images=digits.X.reshape(-1, 8, 8))
