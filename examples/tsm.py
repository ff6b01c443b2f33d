"""Digits and words in a few dimensions that keep norms and small angles: wk.TSM compared with linear projections."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.measures.analogies import complete_analogies
from winkel.measures.angles import angular_deviation, jaccard, norm_error
from winkel.methods.tsm import svd_map
from winkel.view.tsm import plot_angles, plot_by_dimension

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
X = wk.datasets.load_digits().X
shown = wk.TSM(random_state=0).angle_histogram(X)
plot_angles(shown, title="Angles between digits", path=out / "tsm_angles.png")
print(
    f"1 % of all pairs, and {shown.kept:.0%} of nearest neighbours, have a cosine above {shown.threshold:.3f}"
)
print(wk.TSM.choose(X, n_components=(8, 16), sparsity=(0.98, 0.99)))

dimensions = (4, 8, 16, 32)
kept: dict[str, list[float]] = {"TSM": [], "SVD": []}
for d in dimensions:
    model = wk.TSM(d, random_state=0).fit(X)
    for name, Y in (("TSM", model.embedding_), ("SVD", svd_map(X, d))):
        kept[name].append(angular_deviation(X, Y, threshold=model.threshold_).value)
        print(
            f"{name} in {d:2d} dimensions: angles of similar digits change by {kept[name][-1]:.2f}°, "
            f"{jaccard(X, Y, threshold=model.threshold_).value:.0%} of similar pairs in common, "
            f"norms off by {norm_error(X, Y).value:.1%}"
        )
plot_by_dimension(
    dimensions, kept, ylabel="angular deviation (degrees)", title="Digits", path=out / "tsm_dimensions.png"
)

words = wk.datasets.load_words("glove")
questions = wk.datasets.load_analogies()
asked = {str(word).lower() for word in questions.X.ravel()}
first = np.array([str(word) in asked for word in words.ids])
order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])[:3000]
# All these vectors share a large common part, which says nothing about a word and makes all words similar.
vectors, names = words.X[order].astype(np.float32), words.ids[order]
vectors -= vectors.mean(axis=0)
kinds = np.where(questions.extras["semantic"], "semantic", "syntactic")
# Among so few words, each has only a few similar ones. A lower threshold gives every word more similar words than there are dimensions.
by_angle = wk.TSM(32, sparsity=0.98, max_iter=80, random_state=0).fit_transform(vectors)
for name, Y in (("TSM", by_angle), ("SVD", svd_map(vectors, 32))):
    found = complete_analogies(Y, names, questions.X, categories=kinds)
    rates = ", ".join(f"{kind} {score.value:.0%}" for kind, score in found.by_category.items())
    print(f"{name}, {len(names)} words in 32 dimensions: analogies completed: {rates}")
