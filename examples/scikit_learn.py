"""winkel in a scikit-learn pipeline: data frames in and out, and weights routed to the step that uses them."""

import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
weights = np.where(digits.y == digits.y[0], 3.0, 1.0)
with sklearn.config_context(enable_metadata_routing=True):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    mde = wk.MDE(random_state=0)
    mde.set_fit_request(sample_weight=True)
    pipeline = make_pipeline(scaler, mde)
    Y = pipeline.fit_transform(digits.X, sample_weight=weights)
print(f"columns: {list(mde.get_feature_names_out())}, {len(Y)} rows")
wk.plot(Y, labels=digits.y, title="Scaled digits", path=folder / "scikit_learn.png")
