"""The package as a whole: what importing costs, that all public names are there, that stubs are true."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import winkel

HEAVY = ("matplotlib", "torch", "dask", "pyarrow", "sklearn", "scipy", "pandas", "polars", "tqdm", "pyamg")
PACKAGE = Path(winkel.__file__).parent


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_import_is_light():
    assert not loaded_after("import winkel") & {"numpy", *HEAVY}


def test_a_neighbour_graph_needs_no_heavy_package():
    code = "import winkel, numpy as np\nwinkel.graph.knn(np.eye(30), 3)"
    assert not loaded_after(code) & {"sklearn", "matplotlib", "torch", "dask", "pyarrow", "pandas", "polars"}


def test_every_public_name_resolves():
    for name in winkel.__all__:
        assert getattr(winkel, name) is not None
    assert set(winkel.__all__) <= set(dir(winkel))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        winkel.nothing  # noqa: B018


def test_the_stub_lists_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    stub = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    stub |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert stub == set(winkel.__all__)


def test_the_stub_of_the_core_is_the_generated_one(tmp_path):
    if importlib.util.find_spec("nanobind") is None:
        pytest.skip("nanobind is not installed, so the stub cannot be generated")
    path = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "winkel._core", "-o", str(path)]
    subprocess.run(command, check=True)
    generated, kept = ast.parse(path.read_text()), ast.parse((PACKAGE / "_core.pyi").read_text())
    assert ast.dump(generated) == ast.dump(kept), "run `make stubs`"


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
