"""Converts the results of foreign tools into envelopes: validated, and marked as untrusted."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent
from toolgate.protocol.envelope import ToolResponse
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_SALT = secrets.token_bytes(16)
_MAX_PROBLEM = 300
_MIME = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,60}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSource:
    """The tool that a result comes from."""

    server: str
    tool: str
    """The name at the server. It is untrusted, so no message contains it."""
    name: str
    """The name in Toolgate."""
    output_validator: Any = None
    """The compiled output schema; None if the tool declares none."""

    def __str__(self) -> str:
        return f"'{self.name}' of the MCP server '{self.server}'"

    @property
    def context(self) -> dict[str, Any]:
        """The part of the envelope that names the source."""
        return {"untrusted": True, "source": f"mcp:{self.server}/{self.tool}"}


def to_response(
    result: CallToolResult, source: ResultSource, images: Mapping[int, ImageContent] = MappingProxyType({})
) -> ToolResponse:
    """Return the envelope. `data.content` has the parts; `data.structured` has the declared object.

    `images` are the pictures by the index of their content block.
    """
    parts = [_part(block, is_shown=index in images) for index, block in enumerate(result.content)]
    data: dict[str, Any] = {"content": parts}
    notes = [_omission_note(part) for part in parts if part.get("omitted")]
    if result.structured_content is not None:
        problem = _schema_violation(result.structured_content, source.output_validator)
        if problem:
            data["schema_problem"] = problem
            notes.append("Its structured content does not match the schema that it declares, and was left out.")
        else:
            data["structured"] = result.structured_content
    elif source.output_validator is not None and not result.is_error:
        notes.append("It declares structured content but sent none.")
    return _envelope(data, notes, source, tuple(images.values()), failed=result.is_error)


def _envelope(
    data: dict[str, Any], notes: Sequence[str], source: ResultSource, images: tuple[ImageContent, ...], *, failed: bool
) -> ToolResponse:
    if failed:
        message = f"{source} reported an error."
        text = " ".join([message, "Its message is below; correct the call, or continue without this tool.", *notes])
        return ToolResponse.failure(ErrorCode.EXECUTION_ERROR, message, data=data, text=text, context=source.context)
    if not notes:
        return ToolResponse.success(data, f"{source} answered.", context=source.context, content=images)
    if not content_text(data) and not images:
        message = f"{source} sent nothing that can be used."
        return ToolResponse.failure(
            ErrorCode.EXECUTION_ERROR, message, data=data, text=" ".join([message, *notes]), context=source.context
        )
    text = " ".join([f"{source} answered.", *notes])
    return ToolResponse.partial(data, text, context=source.context, content=images)


def render(response: ToolResponse, server: str) -> str:
    """Return the text for the model: what happened, then the content between marks that the content cannot forge."""
    body = content_text(response.data)
    if not body:
        return response.text
    mark = hmac.new(_SALT, body.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]
    warning = load_text(__file__).format(server=server)
    return f"{response.text}\n{warning}\n<<<untrusted {mark}\n{body}\n>>>untrusted {mark}"


def content_text(data: dict[str, Any]) -> str:
    """Return the content as text: the text parts, or else the structured object."""
    content = data.get("content")
    parts = content if isinstance(content, list) else []
    texts = [_part_text(part) for part in parts if isinstance(part, dict)]
    body = "\n\n".join(text for text in texts if text)
    if not body and "structured" in data:
        return json.dumps(data["structured"], ensure_ascii=False, indent=1)
    return body


def _part_text(part: dict[str, Any]) -> str:
    text = str(part.get("text", ""))
    if "uri" not in part:
        return text
    fields = " ".join(str(part[key]) for key in ("uri", "name", "description") if part.get(key))
    return f"[{fields}]\n{text}" if text else f"[{fields}]"


def _part(block: Any, *, is_shown: bool) -> dict[str, Any]:
    """Convert one part. Content that is neither text nor a picture is described and left out."""
    kind = block.type
    if kind == "text":
        return {"type": "text", "text": block.text}
    if is_shown:
        return {"type": kind, "mime_type": block.mime_type, "bytes": _size(block.data)}
    if kind in ("image", "audio"):
        return {"type": kind, "mime_type": block.mime_type, "bytes": _size(block.data), "omitted": True}
    if kind == "resource_link":
        fields = {"uri": str(block.uri), "name": block.name, "description": block.description}
        return {"type": "resource_link", **{key: value for key, value in fields.items() if value}}
    resource = block.resource
    found = {"type": "resource", "uri": str(resource.uri), "mime_type": resource.mime_type or ""}
    if hasattr(resource, "text"):
        return {**found, "text": resource.text}
    return {**found, "bytes": _size(resource.blob), "omitted": True}


def _omission_note(part: dict[str, Any]) -> str:
    kind = part["mime_type"] if _MIME.fullmatch(part["mime_type"]) else "of unknown type"
    return f"Left out, because it is neither text nor a usable picture: {part['type']} ({kind}, {part['bytes']} bytes)."


def _size(encoded: str) -> int:
    """Return the number of bytes that a base64 text encodes."""
    return max(0, len(encoded) * 3 // 4 - encoded[-2:].count("="))


def _schema_violation(value: Any, output_validator: Any) -> str:
    """Return how the value violates the schema that the server declared; empty if it does not."""
    if output_validator is None:
        return ""
    for location, problem in output_validator.errors(value):
        return f"{location or 'the object'}: {problem[:_MAX_PROBLEM]}."
    return ""
