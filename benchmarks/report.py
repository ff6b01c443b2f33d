"""Tables from the records of an entry: medians, minima, ratios, quality, memory, versions, machine."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from .files import write_json, write_text
from .harness import SESSION, Entry

FOLDER = Path(__file__).resolve().parent / "results"
HEADINGS = {
    "first": "first call s",
    "second": "second call s",
    "import": "import s",
    "process": "whole process s",
}
COSTS = [
    "processor s", "cores used", "peak MB", "over import MB", "import s", "repeats alike", "rounds", "others took",
]  # fmt: skip
SLIGHT = 0.01  # lead in a score that is marked but not named
BUSY = 0.05  # share of the machine that others may take before a table is marked
Record = dict[str, object]


def write(entry: Entry, name: str, sections: dict[str, Record], keep: bool, only: bool = False) -> str:
    """The Markdown that was written to results/NAME.md, beside NAME.json with all raw figures.

    With `keep`, sections of other data sets that the files already hold stay; with `only`, contestants that were not asked for stay, too.
    """
    path = FOLDER / f"{name}.json"
    if keep and path.exists():
        known = json.loads(path.read_text())["sections"]
        if only:
            sections = {key: merged(known.get(key), section) for key, section in sections.items()}
        sections = known | sections
    order = [dataset.key for dataset in entry.datasets]
    sections = dict(
        sorted(sections.items(), key=lambda item: order.index(item[0]) if item[0] in order else -1)
    )
    write_json(path, {"entry": entry.name, "sections": sections})
    text = markdown(entry, sections)
    write_text(path.with_suffix(".md"), text)
    return text


def merged(old: Record | None, new: Record) -> Record:
    """The new section with the old one's other contestants, which keep their session; those of other data or another task are dropped."""
    if old is None or old.get("dataset") != new.get("dataset"):
        return new
    if old["task"] | {"threads": 0} != new["task"] | {"threads": 0}:
        return new
    stay = {name: r | {"session": session(r, old)} for name, r in old["contestants"].items()}
    return new | {
        "contestants": stay | new["contestants"],
        "same_bytes": old["same_bytes"] | new["same_bytes"],
    }


def session(record: Record, section: Record) -> Record:
    """When and in how many rounds a contestant was run; records of old files have that of their section."""
    return record.get("session") or {key: (section | section["task"])[key] for key in SESSION}


