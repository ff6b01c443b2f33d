"""Documentation is true: numpydoc form, documented defaults are the real ones, examples run, tables in docs/ agree."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import re
import types
from pathlib import Path

import numpy as np
import pytest

import winkel as wk

docscrape = pytest.importorskip("numpydoc.docscrape")

ROOT = Path(__file__).parents[2]
MODULES = (
    "data",
    "datasets",
    "errors",
    "graph",
    "losses",
    "objectives",
    "penalties",
    "quadratic",
    "scale",
    "scverse",
)  # public modules of names


def further() -> dict[str, str]:
    """Modules of further names that docs/ sends users to, as the reference lists them (tools/site.py)."""
    tree = ast.parse((ROOT / "tools" / "site.py").read_text(encoding="utf-8"))
    (found,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(name) for name in node.targets] == ["FURTHER"]
    )
    return dict(ast.literal_eval(found))


FURTHER = further()


def public() -> dict[str, object]:
    """Every public function and class by the name a user writes."""
    found = {}
    for name in wk.__all__:
        item = getattr(wk, name)
        if inspect.isfunction(item) or inspect.isclass(item):
            found[name] = item
        elif isinstance(item, types.ModuleType) and name in MODULES:
            for inner in getattr(item, "__all__", ()):
                value = getattr(item, inner)
                if inspect.isfunction(value) or inspect.isclass(value):
                    found[f"{name}.{inner}"] = value
    for name, inside in FURTHER.items():
        if name != "torch" or importlib.util.find_spec("torch"):
            module = importlib.import_module(f"winkel.{name}")
            found |= {f"{name}.{inner}": getattr(module, inner) for inner in inside.split()}
    return found


PUBLIC = public()
each = pytest.mark.parametrize("name", PUBLIC)


def parse(item):
    return docscrape.NumpyDocString(inspect.getdoc(item) or "")


def parameters(item) -> dict[str, inspect.Parameter]:
    """The parameters that a user gives, without those that only a frame or machinery fills."""
    try:
        found = inspect.signature(item).parameters
    except (TypeError, ValueError):
        return {}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {k: p for k, p in found.items() if p.kind not in kinds and k != "self"}


def is_result(item) -> bool:
    """Whether a class is only ever made by winkel: it documents attributes instead of parameters."""
    doc = parse(item)
    return inspect.isclass(item) and bool(doc["Attributes"]) and not doc["Parameters"]


@pytest.mark.parametrize("name", [name for name in FURTHER if name.startswith(("methods.", "view."))])
def test_the_reference_has_all_that_a_module_gives(name):
    assert sorted(importlib.import_module(f"winkel.{name}").__all__) == sorted(FURTHER[name].split())


@each
def test_numpydoc_form(name):
    item = PUBLIC[name]
    doc = parse(item)
    assert doc["Summary"], f"{name} has no summary line"
    assert len(doc["Summary"]) == 1, f"the summary of {name} is not one line: {doc['Summary']}"
    assert doc["Summary"][0].endswith((".", "?", ")", "²", "³", "d")) or "=" in doc["Summary"][0]
    if is_result(item) or (inspect.isclass(item) and issubclass(item, Exception)):
        return
    real = parameters(item)
    documented = {
        p: entry.type
        for entry in doc["Parameters"]
        for p in entry.name.split(", ")
        if not p.startswith("*")  # any number of them
    }
    assert set(documented) == set(real), (
        f"{name} documents {set(documented) ^ set(real)} wrongly or not at all"
    )
    for entry in doc["Parameters"]:
        assert entry.type, f"{name}: {entry.name} has no type"
        assert any(line.strip() for line in entry.desc), f"{name}: {entry.name} has no meaning"
    if inspect.isfunction(item):
        assert doc["Returns"] or doc["Yields"] or item.__annotations__.get("return") in (None, "None"), (
            f"{name} does not say what it returns"
        )
    assert doc["Examples"], f"{name} has no example"


def default_of(text: str):
    """The documented default: what follows "default=", read as Python."""
    match = re.search(r"default=(.+)$", text)
    if match is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(match[1].strip())
    except (ValueError, SyntaxError):
        return match[1].strip()


@each
def test_documented_defaults_are_the_real_ones(name):
    item = PUBLIC[name]
    real = parameters(item)
    for entry in parse(item)["Parameters"]:
        if entry.name.startswith("*"):
            continue
        told = default_of(entry.type)
        for parameter in entry.name.split(", "):
            default = real[parameter].default
            if default is inspect.Parameter.empty:
                assert told is inspect.Parameter.empty, f"{name}: {parameter} has no default"
                continue
            assert told is not inspect.Parameter.empty, (
                f"{name}: {parameter} does not tell its default {default!r}"
            )
            same = told == default or str(told) in (repr(default), getattr(default, "__name__", ""))
            assert same, f"{name}: {parameter} is documented with {told!r}, and its default is {default!r}"


@each
@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    if importlib.util.find_spec("matplotlib"):
        import matplotlib

        matplotlib.use("Agg")
    item = PUBLIC[name]
    finder = doctest.DocTestFinder(recurse=False)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=options, verbose=False)
    with np.printoptions(legacy=False, precision=8, threshold=1000):
        for test in finder.find(item, name, module=False, globs={}):
            output: list[str] = []
            runner.run(test, out=output.append)
            assert not runner.failures, "".join(output)


# ------------------------------------------------------------------------------------------ tables in docs/

PAGES = {"mde": "MDE", "lvm": "LVM", "tsm": "TSM", "kds": "KDS", "forces": "AttractRepel"}
ROW = re.compile(r"^\| `(\w+)` \((.+?)\) \|", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_parameters_agree_with_signatures(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    real = parameters(getattr(wk, PAGES[page]))
    for parameter, told in ROW.findall(text):
        assert parameter in real, f"docs/{page}.md lists {parameter}, which {PAGES[page]} does not have"
        try:
            value = ast.literal_eval(told)
        except (ValueError, SyntaxError):
            value = told
        assert value == real[parameter].default, f"docs/{page}.md: {parameter} ({told})"


SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_the_readme_runs(tmp_path, monkeypatch):
    """The README's lines of Python, one after the other, on the built-in data."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    first, *others = SNIPPET.findall(text)
    exec(compile(first, "README.md", "exec"), {})
    assert (tmp_path / "digits.html").exists()
    digits = wk.datasets.load_digits()
    X, y = digits.X[:200], digits.y[:200]
    space = {"wk": wk, "X": X, "y": y, "mde": wk.MDE(random_state=0).fit(X), "Y_umap": wk.quadratic.pca(X).Y}
    for block in others:
        exec(compile(block, "README.md", "exec"), space)
