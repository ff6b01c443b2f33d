"""The entry "imports": how long an import takes in a fresh process."""

from __future__ import annotations

from .harness import Contestant, Entry

ENTRY = Entry(
    name="imports",
    title="Import times, side by side",
    contestants=(
        Contestant("winkel ready", "imports:winkel_ready", ("winkel",), "winkel"),
        Contestant("winkel", "imports:winkel", ("winkel",), "winkel"),
        Contestant("numpy", "imports:numpy", ("numpy",), "winkel"),
        Contestant("sklearn.base", "imports:sklearn_base", ("scikit-learn",), "winkel"),
        Contestant("umap", "imports:umap", ("umap-learn",)),
        Contestant("pymde", "imports:pymde", ("pymde",)),
        Contestant("pacmap", "imports:pacmap", ("pacmap",)),
        Contestant("openTSNE", "imports:opentsne", ("openTSNE",)),
    ),
    reference="winkel ready",
    timings=("process", "import"),
    notes=(
        "Each import runs in a process of its own. numpy and scikit-learn are those of winkel's environment, which winkel also uses. winkel "
        "imports its parts at their first use: `winkel` is the bare import, and `winkel ready` has `graph.knn` and `MDE` at hand, as the "
        "other packages have their estimators after their import. `× winkel` is the median over the rounds of an import's time divided by "
        "that of `winkel ready` in the same round.",
    ),
)
