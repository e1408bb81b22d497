"""A real agent from npm uses Toolgate's tools as an MCP server: a success, a denial, and what a policy rule allows.

Its model is a script on loopback that speaks OpenAI's protocol; everything else is opencode as people install it. It
shows no forms, so the denial names the rule, and the second run has that rule in the user's policy.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp_server.kit import environment, words
from tests.adapters.outside.conftest import Program, npm_environment

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("toolgate_read_file", {"path": "a.txt"}),
    ("toolgate_Bash", {"command": "rm a.txt"}),
]
"""What the model calls, one call a round; then it says that it is done."""


class Model(ThreadingHTTPServer):
    """A model that follows the script."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def answers(self) -> list[str]:
        """What the tools answered, as the model read it in the longest conversation."""
        conversation = max((request["messages"] for request in self.requests), key=len)
        return [_text(message["content"]) for message in conversation if message["role"] == "tool"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        done = sum(message["role"] == "tool" for message in body["messages"])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if body.get("tools") and done < len(SCRIPT):
            name, arguments = SCRIPT[done]
            call = {"name": name, "arguments": json.dumps(arguments)}
            delta = {"tool_calls": [{"index": 0, "id": f"call_{done}", "type": "function", "function": call}]}
            self._chunk({"role": "assistant", **delta})
            self._chunk({}, "tool_calls")
        else:
            self._chunk({"role": "assistant", "content": "That is all."})
            self._chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        document = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "script", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to say."""


@pytest.fixture
def model() -> Iterator[Model]:
    """The model, serving."""
    server = Model()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def _configuration(model: Model, root: Path, policy: Path) -> dict[str, Any]:
    """opencode.json, as docs/clients/opencode.md has it, with the script for a model."""
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/script",
        "small_model": "scripted/script",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": model.url, "apiKey": "none"},
                "models": {"script": {"tool_call": True, "limit": {"context": 100_000, "output": 4_000}}},
            }
        },
        "mcp": {
            "toolgate": {
                "type": "local",
                "command": words(root),
                "environment": {**environment(root.parent / "home"), "TOOLGATE_POLICY_FILE": str(policy)},
                "enabled": True,
                "timeout": 120_000,
            }
        },
    }


async def _opencode(opencode: Path, configuration: dict[str, Any], root: Path, home: Path) -> str:
    home.mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(str(opencode), "run", "do it", "--print-logs"),
        cwd=root,
        env={
            **environment(home),
            "PATH": npm_environment()["PATH"],
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "OPENCODE_CONFIG_CONTENT": json.dumps(configuration),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 180)
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_opencode_reads_is_denied_and_then_allowed_by_the_rule_that_it_was_told(
    program: Program, model: Model, tmp_path: Path
) -> None:
    opencode = await asyncio.to_thread(program, "opencode")
    root, policy = tmp_path / "project", tmp_path / "policy.toml"
    root.mkdir()
    (root / "a.txt").write_text("the text\n")
    policy.touch()  # a file that is named has to be there
    configuration = _configuration(model, root, policy)

    said = await _opencode(opencode, configuration, root, tmp_path / "home")
    offered = {tool["function"]["name"] for request in model.requests for tool in request.get("tools", [])}
    assert {f"toolgate_{name}" for name in ("read_file", "write_file", "edit_file", "Bash", "grep")} <= offered, said
    read, denied = model.answers
    assert "the text" in read
    assert "This call was not approved: it needs permission and nobody can be asked here" in denied
    assert (root / "a.txt").exists()

    rule = denied[denied.index("[[rule]]") :]
    policy.write_text(rule[: rule.index('"allow"') + len('"allow"')] + "\n")
    model.requests.clear()
    await _opencode(opencode, configuration, root, tmp_path / "home")
    _, allowed = model.answers
    assert "not approved" not in allowed
    assert not (root / "a.txt").exists()
