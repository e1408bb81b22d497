"""The two requests to a server: list its tools, and call one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_client.errors import ServerUnavailable
from toolgate.adapters.mcp_client.limits import MAX_LIST_CHARACTERS, MAX_PAGES, MAX_TOOLS
from toolgate.adapters.mcp_client.tool_definition import definition_size

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, InputRequiredResult, Tool
    from pydantic import TypeAdapter


async def list_tools(client: Client) -> list[Tool]:
    """List all tools of a server. Raises `ServerUnavailable` if there are too many tools or pages."""
    from mcp_types import PaginatedRequestParams

    found: list[Tool] = []
    cursor, size = None, 0
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        size += sum(map(definition_size, page.tools))
        if len(found) > MAX_TOOLS or size > MAX_LIST_CHARACTERS:
            raise ServerUnavailable(
                f"it lists more than {MAX_TOOLS} tools, or {MAX_LIST_CHARACTERS} characters of them"
            )
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise ServerUnavailable(f"its list of tools has not ended after {MAX_PAGES} pages")


@functools.cache
def _result_adapter() -> TypeAdapter[CallToolResult | InputRequiredResult]:
    """Return the validator of responses, which takes longer to build than a call takes."""
    from mcp_types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    return TypeAdapter(CallToolResult | InputRequiredResult)


async def call_tool(client: Client, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Call a tool without the SDK's check of the result, which would run the server's patterns in Python's engine."""
    from mcp_types import CallToolRequest, CallToolRequestParams, InputRequiredResult

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    result = await client.session.send_request(request, _result_adapter())
    if isinstance(result, InputRequiredResult):
        raise ServerUnavailable("it asks for input from a person or a model, which Toolgate does not offer to servers")
    return result
