"""A scripted model on loopback, and the least that a durable agent does with it; standard library only.

    python -m benchmarks.agent_server                 prints its port, then serves until it is ended
    python -m benchmarks.agent_server --floor URL     the floor: ask, run in bash, append and fsync, ask again

`POST /_reset {"rounds": N}`: the next N requests are answered with one call of the agent's shell tool (`echo round-i`),
the one after with "done". `GET /_log`: when each request was read and answered (CLOCK_MONOTONIC), and its size.
"""

import http.client
import http.server
import json
import os
import subprocess
import sys
import time
from typing import Any


class Server(http.server.ThreadingHTTPServer):
    """Plays rounds, and keeps a log."""

    daemon_threads = True
    rounds = 0
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
        read, request = time.monotonic(), json.loads(body)
        if self.path == "/_reset":
            self.server.rounds, self.server.log = request["rounds"], []
            self._json({})
            return
        entry: dict[str, Any] = {"read": read, "bytes": len(body), "ran": body.count(b"round-")}
        self.server.log.append(entry)
        number = len(self.server.log)
        delta: dict[str, Any] = {"role": "assistant", "content": "done"}
        if number <= self.server.rounds:
            name = next(t["function"]["name"] for t in request["tools"] if t["function"]["name"].lower() == "bash")
            function = {"name": name, "arguments": json.dumps({"command": f"echo round-{number}"})}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            delta = {"role": "assistant", "tool_calls": [call]}
        self._stream(delta, "tool_calls" if "tool_calls" in delta else "stop")
        entry["sent"] = time.monotonic()

    def _stream(self, delta: dict[str, Any], reason: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        chunk = {"id": "c", "created": 1, "model": "mock", "object": "chat.completion.chunk"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
        for text in (json.dumps(first), json.dumps(last), "[DONE]"):
            data = f"data: {text}\n\n".encode()
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
