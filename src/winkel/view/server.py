"""A server for one person: it shows registered pages, only on this computer and only to someone who has the secret address.

Its protections, in the order in which a request meets them:

    127.0.0.1, a free port   nobody on the network can connect
    Host                     a foreign name that was made to point here (DNS rebinding) is refused
    GET only                 nothing can be changed
    Origin, Sec-Fetch-Site   pages of other origins, also on other ports of this computer, are refused
    token in the address     256 random bits, compared in constant time
    a fixed list of names    no part of an address is ever used as a path of a file; a tile has three numbers within bounds

Every answer forbids everything that its page does not need (content-security policy), type sniffing, framing and caching.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

from ..checks import integer
from ..errors import InvalidInputError, WinkelError, missing_extra
from .feed import Feed
from .tiles import DEEPEST, Tiles

_TILE = re.compile(r"(density|points)/([0-9]{1,2})/([0-9]{1,8})/([0-9]{1,8})", re.ASCII)
ADDRESS = "127.0.0.1"
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_WATCHING = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Resource:
    """One thing that can be fetched."""

    body: bytes
    media_type: str
    policy: str = _NOTHING


@dataclass(frozen=True)
class Site:
    """Everything that a server sends: resources by name ("" is the page), a feed as "events" if there is one, and resources that `make` makes for other names."""

    resources: Mapping[str, Resource]
    feed: Feed | None = None
    make: Callable[[str], Resource | None] | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))


def page_site(html: bytes) -> Site:
    """The site of one page that `winkel.write_html` wrote."""
    policy = _own_policy(html)
    return Site({"": Resource(html, "text/html; charset=utf-8", f"{policy}; frame-ancestors 'none'")})


def watch_site(feed: Feed) -> Site:
    """The site that shows a map as it forms."""
    return Site(_static("watch"), feed)


def tiles_site(tiles: Tiles, title: str) -> Site:
    """The site that shows a map of millions by tiles."""
    told = json.dumps(tiles.told(title)).encode()
    resources = {**_static("tiles"), "tiles.json": Resource(told, "application/json")}

    def make(name: str) -> Resource | None:
        asked = _TILE.fullmatch(name)
        if asked is None:
            return None
        z, x, y = (int(number) for number in asked.groups()[1:])
        if z > DEEPEST or max(x, y) >= 1 << z:
            return None
        body = tiles.density(z, x, y) if asked[1] == "density" else tiles.points(z, x, y)
        return Resource(body, "application/octet-stream")

    return Site(resources, make=make)


def _static(name: str) -> dict[str, Resource]:
    """A page with its program and its style."""
    static = files("winkel.view") / "static"
    types = {
        "": ("html", "text/html"),
        f"{name}.js": ("js", "text/javascript"),
        f"{name}.css": ("css", "text/css"),
    }
    return {
        asked: Resource((static / f"{name}.{suffix}").read_bytes(), f"{kind}; charset=utf-8", _WATCHING)
        for asked, (suffix, kind) in types.items()
    }


class _PolicyFinder(HTMLParser):
    """Finds the content-security policy that a page sets for itself."""

    policy: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "meta" and (attributes.get("http-equiv") or "").lower() == "content-security-policy":
            self.policy = self.policy or attributes.get("content")


def _own_policy(html: bytes) -> str:
    """The policy of a page of winkel's own, which allows nothing but the page itself."""
    finder = _PolicyFinder()
    finder.feed(html[:65536].decode("utf-8", "replace"))
    policy = finder.policy
    if policy is None or "default-src 'none'" not in policy or "unsafe" in policy or "\n" in policy:
        raise InvalidInputError(
            "The file is not a page that winkel wrote (it does not set winkel's content-security policy), "
            "so it is not served. Open it in a browser yourself if you trust it."
        )
    return policy


def make_app(site: Site, hosts: Iterable[str]) -> Any:
    """The ASGI application that sends `site` to requests whose Host is one of `hosts`."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response, StreamingResponse
        from starlette.routing import Route
    except ImportError as error:
        raise missing_extra("starlette", "server", "The local server") from error

    async def give(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "events" and site.feed is not None:
            return StreamingResponse(site.feed.events(), media_type="text/event-stream")
        resource = site.resources.get(name)
        if resource is None and site.make is not None:
            resource = await run_in_threadpool(site.make, name)
        if resource is None:
            return PlainTextResponse("There is nothing of that name.", 404)
        headers = {"content-security-policy": resource.policy}
        return Response(resource.body, headers=headers, media_type=resource.media_type)

    application = Starlette(routes=[Route("/{token}/{name:path}", give, methods=["GET"])])
    application.router.redirect_slashes = False
    return _Guard(application, site.token, hosts)


class _Guard:
    """ASGI middleware that refuses forbidden requests and sets the headers of every answer."""

    def __init__(self, application: Any, token: str, hosts: Iterable[str]) -> None:
        self._application = application
        self._token = token.encode()
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise WinkelError(f"This server only speaks HTTP; got {scope['type']!r}.")

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _guarded(message["headers"])
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._application(scope, receive, send_guarded)
            return
        status, text = refusal
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"allow", b"GET")]
        await send_guarded({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"{text}\n".encode()})

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        """Status and sentence for a request that is not answered."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key in ("host", "origin"):
                return 400, "A header was given twice."
            headers[key] = value.decode("latin-1")
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This server does not answer to that host name."
        if scope["method"] != "GET":
            return 405, "Only GET is allowed."
        if _is_foreign(headers, self._hosts):
            return 403, "Pages of other origins are not served."
        # A path need not begin with a slash: "GET *" is HTTP too.
        token = scope["path"].removeprefix("/").partition("/")[0].encode("utf-8", "surrogatepass")
        if not secrets.compare_digest(token, self._token):
            return 403, "The address does not contain the right token."
        return None


def _is_foreign(headers: Mapping[str, str], hosts: frozenset[str]) -> bool:
    """Whether a page of another origin sent the request; a person who opens the address does not count as one."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        return True
    visits = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and not visits


def _guarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = list(headers)
    if not any(name == b"content-security-policy" for name, _ in kept):
        kept.append((b"content-security-policy", _NOTHING.encode()))
    return kept + [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class LocalServer:
    """A running server of one site; as a context manager it ends with the block."""

    def __init__(self, site: Site, port: int = 0) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise missing_extra("uvicorn", "server", "The local server") from error
        port = integer("port", port, 0, 2**16 - 1)  # 0 for a free one
        self._site = site
        try:
            self._socket = socket.create_server((ADDRESS, port))
        except OSError as error:
            raise WinkelError(f"The port {port} of {ADDRESS} cannot be used: {error}.") from None
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            make_app(site, [f"{name}:{self.port}" for name in (ADDRESS, "localhost")]),
            access_log=False,  # addresses hold the token
            http="h11",
            lifespan="off",
            log_level="critical",
            loop="asyncio",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="winkel-server", daemon=True
        )

    @property
    def url(self) -> str:
        """The secret address of the page."""
        return f"http://{ADDRESS}:{self.port}/{self._site.token}/"

    def __enter__(self) -> LocalServer:
        self._thread.start()
        return self

    def wait(self) -> None:
        """Serve until Ctrl-C, which only ends this call."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.2)  # in pieces, so that Ctrl-C is seen
        except KeyboardInterrupt:
            pass

    def __exit__(self, *_: object) -> None:
        if self._site.feed is not None:
            self._site.feed.stop()
        self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()
