"""`OfflineModel`: no key, no network. It says so, and runs the tool calls that a person types."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator
from typing import Any

from toolgate.models.base import ModelItem, ModelRequest, ModelStop
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode
from toolgate.tools.text import load_text

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_PAIR = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_LONGEST = 4_000


class OfflineModel:
    """The embedded default. What a person types goes through the same loop and gates as what a model asks for."""

    name = "offline"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """A tool call if the person typed one, its result if it has run, else how to set a model up."""
        last = request.messages[-1] if request.messages else {"role": "user", "content": ""}
        if last["role"] == "tool":
            yield _shown(str(last.get("content") or ""))
            return
        schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in request.tools}
        call = typed_call(str(last.get("content") or ""), schemas) if last["role"] == "user" else None
        if call is not None:
            yield call
            yield ModelStop(reason="tool_calls")
            return
        names = ", ".join(schemas) or "none"
        yield load_text(__file__).format(tools=names)


def _shown(output: str) -> str:
    if len(output) <= _LONGEST:
        return output
    return f"{output[:_LONGEST]}\n… ({len(output) - _LONGEST} more characters)"


def typed_call(text: str, schemas: dict[str, dict[str, Any]]) -> ToolCall | None:
    """The call that a line stands for: `read_file path=README.md`, `Bash ls -l`, `grep {"pattern": "x"}`.

    A name that is not known is called all the same where the rest can only be arguments: the gates answer then.
    """
    name, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    known = name in schemas or name == "Bash"
    if not _NAME.fullmatch(name) or not (known or _PAIR.match(rest) or rest.startswith("{")):
        return None
    return ToolCall(id=f"typed_{uuid7()}", name=name, arguments=_arguments(rest, schemas.get(name, {})))


def _arguments(rest: str, schema: dict[str, Any]) -> str:
    """JSON as it is, pairs as an object, and anything else as the first argument that the tool must have."""
    if rest.startswith("{"):
        return rest
    properties: dict[str, Any] = schema.get("properties", {})
    words = _words(rest)
    if words and all(_PAIR.match(word) for word in words) and _are_keys(words, properties):
        pairs = (word.partition("=") for word in words)
        return encode({key: _value(value, properties.get(key, {})) for key, _, value in pairs})
    if not rest:
        return "{}"
    first = next(iter([*schema.get("required", ()), *properties]), "command")
    return encode({first: rest})


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # an open quote: then it is no list of pairs
        return []


def _are_keys(words: list[str], properties: dict[str, Any]) -> bool:
    """Whether the first pair is an argument: `Bash A=1` is a command."""
    return not properties or words[0].partition("=")[0] in properties


def _value(text: str, schema: dict[str, Any]) -> Any:
    """The value in the type that the schema wants, or as it was typed: then the tool says what is wrong with it."""
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