def wrapped(text: str) -> str:
    """Prose in lines of at most 120 characters; a line that begins with "- " is an item of a list."""
    lines = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        lines += textwrap.wrap(
            line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def markdown(entry: Entry, sections: dict[str, Record]) -> str:
    """The whole page of an entry."""
    parts = [f"# {entry.title}", *(wrapped(note) for note in entry.notes)]
    if entry.glance:
        parts += ["## At a glance", f"Each cell: {', '.join(entry.glance)}.", glance(entry, sections)]
    if entry.comments:
        parts += [f"## Where another package is ahead of {entry.reference}", *ahead(entry, sections)]
    for name, section in sections.items():
        parts += [f"## {name}", circumstances(section), table(entry, section), *remarks(entry, section)]
    growth = growth_table(entry, sections)
    if growth is not None:
        parts += ["## Growth of time with n", growth]
    return "\n\n".join(parts) + "\n"


def circumstances(section: Record) -> str:
    """A paragraph on data, machine, threads, versions and when each contestant was run."""
    task, versions = section["task"], {}
    sessions: dict[str, list[str]] = {}
    for name, record in section["contestants"].items():
        versions |= {f"{name} {version}": None for name, version in record.get("versions", {}).items()}
        made = session(record, section)
        told = (
            f"Threads {made['threads']}; rounds {made['repeats']}; load {made['load_before']} before and {made['load_after']} after; "
            f"{made['date']}; commit {made['commit']}"
        )
        if record["status"] == "ran":
            sessions.setdefault(told, []).append(name)
    lines = []
    if "dataset" in section:
        data = section["dataset"]
        shape = f"{data['rows']:,} × {data['columns']} {data['dtype']}".replace(",", " ")
        lines.append(f"{data['description']}: {shape}; k = {task['n_neighbors']}; seed {task['seed']}.")
    cores = "1 core" if section["cores"] == 1 else f"{section['cores']} cores"
    who = (
        f"{told} ({', '.join(names)})." if len(sessions) > 1 else f"{told}."
        for told, names in sessions.items()
    )
    lines += [
        f"{section['cpu']}, {cores}, {section['memory_gb']} GB, {section['system']}.",
        *who,
        f"Versions: {', '.join(sorted(versions, key=str.lower))}.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def glance(entry: Entry, sections: dict[str, Record]) -> str:
    """A row for each data set and a column for each contestant, with the scores that the entry names."""
    names = [c.name for c in entry.contestants if any(ran(s).get(c.name) for s in sections.values())]
    rows = [["", *names], ["---"] * (len(names) + 1)]
    for key, section in sections.items():
        found = ran(section)
        reference = found.get(entry.reference, {"runs": []})["runs"]
        row = [key]
        for name in names:
            better = entry.better if name in peers(entry) else {}
            runs = found[name]["runs"] if name in found else []
            row.append(
                " ".join(score_cell(runs, reference, q, better, 3) for q in entry.glance) if runs else ""
            )
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def score_cell(
    runs: list[Record], reference: list[Record], name: str, better: Mapping[str, str], figures: int = 4
) -> str:
    """A score, bold where it is better than the reference's."""
    value, beside = quality(runs, name), quality(reference, name)
    text = "–" if value is None else f"{value:.{figures}g}"
    return f"**{text}**" if beats(value, beside, better.get(name)) else text


def ran(section: Record) -> dict[str, Record]:
    """The contestants that ran."""
    return {name: record for name, record in section["contestants"].items() if record["status"] == "ran"}


def table(entry: Entry, section: Record) -> str:
    """A row for every contestant that ran, the reference first and then by time."""
    found = ran(section)
    qualities = list(dict.fromkeys(q for r in found.values() for q in r["runs"][0].get("quality", {})))
    heads = ["contestant"]
    for timing in entry.timings:
        heads += [HEADINGS[timing], "× winkel"]
    data = "dataset" in section
    heads += [*qualities, *(COSTS if data else [])]
    rows = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    reference = found.get(entry.reference)
    order = sorted(found, key=lambda name: (name != entry.reference, middle(entry, found[name]["runs"])))
    for name in order:
        better = entry.better if name in peers(entry) else {}
        rows.append([name, *cells(entry, found[name], reference, qualities, data, better)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def peers(entry: Entry) -> set[str]:
    """Names of the contestants that are not winkel's."""
    return {contestant.name for contestant in entry.contestants if contestant.environment == "peers"}


def cells(
    entry: Entry,
    record: Record,
    reference: Record | None,
    qualities: list[str],
    data: bool,
    better: Mapping[str, str],
) -> list[str]:
    """A contestant's row after its name; what is `better` than the reference's is bold, with time and memory."""
    row, runs = [], record["runs"]
    other = reference["runs"] if reference else []
    for timing in entry.timings:
        taken = times(runs, timing).values()
        row.append(f"{number(median(taken))} (min {number(min(taken))})" if taken else "–")
        beside = ratio(record, reference, timing)
        mark = "≈" if beside is not None and not comparable(record, reference) else ""
        text = "–" if beside is None else f"{mark}{beside:.2f}"
        row.append(f"**{text}**" if better and beside is not None and beside < 1 else text)
    # A score that only some contestants have is left empty for the others.
    row += [score_cell(runs, other, q, better) for q in qualities]
    if data:
        processor = median(run["first_cpu_seconds"] for run in runs)
        row += [
            number(processor),
            f"{median(run['first_cpu_seconds'] / run['first_seconds'] for run in runs):.1f}",
        ]
        less = better and other and peak(runs) < peak(other)
        row.append(f"**{peak(runs) / 1e6:.0f}**" if less else f"{peak(runs) / 1e6:.0f}")
        row.append(f"{max(run['rss_peak'] - run['rss_import'] for run in runs) / 1e6:.0f}")
        row.append(number(median(run["import_seconds"] for run in runs)))
        row.append("–" if len(runs) < 2 else "yes" if len({run["sha256"] for run in runs}) == 1 else "no")
        row += [str(len(runs)), f"{others(runs):.0%}"]
    return row


def peak(runs: list[Record]) -> float:
    """The highest resident size of all runs."""
    return max(run["rss_peak"] for run in runs)


def others(runs: list[Record]) -> float:
    """The largest share of its cores that other processes took during a run."""
    return max((run["others"] or 0 for run in runs), default=0)


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


def comparable(record: Record, reference: Record) -> bool:
    """Whether two contestants were run in turn on a machine of their own, so that their times by the clock can be compared."""
    together = record.get("session") == reference.get("session")
    return together and max(others(record["runs"]), others(reference["runs"])) <= BUSY


def ratio(record: Record, reference: Record | None, timing: str) -> float | None:
    """Median over the rounds of this contestant's time over the reference's same call in the same round.

    For contestants that are not comparable by the clock: median processor time over the reference's.
    """
    if reference is None:
        return None
    if comparable(record, reference):
        own, other = times(record["runs"], timing), times(reference["runs"], timing)
        ratios = [own[index] / other[index] for index in own if index in other]
        return median(ratios) if ratios else None
    own, other = (times(each["runs"], f"{timing}_cpu") for each in (record, reference))
    return median(own.values()) / median(other.values()) if own and other else None


def number(value: float) -> str:
    """Three figures."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def remarks(entry: Entry, section: Record) -> list[str]:
    """Who did not run and why; whether others used the machine; whether threads changed winkel's bytes."""
    records = section["contestants"]
    lines = [
        f"- {name}: {r['status']} ({r['reason']})" for name, r in records.items() if r["status"] != "ran"
    ]
    missing = [c.name for c in entry.contestants if c.name not in records]
    if missing:
        lines.append(f"- Not run here: {', '.join(missing)}")
    busy = {name: others(r["runs"]) for name, r in records.items() if others(r["runs"]) > BUSY}
    if busy:
        lines.append(
            f"- **Not quiet**: other processes took more than {BUSY:.0%} of the machine during runs of {', '.join(busy)} "
            f"(up to {max(busy.values()):.0%}). Their wall-clock times say little; ≈ compares processor time. Scores are not affected."
        )
    for name, same in section["same_bytes"].items():
        lines.append(f"- {name}: {'the same bytes' if same else 'DIFFERENT BYTES'} for n_jobs 1 and 2")
    return ["\n".join(lines)] if lines else []


def ahead(entry: Entry, sections: dict[str, Record]) -> list[str]:
    """For each column in which a peer is ahead anywhere: how often, who by how much and where, and why."""
    columns = {HEADINGS[timing]: f"{timing}_seconds" for timing in entry.timings} | {"peak MB": "rss_peak"}
    lines = []
    for column, why in entry.comments.items():
        won: dict[str, dict[str, float]] = {}
        total = slight = 0
        for name, section in sections.items():
            found = ran(section)
            if entry.reference not in found:
                continue
            for peer in sorted(peers(entry) & found.keys()):
                lead = lead_of(entry, found[peer], found[entry.reference], column, columns.get(column))
                total += lead is not None
                if lead is not None and lead > 0:
                    if column in columns or lead > SLIGHT:
                        won.setdefault(peer, {})[name] = lead
                    else:
                        slight += 1
        count = slight + sum(map(len, won.values()))
        if count:
            share = (lambda x: f"{x:.0%}") if column in columns else (lambda x: f"{x:.2g}")
            told = "; ".join(
                f"{peer} on {', '.join(leads)} (by up to {share(max(leads.values()))})"
                for peer, leads in won.items()
            )
            little = f"{slight} {'cell' if slight == 1 else 'cells'} by at most {SLIGHT:g}" if slight else ""
            lines.append(
                f"- **{column}**, {count} of {total} cells: {'; '.join(filter(None, (told, little)))}. *Why:* {why}"
            )
    return [wrapped("\n".join(lines))] if lines else ["Nowhere."]


def lead_of(entry: Entry, record: Record, reference: Record, column: str, cost: str | None) -> float | None:
    """By how much a peer is ahead in one column (of time and memory as a share); None where there is nothing to compare."""
    if cost == "rss_peak":
        return 1 - peak(record["runs"]) / peak(reference["runs"])
    if cost is not None:
        beside = ratio(record, reference, cost.removesuffix("_seconds"))
        return None if beside is None else 1 - beside
    value, beside = quality(record["runs"], column), quality(reference["runs"], column)
    if value is None or beside is None:
        return None
    lead = value - beside if entry.better[column] == "higher" else beside - value
    return lead if beats(value, beside, entry.better[column]) else min(lead, 0.0)


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
