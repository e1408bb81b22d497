"""A scripted model on loopback, and the least that a durable agent does with it; standard library only.

    python -m benchmarks.agent_server                 prints its port, then serves until it is ended
    python -m benchmarks.agent_server --floor URL     the floor: ask, run in bash, append and fsync, ask again

`POST /_reset {"rounds": N}`: the next N requests that offer a shell tool are answered with one call of it
(`echo round-i`), the one after with "done", or with the command `final` for an agent that has to say so.
Requests without a shell tool (titles, classifiers) get "done" and are not counted. `GET /_log`: when each request was
read and answered (CLOCK_MONOTONIC), and its size.
"""

import http.client
import http.server
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.agent_formats import FORMATS, Chat, Messages, Responses, shell_call


class Server(http.server.ThreadingHTTPServer):
    """Plays rounds, and keeps a log."""

    daemon_threads = True
    rounds = 0
    final: str | None = None
    log: list[dict[str, Any]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._json(self.server.log)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        read, request = time.monotonic(), json.loads(body or b"{}")
        path = self.path.partition("?")[0]
        if path == "/_reset":
            self.server.rounds, self.server.final, self.server.log = request["rounds"], request.get("final"), []
            self._json({})
            return
        answers = next((one for one in FORMATS if path.endswith(one.path)), None)
        if answers is None:  # counting tokens, telemetry
            self._json({"input_tokens": 10})
            return
        if shell_call(request, "true") is None:
            self._send(answers, None, 0, stream=bool(request.get("stream")))
            return
        entry: dict[str, Any] = {"read": read, "bytes": len(body), "ran": body.count(b"round-")}
        self.server.log.append(entry)
        number = len(self.server.log)
        command = f"echo round-{number}" if number <= self.server.rounds else self.server.final
        self._send(answers, command, number, stream=bool(request.get("stream")), request=request)
        entry["sent"] = time.monotonic()

    def _send(
        self,
        answers: Chat | Responses | Messages,
        command: str | None,
        number: int,
        *,
        stream: bool,
        request: dict[str, Any] | None = None,
    ) -> None:
        call = shell_call(request, command) if request is not None and command is not None else None
        if not stream:
            self._json(answers.whole(call, number))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, event in answers.events(call, number):
            text = event if isinstance(event, str) else json.dumps(event)
            data = (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def floor(url: str) -> None:
    """Ask, run, write down, ask again."""
    connection = http.client.HTTPConnection(url.split("//")[1])
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": "bash", "parameters": parameters}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    with open("floor.jsonl", "a", encoding="utf-8") as log:
        while True:
            body = json.dumps({"model": "mock", "stream": True, "messages": messages, "tools": tools})
            connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            call = None
            for line in connection.getresponse():
                if line.startswith(b"data: {"):
                    for part in json.loads(line[6:])["choices"][0]["delta"].get("tool_calls") or []:
                        call = part
            if call is None:
                return
            made = {key: call[key] for key in ("id", "type", "function")}
            messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
            command = json.loads(call["function"]["arguments"])["command"]
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
            )
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})
            for message in messages[-2:]:
                log.write(json.dumps(message) + "\n")
            log.flush()
            os.fsync(log.fileno())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        floor(sys.argv[2])
    else:
        with Server(("127.0.0.1", 0), Handler) as served:
            print(served.server_address[1], flush=True)
            served.serve_forever()
