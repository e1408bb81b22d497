"""Answers the first requests of a client before the SDK is loaded: some clients do not wait as long as that takes.

Only the usual beginning is answered here: `initialize` and pings, or `server/discover` and `subscriptions/listen`, and
the first `tools/list`. The SDK gets the same lines afterwards, and its answers to them are dropped, so that it is in
the same state as if it had answered itself.
`tests/adapters/mcp_server/test_handshake.py` compares both answers for every version of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from toolgate.adapters.line_buffer import LineTooLong
from toolgate.adapters.mcp_server.clients import HANDSHAKE_VERSIONS, Clients
from toolgate.adapters.mcp_server.descriptors import LineReader, LineWriter
from toolgate.adapters.mcp_server.duplicate_keys import duplicate_key
from toolgate.adapters.mcp_server.server_info import INSTRUCTIONS, NAME, TITLE, version
from toolgate.protocol.jsontext import encode, is_unicode

CAPABILITIES = {"logging": {}, "tools": {"listChanged": True}}
MODERN_VERSION = "2026-07-28"
"""The version of the protocol that begins with `server/discover`."""
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
"""The method of the message that `subscriptions/listen` is answered with at first."""
_META = "io.modelcontextprotocol/"

_Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Makes a whole message from a request; None if the SDK has to answer it."""


@dataclass(slots=True, kw_only=True)
class Handshake:
    """What was read and answered before the SDK was loaded."""

    lines: list[bytes] = field(default_factory=list)
    """The lines that the SDK still has to get."""
    answered: list[str | int] = field(default_factory=list)
    """The ids of the requests among them that were answered."""
    acknowledged: list[str | int] = field(default_factory=list)
    """The ids of the subscriptions among them that were acknowledged."""
    has_ended: bool = False
    """Whether the client has disconnected."""


async def shake_hands(reader: LineReader, writer: LineWriter, clients: Clients) -> Handshake:
    """Answer requests until the tools were listed, or until a message comes that is not part of the usual beginning."""
    handshake = Handshake()
    answers: dict[str, _Answer] = {"initialize": _initialize, "server/discover": _discover}
    while True:
        line = await reader.next()
        if line is None:
            handshake.has_ended = True
            return handshake
        request = None if isinstance(line, LineTooLong) else _request(line)
        if request is None or isinstance(line, LineTooLong):
            reader.put_back(line)
            return handshake
        if request["method"] == "notifications/initialized" and handshake.answered:
            handshake.lines.append(line)
            continue
        answer = answers.get(request["method"])
        message = None if answer is None or "id" not in request else answer(request)
        if message is None:
            reader.put_back(line)
            return handshake
        writer.put(encode(message))
        handshake.lines.append(line)
        (handshake.answered if "id" in message else handshake.acknowledged).append(request["id"])
        if request["method"] == "tools/list":
            return handshake
        if request["method"] in _FIRST:
            answers = _FIRST[request["method"]](clients)


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
    if not is_unicode(json.dumps(message, ensure_ascii=False)):
        return None
    return message


_KEYS = {"jsonrpc", "id", "method", "params"}


def _result(request: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def _server() -> dict[str, str]:
    return {"name": NAME, "title": TITLE, "version": version()}


def _is_client(info: Any, capabilities: Any) -> bool:
    """Whether a client describes itself as it has to."""
    if not isinstance(info, dict) or not isinstance(capabilities, dict):
        return False
    named = all(isinstance(info.get(key), str) for key in ("name", "version"))
    return named and all(isinstance(capability, dict) for capability in capabilities.values())


def _initialize(request: dict[str, Any]) -> dict[str, Any] | None:
    """Answer `initialize`; None if the parameters are not valid."""
    params = request.get("params", {})
    requested = params.get("protocolVersion")
    if not isinstance(requested, str) or not _is_client(params.get("clientInfo"), params.get("capabilities")):
        return None
    result = {
        "protocolVersion": requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": _server(),
        "instructions": INSTRUCTIONS,
    }
    return _result(request, result)


def _after_initialize(clients: Clients) -> dict[str, _Answer]:
    return {
        "ping": lambda request: _result(request, {}),
        "tools/list": lambda request: _result(request, {"tools": clients.tool_entries()}),
    }


def _modern(request: dict[str, Any], result: dict[str, Any]) -> dict[str, Any] | None:
    """Answer a request of 2026-07-28, in which every request describes its client; None if this one does not."""
    meta = request.get("params", {}).get("_meta")
    if not isinstance(meta, dict) or meta.get(f"{_META}protocolVersion") != MODERN_VERSION:
        return None
    if not _is_client(meta.get(f"{_META}clientInfo"), meta.get(f"{_META}clientCapabilities")):
        return None
    common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {f"{_META}serverInfo": _server()}}
    return _result(request, {**result, **common})


def _discover(request: dict[str, Any]) -> dict[str, Any] | None:
    found = {"supportedVersions": [MODERN_VERSION], "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
    return _modern(request, found)


def _listen(request: dict[str, Any]) -> dict[str, Any] | None:
    """Acknowledge a subscription to changes of the list of tools. Its answer comes at the end of the connection."""
    wanted = {"toolsListChanged": True}
    if _modern(request, {}) is None or request["params"].get("notifications") != wanted:
        return None
    params = {"_meta": {f"{_META}subscriptionId": request["id"]}, "notifications": wanted}
    return {"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": params}


def _after_discover(clients: Clients) -> dict[str, _Answer]:
    return {
        "server/discover": _discover,
        "subscriptions/listen": _listen,
        "tools/list": lambda request: _modern(request, {"tools": clients.tool_entries()}),
    }


_FIRST: dict[str, Callable[[Clients], dict[str, _Answer]]] = {
    "initialize": _after_initialize,
    "server/discover": _after_discover,
}
"""The first request of a client → what is answered after it."""
