"""A model on loopback that follows a script; everything else in these tests is the agent as people install it."""

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.adapters.outside.wire import FORMATS, Call, Format, Json, Offered

Script = list[tuple[str, Json]]
"""Calls of Toolgate's tools by their own names, one per round; then the model says that it is done."""


class Model(ThreadingHTTPServer):
    """The model, and what it was asked."""

    daemon_threads = True

    def __init__(self, script: Script, own: str | None = None) -> None:
        """With `own`, the script calls this tool of the agent, which calls ours."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self._own = own
        self.requests: list[tuple[Format, Json]] = []
        """The requests that offered tools of the script."""
        self.others: list[tuple[str, Json]] = []
        """All others: the path and the body."""
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def offered(self) -> set[str]:
        """The tools of the last request."""
        format_, body = self.requests[-1]
        return {tool.full_name for tool in format_.offered(body)}

    @property
    def results(self) -> list[str]:
        """What the tools answered, as the model read it in the longest conversation."""
        return max((format_.results(body) for format_, body in self.requests), key=len, default=[])

    def tools(self, format_: Format, body: Json) -> list[Offered]:
        """The tools of a request that the script may call."""
        offered = format_.offered(body)
        return [tool for tool in offered if tool.name == self._own or (not self._own and "toolgate" in tool.full_name)]

    def next_call(self, format_: Format, body: Json) -> Call | None:
        """Return the call of this round; None at the end of the script and for requests without our tools."""
        number = len(format_.results(body))
        tools = self.tools(format_, body)
        if not tools or number >= len(self.script):
            return None
        name, arguments = self.script[number]
        named = next(tool for tool in tools if tool.name == name or tool.name.endswith(f"_{name}"))
        return Call(named, arguments, number)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = self._body()
        path = urlsplit(self.path).path
        format_ = next((found for end, found in FORMATS.items() if path.endswith(end)), None)
        if format_ is None:
            self.server.others.append((path, body))
            self._json({"totalTokens": 10, "input_tokens": 10})
            return
        if self.server.tools(format_, body):
            self.server.requests.append((format_, body))
        else:
            self.server.others.append((path, body))
        call = self.server.next_call(format_, body)
        self._stream(format_.answer(body, call), json_only=path.endswith(":generateContent"))

    def _body(self) -> Json:
        data = self.rfile.read(int(self.headers["content-length"])) if "content-length" in self.headers else b""
        if not data and "chunked" in self.headers.get("transfer-encoding", ""):
            data = b"".join(self._chunks())
        kind = self.headers.get("content-encoding")
        data = gzip.decompress(data) if kind == "gzip" else zlib.decompress(data) if kind == "deflate" else data
        found: Json = json.loads(data or b"{}")
        return found

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _stream(self, events: list[Any], *, json_only: bool) -> None:
        if json_only:
            self._json(events[0][1])
            return
        lines = []
        for name, data in events:
            lines += [f"event: {name}\n"] if name else []
            lines += [f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"]
        self._send("text/event-stream", "".join(lines).encode())

    def _json(self, value: Any) -> None:
        self._send("application/json", json.dumps(value).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""


@contextmanager
def serving(script: Script, own: str | None = None) -> Iterator[Model]:
    """Serve a model that follows the script."""
    model = Model(script, own)
    thread = threading.Thread(target=model.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        thread.join()
