"""The local server gives registered pages to whoever has its address, and nothing to anyone else."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest

from winkel.errors import InvalidInputError, WinkelError
from winkel.view.feed import Feed
from winkel.view.server import ADDRESS, LocalServer, Resource, Site, make_app, page_site, watch_site

from .asgi import Client

HOST = "127.0.0.1:4321"
POLICY = "default-src 'none'; script-src 'sha256-abc'; connect-src 'none'"
PAGE = f"""<!DOCTYPE html><html><head>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>map</title></head><body>points</body></html>""".encode()


@pytest.fixture
def site():
    return page_site(PAGE)


@pytest.fixture
def client(site):
    return Client(make_app(site, [HOST, "localhost:4321"]), HOST)


def assert_guarded(response):
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert "access-control-allow-origin" not in response.headers


def test_the_page_is_given_under_its_own_policy(client, site):
    response = client.get(f"/{site.token}/")
    assert response.status == 200
    assert response.body == PAGE
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == f"{POLICY}; frame-ancestors 'none'"
    assert_guarded(response)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4321",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:4321.evil",
        "[::1]:4321",
        "",
    ],
)
def test_a_foreign_host_is_refused(client, site, host):
    response = client.get(f"/{site.token}/", headers={"host": host})
    assert response.status == 421
    assert b"points" not in response.body
    assert_guarded(response)


def test_localhost_is_the_same(client, site):
    assert client.get(f"/{site.token}/", headers={"host": "LOCALHOST:4321"}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//",
        "/wrong/",
        "/{token}x/",
        "/x{token}/",
        "/{short}/",
        "/?token={token}",
        "/%00/",
        "/é/",
        "/../{token}/",
        "/.",
    ],
)
def test_a_missing_or_wrong_token_is_refused(client, site, path):
    response = client.get(path.format(token=site.token, short=site.token[:-1]))
    assert response.status == 403
    assert b"points" not in response.body
    assert_guarded(response)


@pytest.mark.parametrize(
    "name",
    [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "..\\..\\etc\\passwd",
        "watch.html",
        "server.py",
        "events",
        "index.html",
        "%00",
    ],
)
def test_only_registered_names_are_given(site, name):
    # Straight to the application: a client would tidy the path before it is sent.
    status, body = raw(site, f"/{site.token}/{name}")
    assert status == 404
    assert b"root:" not in body


def raw(site, path, method="GET", headers=()):
    """Status and body of a request that is sent exactly as given, over a real connection."""
    with LocalServer(site) as server, socket.create_connection((ADDRESS, server.port), timeout=10) as sock:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {ADDRESS}:{server.port}", "Connection: close", *headers]
        sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_only_get_is_allowed(client, site, method):
    response = client.get(f"/{site.token}/", method=method)
    assert response.status == 405
    assert response.headers["allow"] == "GET"
    assert_guarded(response)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:9999", "http://localhost", "null", f"https://{HOST}"]
)
def test_other_origins_are_refused(client, site, origin):
    response = client.get(f"/{site.token}/", headers={"origin": origin})
    assert response.status == 403
    assert_guarded(response)


def test_the_own_origin_is_allowed(client, site):
    assert client.get(f"/{site.token}/", headers={"origin": f"http://{HOST}"}).status == 200


@pytest.mark.parametrize("relation", ["cross-site", "same-site"])
def test_foreign_pages_may_not_embed_but_a_person_may_follow_a_link(client, site, relation):
    embedding = {"sec-fetch-site": relation, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}
    framing = {"sec-fetch-site": relation, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    visiting = {"sec-fetch-site": relation, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    statuses = [client.get(f"/{site.token}/", headers=h).status for h in (embedding, framing, visiting)]
    assert statuses == [403, 403, 200]


def test_a_header_given_twice_is_refused(site):
    status, _ = raw(site, f"/{site.token}/", headers=["Origin: null", "Origin: null"])
    assert status == 400


def test_tokens_are_long_and_new():
    tokens = {page_site(PAGE).token for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 43 for token in tokens)  # 32 bytes in base64


@pytest.mark.parametrize(
    "page",
    [
        b"<html><body>no policy</body></html>",
        b"<meta http-equiv='Content-Security-Policy' content=\"default-src *\">",
        b"<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">",
        b"<meta http-equiv='Content-Security-Policy' content=\"default-src 'none';\r\nX-Evil: 1\">",
        b"\x00\xff not HTML at all",
    ],
)
def test_pages_that_winkel_did_not_write_are_not_served(page):
    with pytest.raises(InvalidInputError, match="not a page that winkel wrote"):
        page_site(page)


def test_the_watch_page_has_all_its_parts():
    site = watch_site(Feed("map"))
    client = Client(make_app(site, [HOST]), HOST)
    page = client.get(f"/{site.token}/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert_guarded(page)
    for name, kind in (("watch.js", "text/javascript"), ("watch.css", "text/css")):
        assert name.encode() in page.body
        response = client.get(f"/{site.token}/{name}")
        assert response.headers["content-type"].startswith(kind)
        assert_guarded(response)
    assert b"<script>" not in page.body
    assert b" style=" not in page.body
    assert b"innerHTML" not in client.get(f"/{site.token}/watch.js").body


def test_a_real_server_listens_on_this_computer_alone_and_ends(site):
    with LocalServer(site) as server:
        assert server.url.startswith(f"http://127.0.0.1:{server.port}/")
        assert server._socket.getsockname()[0] == "127.0.0.1"
        with urllib.request.urlopen(server.url, timeout=10) as response:
            assert response.read() == PAGE
            assert "server" not in {name.lower() for name in response.headers}
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10)
        port = server.port
    with pytest.raises(OSError), socket.create_connection((ADDRESS, port), timeout=1):
        pass


def test_a_port_in_use_is_named(site):
    with socket.create_server((ADDRESS, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(WinkelError, match=f"port {port} of 127.0.0.1 cannot be used"):
            LocalServer(site, port)
    with pytest.raises(WinkelError, match=r"port must be an integer in .*; got 99999"):
        LocalServer(site, 99999)


def test_ctrl_c_ends_waiting_and_open_streams_do_not_block(monkeypatch):
    feed = Feed("map")
    site = watch_site(feed)
    with LocalServer(site) as server:
        stream = urllib.request.urlopen(f"{server.url}events", timeout=10)
        assert stream.readline() == b"event: start\n"

        def press(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(server._thread, "join", press)
        server.wait()
        monkeypatch.undo()
    assert not server._thread.is_alive()
    stream.close()


def test_resources_of_a_site_have_the_strictest_policy_unless_told(site):
    bare = Site({"data": Resource(b"1", "application/octet-stream")})
    client = Client(make_app(bare, [HOST]), HOST)
    response = client.get(f"/{bare.token}/data")
    assert response.body == b"1"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; base-uri 'none'")
