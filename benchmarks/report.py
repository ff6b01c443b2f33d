"""Tables from the records of an entry: medians, minima, ratios, quality, memory, versions, machine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from .files import write_json, write_text
from .harness import Entry

FOLDER = Path(__file__).resolve().parent / "results"
HEADINGS = {
    "first": "first call s",
    "second": "second call s",
    "import": "import s",
    "process": "whole process s",
}
BUSY = 0.05  # share of the machine that others may take before a table is marked
Record = dict[str, object]


def write(entry: Entry, name: str, sections: dict[str, Record], keep: bool) -> str:
    """The Markdown that was written to results/NAME.md, beside NAME.json with all raw figures.

    With `keep`, sections of other data sets that the files already hold stay.
    """
    path = FOLDER / f"{name}.json"
    if keep and path.exists():
        sections = json.loads(path.read_text())["sections"] | sections
    order = [dataset.key for dataset in entry.datasets]
    sections = dict(
        sorted(sections.items(), key=lambda item: order.index(item[0]) if item[0] in order else -1)
    )
    write_json(path, {"entry": entry.name, "sections": sections})
    text = markdown(entry, sections)
    write_text(path.with_suffix(".md"), text)
    return text


def markdown(entry: Entry, sections: dict[str, Record]) -> str:
    """The whole page of an entry."""
    parts = [f"# {entry.title}", *entry.notes]
    for name, section in sections.items():
        parts += [f"## {name}", circumstances(section), table(entry, section), *remarks(section)]
    growth = growth_table(entry, sections)
    if growth is not None:
        parts += ["## Growth of time with n", growth]
    return "\n\n".join(parts) + "\n"


def circumstances(section: Record) -> str:
    """A paragraph on data, machine, threads and versions."""
    task, versions = section["task"], {}
    for record in section["contestants"].values():
        versions |= {f"{name} {version}": None for name, version in record.get("versions", {}).items()}
    lines = []
    if "dataset" in section:
        data = section["dataset"]
        shape = f"{data['rows']:,} × {data['columns']} {data['dtype']}".replace(",", " ")
        lines.append(f"{data['description']}: {shape}; k = {task['n_neighbors']}; seed {task['seed']}.")
    lines += [
        f"{task['threads']} threads, {section['repeats']} rounds; {section['cpu']}, {section['cores']} "
        f"cores, {section['memory_gb']} GB, {section['system']}; load {section['load_before']} before and "
        f"{section['load_after']} after; {section['date']}; commit {section['commit']}.",
        f"Versions: {', '.join(sorted(versions, key=str.lower))}.",
    ]
    return "\n".join(lines)


def table(entry: Entry, section: Record) -> str:
    """A row for every contestant that ran, the reference first and then by time."""
    ran = {name: r["runs"] for name, r in section["contestants"].items() if r["status"] == "ran"}
    qualities = list(dict.fromkeys(q for runs in ran.values() for q in runs[0].get("quality", {})))
    heads = ["contestant"]
    for timing in entry.timings:
        heads += [HEADINGS[timing], "× winkel"]
    data = "dataset" in section
    heads += [
        *qualities,
        *(["cores used", "peak MB", "over import MB", "import s", "repeats alike"] if data else []),
    ]
    rows = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    reference = ran.get(entry.reference)
    order = sorted(ran, key=lambda name: (name != entry.reference, middle(entry, ran[name])))
    peers = {contestant.name for contestant in entry.contestants if contestant.environment == "peers"}
    for name in order:
        better = entry.better if name in peers else {}
        rows.append([name, *cells(entry, ran[name], reference, qualities, data, better)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cells(
    entry: Entry,
    runs: list[Record],
    reference: list[Record] | None,
    qualities: list[str],
    data: bool,
    better: Mapping[str, str],
) -> list[str]:
    """A contestant's row after its name; what is `better` than the reference's is bold, with time and memory."""
    row = []
    for timing in entry.timings:
        taken = times(runs, timing).values()
        row.append(f"{number(median(taken))} (min {number(min(taken))})" if taken else "–")
        beside = ratio(runs, reference, timing)
        row.append(f"**{beside}**" if better and beside != "–" and float(beside) < 1 else beside)
    # A score that only some contestants have is left empty for the others.
    for q in qualities:
        value, beside = quality(runs, q), quality(reference or [], q)
        text = "–" if value is None else f"{value:.4g}"
        row.append(f"**{text}**" if beats(value, beside, better.get(q)) else text)
    if data:
        row.append(f"{median(run['first_cpu_seconds'] / run['first_seconds'] for run in runs):.1f}")
        peak = max(run["rss_peak"] for run in runs)
        less = better and reference and peak < max(run["rss_peak"] for run in reference)
        row.append(f"**{peak / 1e6:.0f}**" if less else f"{peak / 1e6:.0f}")
        row.append(f"{max(run['rss_peak'] - run['rss_import'] for run in runs) / 1e6:.0f}")
        row.append(number(median(run["import_seconds"] for run in runs)))
        row.append("–" if len(runs) < 2 else "yes" if len({run["sha256"] for run in runs}) == 1 else "no")
    return row


def quality(runs: list[Record], name: str) -> float | None:
    """Median of a score; None where there is none."""
    values = [run["quality"][name] for run in runs if name in run.get("quality", {})]
    return median(values) if values else None


def beats(value: float | None, reference: float | None, better: str | None) -> bool:
    """Whether a score is better than the reference's, as far as the table shows."""
    if value is None or reference is None or better is None:
        return False
    return (
        value != reference
        and (value > reference) == (better == "higher")
        and f"{value:.4g}" != f"{reference:.4g}"
    )


