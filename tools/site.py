"""Hooks of the documentation site (mkdocs.yml): pages made from sources, the gallery, and pictures of maps that lie.

The reference lists every public name by what `winkel.__all__` says. Pages that live elsewhere in the repository (design,
changelog, benchmarks, …) are taken in as they are, with their links made to fit. Pictures are made once and kept in
build/pictures under a digest of the script and of the package, so that a second build is quick.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from typeset import typeset

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "build" / "pictures"
_SECONDS = 600  # of one example, at most
_LINES = 24  # of what an example printed, at most
# Page of the site: the file of the repository that it shows.
TAKEN_IN = {
    "design.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
    "panel.md": "benchmarks/results/panel.md",
    "scaling.md": "benchmarks/results/scaling.md",
    "kernels.md": "benchmarks/results/kernels.md",
    "papers.md": "benchmarks/paper/results/README.md",
    "security.md": "SECURITY.md",
}
MATHEMATICAL = ("mde.md", "forces.md", "lvm.md", "tsm.md", "kds.md")
# Public modules whose names the reference lists under them.
MODULES = (
    "data",
    "datasets",
    "graph",
    "objectives",
    "penalties",
    "losses",
    "quadratic",
    "scverse",
    "scale",
    "errors",
)
# Modules that the pages send users to beside them, and the names there; tests/unit/test_documentation.py reads this, too.
FURTHER = {
    "problem": "ArrayStream ChunkStream GroupBias Redundancy Stationarity StreamProblem distortion_cdf group_bias held_out open_edges redundancy stationarity",
    "measures.analogies": "Analogies complete_analogies",
    "measures.angles": "angular_deviation distance_jaccard jaccard norm_error",
    "methods.kds": "AtomErrors Clusters Coder Codes Spectrum code_spectrum decode encode error_by_atoms orthonormal_spectrum spectral_clusters",
    "methods.tsm": "AngleHistogram ReLUMap angle_histogram isomap_map locally_linear_extension match_similarities similarity_graph svd_map",
    "torch": "KDSEncoder ReLUMap project_simplex",
    "view.forces": "plot_agreement plot_similarities",
    "view.kds": "plot_atoms plot_atoms_among_rows plot_degrees plot_usage",
    "view.lvm": "most_uncertain plot_density plot_uncertain plot_variance",
    "view.tsm": "plot_angles plot_by_dimension",
}
# Title, part of the package, page under reference/.
SECTIONS = (
    ("Estimators", "estimators", "estimators"),
    ("Can I trust this map?", "measures", "trust"),
    ("Pictures and pages", "view", "view"),
    ("Problems and their parts", "problem", "problems"),
    ("Other names", "", "other"),
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here."""
    made = reference() | {
        page: _linked((ROOT / source).read_text(encoding="utf-8"), Path(source).parent)
        for page, source in TAKEN_IN.items()
        if (ROOT / source).is_file()
    }
    gallery, pictures = _gallery()
    made["gallery.md"] = gallery
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for sheet in sorted((ROOT / "benchmarks" / "results").glob("panel*.png")):
        files.append(File.generated(config, sheet.name, abs_src_path=str(sheet)))
    for picture in pictures:
        files.append(File.generated(config, f"gallery/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Links to sources outside docs/ become their names; marks for pictures become pictures; mathematics is typeset."""
    if page.file.src_uri in MATHEMATICAL:
        markdown = typeset(markdown)
    if page.file.src_uri.endswith("reading.md"):
        for name, (path, caption) in _lying_maps().items():
            files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
            markdown = markdown.replace(
                f"<!-- picture: {name} -->", f"![{name}](gallery/{path.name})\n\n*{caption}*"
            )
    return re.sub(
        r"\[([^]]*)\]\((?:\.\./)+((?:examples|benchmarks|src|cpp|tests|tools)/[^)]*)\)", _as_code, markdown
    )


def _as_code(match: re.Match[str]) -> str:
    """A link to a file that is not part of the site, as the file's name."""
    return match[1] if match[1].strip("`") == match[2] else f"{match[1]} (`{match[2]}`)"


def _linked(text: str, folder: Path) -> str:
    """Markdown of a file elsewhere in the repository, with its links as seen from docs/."""

    def mend(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path = os.path.normpath(folder / target)
        page = next((page for page, source in TAKEN_IN.items() if source == path), None)
        if page is not None:
            return f"[{text}]({page})"
        if path.startswith("docs/"):
            return f"[{text}]({path.removeprefix('docs/')})"
        return text if text.strip("`") == path else f"{text} (`{path}`)"

    return re.sub(r"(?<!!)\[([^]]*)\]\(([^)\s]+)\)", mend, text)


def reference() -> dict[str, str]:
    """The pages of all public names, by the part of the package that they come from, and the page that lists them."""
    import winkel as wk

    names = [name for name in wk.__all__ if name != "__version__"]
    modules = [name for name in names if isinstance(getattr(wk, name), types.ModuleType)]
    left = [name for name in names if name not in modules]
    index = ["# Reference", "", "Every public name, with the first line of what its page says.", ""]
    pages: dict[str, str] = {}
    inside = {
        getattr(getattr(wk, name), inner)
        for name in modules
        if name in MODULES
        for inner in _public(wk, name)
    }
    for title, part, page in SECTIONS:
        here = sorted(name for name in left if _module(getattr(wk, name)).startswith(f"winkel.{part}"))
        left = [name for name in left if name not in here]
        lines = [f"# {title}", "", *(_shared() if part == "estimators" else ())]
        for name in here:
            if getattr(wk, name) not in inside:  # else it stands on the page of its module
                lines += [f"::: {_module(getattr(wk, name))}.{name}", ""]
        pages[f"reference/{page}.md"] = "\n".join(lines)
        index += _listed(title, page, {f"wk.{name}": getattr(wk, name) for name in here})
    for name in (name for name in MODULES if name in modules):
        lines, here = [f"# `wk.{name}`", ""], {}
        for inner in _public(wk, name):
            value = getattr(getattr(wk, name), inner)
            here[f"{name}.{inner}"] = value
            if _is_written(value, inner):
                lines += [f"::: {_module(value)}.{inner}", ""]
            else:
                lines += [f"## {inner}", "", _first_line(value), ""]
        pages[f"reference/{name}.md"] = "\n".join(lines)
        index += _listed(f"`wk.{name}`", name, here)
    lines = [
        "# Further modules",
        "",
        "Names that other pages send to. Import them from the module that is named.",
        "",
    ]
    for name, inside in FURTHER.items():
        lines += [f"## `winkel.{name}`", ""]
        for inner in inside.split():
            lines += [f"::: winkel.{name}.{inner}", "    options:", "      heading_level: 3", ""]
    pages["reference/further.md"] = "\n".join(lines)
    index += ["## [Further modules](reference/further.md)", ""]
    index += [
        f"- `winkel.{name}`: {', '.join(f'`{one}`' for one in of.split())}" for name, of in FURTHER.items()
    ]
    return {"reference.md": "\n".join(index), **pages}


def _public(package: Any, name: str) -> list[str]:
    """The classes and functions of a public module."""
    module = getattr(package, name)
    found = {inner: getattr(module, inner) for inner in getattr(module, "__all__", ())}
    return sorted(
        inner for inner, value in found.items() if inspect.isclass(value) or inspect.isfunction(value)
    )


def _listed(title: str, page: str, here: dict[str, Any]) -> list[str]:
    """A part of the list of all names."""
    lines = [f"## [{title}](reference/{page}.md)", "", "| name | what it is |", "| --- | --- |"]
    for name, value in sorted(here.items(), key=lambda each: each[0].lower()):
        inner = name.rpartition(".")[2]
        shown = f"[`{name}`][{_module(value)}.{inner}]" if _is_written(value, inner) else f"`{name}`"
        lines.append(f"| {shown} | {_first_line(value).replace('|', '&#124;')} |")
    return [*lines, ""]


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _shared() -> list[str]:
    """Parameters, attributes and methods that every estimator has: subclasses get them when they are made, so no source lists them there."""
    from winkel.estimators.base import Embedder

    lines = ["## What every estimator has", ""]
    for title, told in (
        ("parameter", Embedder._SHARED_PARAMETERS),
        ("attribute", Embedder._SHARED_ATTRIBUTES),
    ):
        lines += [f"| {title} | type | meaning |", "| --- | --- | --- |"]
        for name, text in told.items():
            head, _, meaning = text.partition("\n")
            lines.append(f"| `{name}` | {head.partition(' : ')[2]} | {' '.join(meaning.split())} |")
        lines.append("")
    for name in ("graph_", "n_iter_", "objective_", "history_", "status_"):
        lines.append(f"- `{name}`: {_first_line(getattr(Embedder, name))}")
    lines.append("")
    for name in (
        "Embedder.fit_transform",
        "Embedder.faithfulness",
        "Embedder.save",
        "ItemsEmbedder.inverse_transform",
    ):
        lines += [f"::: winkel.estimators.base.{name}", "    options:", "      heading_level: 3", ""]
    return lines


def _is_written(value: Any, name: str) -> bool:
    """Whether the name stands in the source of its module; functions that are made when asked for do not."""
    source = inspect.getsource(sys.modules[_module(value)])
    return re.search(rf"^(?:def|class) {name}\b", source, re.M) is not None


def _module(item: Any) -> str:
    return str(getattr(item, "__module__", ""))


def _digest(*parts: Path) -> str:
    """What the picture depends on: its script, and the sources of the package."""
    digest = hashlib.blake2b(digest_size=8)
    for path in (*parts, *sorted((ROOT / "src").rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _gallery() -> tuple[str, list[Path]]:
    """The page of examples with what they draw, and the files; scripts whose data is not there are named."""
    lines = ["# Gallery", "", "Made by the scripts in `examples/` when this site was built.", ""]
    pictures: list[Path] = []
    for script in sorted((ROOT / "examples").glob("*.py")):
        first = (
            inspect.cleandoc(re.match(r'"""(.*?)"""', script.read_text(encoding="utf-8"), re.S)[1])
        ).splitlines()[0]
        made, told = _run_example(script)
        lines += [f"## {script.stem}", "", f"{first} (`examples/{script.name}`)", ""]
        drawn = [path for path in made if path.suffix == ".png"]
        pages = [path for path in made if path.suffix == ".html"]
        lines += [f"![{path.stem}](gallery/{path.name})" for path in drawn]
        lines += ["" for _ in pages[:1]] + [
            f"[Open the page it writes](gallery/{path.name})" for path in pages
        ]
        lines += ["", *([] if drawn else told.splitlines()), ""]
        pictures += made
    return "\n".join(lines), pictures


def _run_example(script: Path) -> tuple[list[Path], str]:
    """The pictures and the page of an example, and what to say where there are none."""
    folder = PICTURES / f"{script.stem}-{_digest(script)}"
    if not folder.is_dir():
        making = folder.with_suffix(".part")  # takes its name once the script has ended
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        (making / "status").write_text(_told([sys.executable, str(script), str(making)], making))
        making.replace(folder)
    small = [path for path in sorted(folder.rglob("*.*")) if path.stat().st_size < 2_000_000]
    drawn = [path for path in small if path.suffix == ".png"]
    pages = [path for path in small if path.suffix == ".html"]
    return [_named(path, script.stem) for path in drawn[:4] + pages[:1]], (folder / "status").read_text()


def _told(command: list[str], folder: Path) -> str:
    """What a script that was run there printed, or why it ended early."""
    environment = os.environ | {"MPLBACKEND": "agg"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"*No picture here: it was stopped after {_SECONDS} seconds.*"
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1]
        if "MissingFileError" in why:
            why = "the data it needs were not at hand when this site was built ([where to put them](data.md#well-known-data))."
        return f"*No picture here: {why}*"
    lines = done.stdout.rstrip().splitlines()
    cut = [*lines[:_LINES], "…"] if len(lines) > _LINES else lines
    return "\n".join(["It prints:", "", "```text", *cut, "```"])


def _named(path: Path, stem: str) -> Path:
    """The picture under a name that no other script uses."""
    if path.name.startswith(stem):
        return path
    target = path.with_name(f"{stem}-{path.name}")
    path.replace(target)
    return target


def _lying_maps() -> dict[str, tuple[Path, str]]:
    """Pictures and captions of tools/lying_maps.py."""
    script = ROOT / "tools" / "lying_maps.py"
    folder = PICTURES / f"lying-{_digest(script)}"
    if not folder.is_dir():
        subprocess.run(
            [sys.executable, str(script), str(folder)], check=True, env=os.environ | {"MPLBACKEND": "agg"}
        )
    return {
        path.stem: (path, path.with_suffix(".txt").read_text().strip())
        for path in sorted(folder.glob("*.png"))
    }
