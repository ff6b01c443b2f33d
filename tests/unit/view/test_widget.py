"""The explorer as a notebook's widget."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import winkel as wk
from winkel.errors import MissingDependencyError


def in_a_kernel(monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_a_notebook_gets_a_widget_whose_selection_can_be_observed(monkeypatch):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    from winkel.view.widget import ExplorerWidget

    in_a_kernel(monkeypatch)
    widget = wk.explore(np.eye(3)[:, :2], labels=[0, 1, 1], height=400)
    assert isinstance(widget, ExplorerWidget)
    assert widget.height == 400
    assert set(widget.parts) == {"main"}
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "selection")
    widget.set_state({"selection": [0, 2]})  # as the page sends it
    assert widget.selection == [0, 2]
    assert seen == [[0, 2]]


def test_without_anywidget_the_message_says_how_to_install_it(monkeypatch):
    in_a_kernel(monkeypatch)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "winkel.view.widget", raising=False)
    with pytest.raises(MissingDependencyError, match=r"winkel\[notebook\]"):
        wk.explore(np.eye(3)[:, :2])
