"""The feed of a map as it forms: what pages are told, and in what form."""

from __future__ import annotations

import base64
import json
import urllib.request

import numpy as np
import pytest

import winkel as wk
from winkel.solvers import IterationInfo, SolverState, Status
from winkel.view import feed as feed_module
from winkel.view.feed import Feed
from winkel.view.server import LocalServer, watch_site

from .asgi import run_apart


def info(iteration=1, Y=None, objective=2.0):
    Y = np.array([[0.0, 0.0], [4.0, 2.0], [2.0, 1.0]]) if Y is None else Y
    state = SolverState(iteration, Y, objective, 0.1)
    return IterationInfo(iteration, 10, Y, objective, 0.1, 0.5, state)


def told(feed):
    """All events of an ended feed, as pairs of name and content."""

    async def collect():
        return [text async for text in feed.events()]

    return [parsed(text) for text in run_apart(collect())]


def parsed(text):
    name, data = text.removesuffix("\n\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def unpacked(content):
    return np.frombuffer(base64.b64decode(content["points"]), dtype="<u2").reshape(-1, 2)


def test_a_listener_gets_the_newest_state_and_the_end():
    feed = Feed("title")
    feed.open("lbfgs", 0, 10)
    feed.end(info(1))
    feed.end(info(2, objective=float("nan")))
    feed.close(Status("converged", "Done."))
    feed.finish()
    start, state, end = told(feed)
    assert start == ("start", {"title": "title"})
    assert end == ("end", {})
    assert state[0] == "state"
    content = state[1]
    assert content["stage"] == "finished"
    assert content["status"] == "converged: Done."
    assert (content["iteration"], content["max_iter"], content["solver"]) == (2, 10, "lbfgs")
    assert content["objective"] is None  # JSON has no NaN
    assert unpacked(content).tolist() == [[0, 0], [65535, 32767], [32767, 16383]]
    assert content["extent"] == [1.0, 0.5]


def test_states_that_come_fast_are_skipped(monkeypatch):
    feed = Feed("title")
    now = [100.0]
    monkeypatch.setattr(feed_module.time, "monotonic", lambda: now[0])
    versions = []
    for iteration in range(1, 7):
        now[0] += 0.04
        feed.end(info(iteration))
        versions.append(feed._version)
    assert versions == [2, 2, 2, 3, 3, 3]


def test_of_very_many_points_every_kth_is_sent(monkeypatch):
    monkeypatch.setattr(feed_module, "MOST_POINTS", 10)
    Y = np.random.default_rng(0).normal(size=(25, 2))
    feed = Feed("title", labels=np.arange(25) % 2)
    feed.end(info(1, Y))
    feed.finish()
    start, state, _ = told(feed)
    assert state[1]["n"] == 25
    assert len(unpacked(state[1])) == 9
    codes = np.frombuffer(base64.b64decode(start[1]["codes"]), dtype="<u2")
    assert codes.tolist() == [(3 * k) % 2 for k in range(9)]


@pytest.mark.parametrize("m", [1, 2, 5])
def test_maps_of_any_dimension_show_two(m):
    feed = Feed("title")
    feed.end(info(1, np.arange(4.0 * m).reshape(4, m)))
    feed.finish()
    assert unpacked(told(feed)[1][1]).shape == (4, 2)


def test_a_map_in_one_place_is_drawn():
    feed = Feed("title")
    feed.end(info(1, np.ones((4, 2))))
    feed.finish()
    assert unpacked(told(feed)[1][1]).tolist() == [[0, 0]] * 4


def test_text_cannot_break_an_event():
    feed = Feed("a\nevent: state\ndata: {}\n\n\u2028</script>", labels=["x\r\ny", "<img onerror=1>"])
    feed.finish()
    events = told(feed)
    assert [name for name, _ in events] == ["start", "state", "end"]
    assert events[0][1]["title"].startswith("a\nevent")
    assert events[0][1]["names"] == ["<img onerror=1>", "x\r\ny"]


def test_a_fit_that_never_iterated_ends_too():
    feed = Feed("title")
    feed.finish()
    assert [name for name, _ in told(feed)] == ["start", "state", "end"]


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
def test_a_real_fit_is_told_over_a_real_connection():
    X = np.random.default_rng(0).normal(size=(50, 4))
    feed = Feed("fit", labels=np.arange(50) % 3)
    with LocalServer(watch_site(feed)) as server:
        stream = urllib.request.urlopen(f"{server.url}events", timeout=20)
        assert stream.headers["content-type"].startswith("text/event-stream")
        model = wk.MDE(n_neighbors=5, max_iter=5, random_state=0, callbacks=[feed]).fit(X)
        feed.finish()
        events = [parsed(part + "\n\n") for part in stream.read().decode().split("\n\n") if part]
        stream.close()
    assert events[0][0] == "start"
    assert events[-1][0] == "end"
    last = events[-2][1]
    assert last["iteration"] == 5
    Y = model.embedding_
    extent = np.ptp(Y, axis=0).max()
    np.testing.assert_allclose(unpacked(last) / 65535, (Y - Y.min(axis=0)) / extent, atol=2e-5)