def times(runs: list[Record], timing: str) -> dict[int, float]:
    """Seconds by round."""
    return {run["round"]: run[f"{timing}_seconds"] for run in runs if f"{timing}_seconds" in run}


def middle(entry: Entry, runs: list[Record]) -> float:
    """Median time of the last kind that was measured: the second call, or the first of those called once."""
    timing = next(timing for timing in reversed(entry.timings) if times(runs, timing))
    return median(times(runs, timing).values())


def ratio(runs: list[Record], reference: list[Record] | None, timing: str) -> str:
    """Median over the rounds of this contestant's time over the reference's same call in the same round."""
    own, other = times(runs, timing), times(reference or [], timing)
    ratios = [own[index] / other[index] for index in own if index in other]
    return f"{median(ratios):.2f}" if ratios else "–"


def number(value: float) -> str:
    """Three figures."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def remarks(section: Record) -> list[str]:
    """Who did not run and why; whether others used the machine; whether threads changed winkel's bytes."""
    records = section["contestants"]
    lines = [
        f"- {name}: {r['status']} ({r['reason']})" for name, r in records.items() if r["status"] != "ran"
    ]
    busiest = max((run["others"] or 0 for r in records.values() for run in r["runs"]), default=0)
    if busiest > BUSY:
        lines.append(
            f"- **The machine was not quiet**: other processes took up to {busiest:.0%} of it during a run; "
            "times and ratios of this table say little."
        )
    for name, same in section["same_bytes"].items():
        lines.append(f"- {name}: {'the same bytes' if same else 'DIFFERENT BYTES'} for n_jobs 1 and 2")
    return ["\n".join(lines)] if lines else []


def growth_table(entry: Entry, sections: dict[str, Record]) -> str | None:
    """Median times over n with the exponent of a power law fitted to them; None with fewer than two sizes."""
    chosen = [section for name, section in sections.items() if name.split("-")[0] in entry.growth]
    chosen.sort(key=lambda section: section["dataset"]["rows"])
    if len({section["dataset"]["rows"] for section in chosen}) < 2:
        return None
    sizes = [section["dataset"]["rows"] for section in chosen]
    rows = [["contestant", *(f"n = {n:,}".replace(",", " ") for n in sizes), "exponent"]]
    rows.append(["---"] + ["---:"] * (len(sizes) + 1))
    for contestant in entry.contestants:
        taken = {}
        for n, section in zip(sizes, chosen):
            record = section["contestants"].get(contestant.name, {"status": "absent"})
            if record["status"] == "ran":
                taken[n] = middle(entry, record["runs"])
        if len(taken) > 1:
            found = [f"{number(taken[n])} s" if n in taken else "–" for n in sizes]
            rows.append([contestant.name, *found, f"{exponent(taken):.2f}"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def exponent(times: dict[int, float]) -> float:
    """Slope of log time over log n, by least squares."""
    x, y = [math.log(n) for n in times], [math.log(t) for t in times.values()]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)
