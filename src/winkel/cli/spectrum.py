"""`winkel spectrum`: maps of a table, from the overall shape to the neighbours of each row."""

from __future__ import annotations

from argparse import Namespace

from ..checks import new_file
from ..estimators.mde import MDE
from ..spectra import SCORES, spectrum
from .console import Console, Outcome
from .inputs import metric_of, table_of
from .measure import check_scores, score_values
from .methods import UsageError, find_method, read_settings


def command(options: Namespace, console: Console) -> Outcome:
    """The scores of the maps; the page and the picture are written."""
    check_scores(options.scores)
    if not options.output.endswith((".html", ".htm")):
        raise UsageError(f"the output is an explorer page, such as page.html; got {options.output!r}.")
    for path in (options.output, options.png):
        if path is not None:
            new_file("path", path)
    settings = dict(read_settings(find_method("mde"), options.set).settings)
    if "focus" in settings or "metric" in settings:
        raise UsageError("the maps differ in focus, so it cannot be set; the distance is set by --metric.")
    table = table_of(options, console)
    found = spectrum(
        table,
        model=MDE(**settings, metric=metric_of(options), max_memory=options.max_memory),
        scores=SCORES if options.scores is None else options.scores,
        labels=table.labels,
        n_neighbors=options.n_neighbors,
        random_state=options.seed,
        n_jobs=options.n_jobs,
        verbose=console.progress,
    )
    files = {"page": options.output}
    found.write_html(
        options.output, ids=table.ids, fields=dict(table.kept) or None, title="From shape to neighbours"
    )
    if options.png is not None:
        found.plot(path=options.png)
        files["picture"] = options.png
    for what, path in files.items():
        console.note(f"{what}: {path}")
    values = {
        "command": "spectrum",
        "input": options.input,
        "n_rows": table.shape[0],
        "focus": list(found.focus),
        "scores": [score_values(report) for report in found.reports],
        "files": files,
    }
    return Outcome(values, str(found))
