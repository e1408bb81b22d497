"""A server with the tools that the conformance suite calls, made of Toolgate's own parts: `python -m … ROOT`.

The suite cannot show a token, so what stands before the server here shows it for it.
"""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from pydantic import BaseModel, Field

from toolgate import Tool, ToolContext, ToolMode, ToolRegistry, ToolResponse, tool
from toolgate.adapters.mcp_server import Clients, http_app
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import Workspace

TOKEN = "of-the-suite"
MODES = [ToolMode.coding]


@tool(name="test_simple_text", modes=MODES, read_only=True)
def simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


@tool(name="test_error_handling", modes=MODES, read_only=True)
def error_handling() -> str:
    """Fail."""
    raise ToolError(ErrorCode.EXECUTION_ERROR, "This tool intentionally returns an error for testing")


async def _tell(context: ToolContext, *texts: str) -> None:
    for text in texts:
        if context.on_output is not None:
            context.on_output("stdout", text)
        await asyncio.sleep(0.1)


@tool(name="test_tool_with_logging", modes=MODES, read_only=True)
async def with_logging(context: ToolContext) -> str:
    """Print something now and then."""
    await _tell(context, "Tool execution started", "Tool processing data", "Tool execution completed")
    return "done"


@tool(name="test_tool_with_progress", modes=MODES, read_only=True)
async def with_progress(context: ToolContext) -> str:
    """Print something now and then."""
    await _tell(context, "0", "50", "100")
    return "done"


@tool(name="test_elicitation", modes=MODES, requires_permission=True)
def elicitation(message: str) -> str:
    """Needs permission: the person is asked."""
    return message


def _asking(name: str) -> Tool[Any]:
    """A tool that needs permission: the person is asked, and the answer comes with the next request."""

    @tool(name=f"test_input_required_result_{name}", modes=MODES, requires_permission=True)
    def asking() -> str:
        """Do something that needs permission."""
        return "done"

    return asking


@tool(name="test_header", modes=MODES, read_only=True)
def header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """An argument that clients repeat in a header, for whatever lies between."""
    return region


@tool(name="test_changing", modes=MODES, read_only=True)
def changing() -> str:
    """Comes and goes."""
    return "here"


class _NoParams(BaseModel):
    """Nothing is read; the schema is for show."""


class _Schema(Tool[_NoParams]):
    """A tool whose schema uses much of JSON Schema."""

    name = "json_schema_2020_12_tool"
    description = "Tool with JSON Schema 2020-12 features"
    Params = _NoParams
    allowed_modes = frozenset(MODES)
    read_only = True

    parameters: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }

    async def execute(self, params: _NoParams, context: ToolContext) -> ToolResponse:
        """Nothing to do."""
        return ToolResponse.success({}, "done")


def registry() -> ToolRegistry:
    """The tools."""
    found = ToolRegistry()

    @tool(name="test_trigger_tool_change", modes=MODES)
    def trigger() -> str:
        """Add a tool, or take it away again."""
        if found.get(changing.name) is None:
            found.register(changing)
        else:
            found.unregister(changing.name)
        return "changed"

    found.register(trigger)
    for one in (simple_text, error_handling, with_logging, with_progress, elicitation, header, _Schema()):
        found.register(one)
    for name in ("tampered_state", "elicitation", "request_state"):
        found.register(_asking(name))
    return found


def main(root: Path) -> None:
    """Serve on a free port, and print the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = http_app(Clients(registry(), ToolMode.coding, Workspace(root)), token=TOKEN, port=port)

    async def showing(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await app(scope, receive, send)

    sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(showing, lifespan="on", log_level="warning", access_log=False)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
