"""A server that speaks OpenAI's chat API and answers with a script, for programs that tests start.

A turn is a list: text is streamed, a number is a pause in seconds, `{"call": NAME, "arguments": {…}}` is a tool call,
and `{"status": 401}` in the first place is a refusal.
Run by itself it plays a script from a file: `python -m tests.support.scripted_server SCRIPT.json [PORT]`.
"""

import http.server
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Step = str | float | dict[str, Any]


class ScriptedServer(http.server.ThreadingHTTPServer):
    """Plays one turn per request, and keeps the requests."""

    daemon_threads = True

    def __init__(self, turns: Sequence[Sequence[Step]], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.turns = list(turns)
        self.requests: list[dict[str, Any]] = []
        self.asked = threading.Event()
        """Set once a request has come."""
        self.left = threading.Event()
        """Set once a client has hung up in the middle of an answer."""

    @property
    def url(self) -> str:
        """The base URL of the API."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to talk to it."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "test-key-of-nobody", "NO_PROXY": "127.0.0.1"}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error."""
        if isinstance(sys.exc_info()[1], ConnectionError):
            self.left.set()
        else:
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """List the one model."""
        body = json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Answer with the next turn."""
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.server.asked.set()
        turn = self.server.turns.pop(0) if self.server.turns else ["The script has ended."]
        if turn and isinstance(turn[0], dict) and "status" in turn[0]:
            self._refuse(turn[0]["status"])
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        calls = 0
        for step in turn:
            if isinstance(step, int | float):
                time.sleep(step)
                continue
            if isinstance(step, str):
                self._event({"content": step})
                continue
            function = {"name": step["call"], "arguments": json.dumps(step.get("arguments", {}))}
            call_id = f"call_{len(self.server.requests)}_{calls}"
            self._event({"tool_calls": [{"index": calls, "id": call_id, "type": "function", "function": function}]})
            calls += 1
        self._event({}, "tool_calls" if calls else "stop")
        self._send(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int) -> None:
        body = json.dumps({"error": {"message": "no", "type": "x"}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _event(self, delta: dict[str, Any], finish: str | None = None) -> None:
        chunk: dict[str, Any] = {"id": "c", "created": 1, "model": "scripted", "object": "chat.completion.chunk"}
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
        if finish is not None:
            chunk["usage"] = {"prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234}
        self._send(f"data: {json.dumps(chunk)}\n\n".encode())

    def _send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


@contextmanager
def serving(turns: Sequence[Sequence[Step]], port: int = 0) -> Iterator[ScriptedServer]:
    """The server, for as long as the block lasts."""
    with ScriptedServer(turns, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as script:
        ScriptedServer(json.load(script), int(sys.argv[2]) if sys.argv[2:] else 0).serve_forever()
