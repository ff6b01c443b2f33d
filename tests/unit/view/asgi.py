"""A client that hands requests to an ASGI application exactly as given, without tidying anything."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes


def run_apart(coroutine):
    """What the coroutine returns, run in a thread of its own: a browser's test may have left a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Client:
    application: object
    host: str

    def get(self, path, headers=None, method="GET"):
        """The answer to one request; `headers` may replace the host."""
        sent = {"host": self.host, **(headers or {})}
        target, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(target).decode("utf-8", "replace"),
            "raw_path": target.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 4321),
        }
        return run_apart(self._exchange(scope))

    async def _exchange(self, scope):
        messages = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            messages.append(message)

        await self.application(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        return Answer(messages[0]["status"], headers, b"".join(m.get("body", b"") for m in messages[1:]))
