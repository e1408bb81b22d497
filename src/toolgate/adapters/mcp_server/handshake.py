"""Answers the first requests of a client before the SDK is loaded: some clients do not wait as long as that takes.

Only the usual beginning is answered here: `initialize`, pings, and the first `tools/list`. The SDK gets the same lines
afterwards, and its answers to them are dropped, so that it is in the same state as if it had answered itself.
`tests/adapters/mcp_server/test_handshake.py` compares both answers for every version of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from toolgate.adapters.mcp_server.clients import HANDSHAKE_VERSIONS, Clients
from toolgate.adapters.mcp_server.descriptors import LineReader, LineWriter
from toolgate.adapters.mcp_server.line_buffer import LineTooLong, duplicate_key
from toolgate.adapters.mcp_server.server_info import INSTRUCTIONS, NAME, TITLE, version
from toolgate.protocol.jsontext import encode

CAPABILITIES = {"logging": {}, "tools": {"listChanged": True}}

_Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass(slots=True, kw_only=True)
class Handshake:
    """What was read and answered before the SDK was loaded."""

    lines: list[bytes] = field(default_factory=list)
    """The lines that the SDK still has to get."""
    answered: list[str | int] = field(default_factory=list)
    """The ids of the requests among them that were answered."""
    has_ended: bool = False
    """Whether the client has disconnected."""


async def shake_hands(reader: LineReader, writer: LineWriter, clients: Clients) -> Handshake:
    """Answer requests until the tools were listed, or until a message comes that is not part of the usual beginning."""
    done = Handshake()
    answers: dict[str, _Answer] = {"initialize": _initialize}
    while True:
        line = await reader.next()
        if line is None:
            done.has_ended = True
            return done
        request = None if isinstance(line, LineTooLong) else _request(line)
        if request is None or isinstance(line, LineTooLong):
            reader.put_back(line)
            return done
        if request["method"] == "notifications/initialized" and done.answered:
            done.lines.append(line)
            continue
        answer = answers.get(request["method"])
        result = None if answer is None or "id" not in request else answer(request.get("params") or {})
        if result is None:
            reader.put_back(line)
            return done
        writer.put(encode({"jsonrpc": "2.0", "id": request["id"], "result": result}))
        done.lines.append(line)
        done.answered.append(request["id"])
        if request["method"] == "tools/list":
            return done
        answers = {"ping": lambda _: {}, "tools/list": lambda _: {"tools": clients.tool_entries(structured=False)}}


def _request(line: bytes) -> dict[str, Any] | None:
    """Parse a request or a notification. None if anything about it is unusual: the SDK answers it then."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return None
    given = message.get("id", 0)
    if isinstance(given, bool) or not isinstance(given, str | int) or not message.keys() <= _KEYS:
        return None
    if not isinstance(message.get("params", {}), dict) or duplicate_key(line) is not None:
        return None
    return message


_KEYS = {"jsonrpc", "id", "method", "params"}


def _initialize(params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of `initialize`; None if the parameters are not valid."""
    client, capabilities = params.get("clientInfo"), params.get("capabilities")
    if not isinstance(client, dict) or not isinstance(capabilities, dict):
        return None
    if not all(isinstance(capability, dict) for capability in capabilities.values()):
        return None
    requested = params.get("protocolVersion")
    if not all(isinstance(value, str) for value in (requested, client.get("name"), client.get("version"))):
        return None
    return {
        "protocolVersion": requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": NAME, "title": TITLE, "version": version()},
        "instructions": INSTRUCTIONS,
    }
