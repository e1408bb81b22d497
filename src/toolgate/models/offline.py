"""`OfflineModel`: needs no key and no network. It runs the tool calls that a person types."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import AsyncIterator
from typing import Any

from toolgate.models.base import ModelItem, ModelRequest, ModelStop
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.choices import PROVIDERS
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode
from toolgate.tools.text import load_text

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_PAIR = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_MAX_SHOWN = 4_000


class OfflineModel:
    """The default model. What a person types passes the same loop and gates as the calls of a real model."""

    name = "offline"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Yield the tool call that the person typed, the result of a finished call, or how to set up a model."""
        last = request.messages[-1] if request.messages else {"role": "user", "content": ""}
        if last["role"] == "tool":
            yield _clip(str(last.get("content") or ""))
            return
        schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in request.tools}
        call = typed_call(str(last.get("content") or ""), schemas) if last["role"] == "user" else None
        if call is not None:
            yield call
            yield ModelStop(reason="tool_calls")
            return
        names = ", ".join(schemas) or "none"
        yield load_text(__file__).format(tools=names, keys=_keys())


def _keys() -> str:
    """The variables that set a model up."""
    providers = [provider for provider in PROVIDERS.values() if provider.key]
    return " or ".join(
        f"{provider.key} (with {provider.address} for any compatible server)" if provider.compatible else provider.key
        for provider in providers
    )


def _clip(output: str) -> str:
    if len(output) <= _MAX_SHOWN:
        return output
    return f"{output[:_MAX_SHOWN]}\n… ({len(output) - _MAX_SHOWN} more characters)"


def typed_call(text: str, schemas: dict[str, dict[str, Any]]) -> ToolCall | None:
    """Return the tool call in a line: `read_file path=README.md`, `Bash ls -l`, `grep {"pattern": "x"}`.

    An unknown name becomes a call too if the rest can only be arguments. The pipeline then answers it.
    """
    name, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    known = name in schemas or name == "Bash"
    if not _NAME.fullmatch(name) or not (known or _PAIR.match(rest) or rest.startswith("{")):
        return None
    return ToolCall(id=f"typed_{uuid7()}", name=name, arguments=typed_arguments(rest, schemas.get(name, {})))


def typed_arguments(rest: str, schema: dict[str, Any]) -> str:
    """Return the arguments as JSON.

    JSON stays as typed, pairs become an object, and other text becomes the tool's first required parameter.
    """
    if rest.startswith("{"):
        return rest
    properties: dict[str, Any] = schema.get("properties", {})
    words = _words(rest)
    if words and all(_PAIR.match(word) for word in words) and _is_parameter(words, properties):
        pairs = (word.partition("=") for word in words)
        return encode({key: _value(value, properties.get(key, {})) for key, _, value in pairs})
    if not rest:
        return "{}"
    first = next(iter([*schema.get("required", ()), *properties]), "command")
    return encode({first: rest})


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # an open quote, so these are not pairs
        return []


def _is_parameter(words: list[str], properties: dict[str, Any]) -> bool:
    """Whether the first pair names a parameter: `Bash A=1` is a command."""
    return not properties or words[0].partition("=")[0] in properties


def _value(text: str, schema: dict[str, Any]) -> Any:
    """Convert the value to the schema's type. A value that does not convert stays text, and the tool reports it."""
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
