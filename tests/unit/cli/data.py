"""Small tables for the command line, as files."""

from __future__ import annotations

import csv
import json

import numpy as np

from winkel.cli import main

CLASSES = ("a", "b", "<script>alert(1)</script>")


def rows(n=60, m=5, seed=0):
    """Three clusters."""
    rng = np.random.default_rng(seed)
    which = np.arange(n) % 3
    return (rng.normal(size=(n, m)) + 1.5 * np.eye(3, m)[which]).astype(np.float32), which


def write_table(path, n=60, delimiter=","):
    """A text file with ids, five features and labels; its path as text."""
    X, which = rows(n)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["name", *(f"f{j}" for j in range(X.shape[1])), "kind"])
        for i, row in enumerate(X.tolist()):
            writer.writerow([f"row {i}", *row, CLASSES[which[i]]])
    return str(path)


def call(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def call_json(capsys, *arguments):
    """Exit code and the one JSON object of a command."""
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)
