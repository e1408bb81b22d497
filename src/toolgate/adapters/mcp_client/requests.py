"""The two things that a server is asked: which tools it has, and to call one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_client.failures import Unavailable
from toolgate.adapters.mcp_client.limits import LARGEST_LIST, MOST_PAGES, MOST_TOOLS
from toolgate.adapters.mcp_client.tool_definition import weight

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, InputRequiredResult, Tool
    from pydantic import TypeAdapter


async def listed(client: Client) -> list[Tool]:
    """All tools of a server; `Unavailable` if there are too many, or no end of them."""
    from mcp_types import PaginatedRequestParams

    found: list[Tool] = []
    cursor, size = None, 0
    for _ in range(MOST_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        size += sum(map(weight, page.tools))
        if len(found) > MOST_TOOLS or size > LARGEST_LIST:
            raise Unavailable(f"it lists more than {MOST_TOOLS} tools, or {LARGEST_LIST} characters of them")
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise Unavailable(f"its list of tools has not ended after {MOST_PAGES} pages")


@functools.cache
def _answers() -> TypeAdapter[CallToolResult | InputRequiredResult]:
    """What may come back; building this takes longer than a call."""
    from mcp_types import CallToolResult, InputRequiredResult
    from pydantic import TypeAdapter

    return TypeAdapter(CallToolResult | InputRequiredResult)


async def called(client: Client, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Call a tool without the SDK's own check of the answer: it would run the server's patterns in Python's engine."""
    from mcp_types import CallToolRequest, CallToolRequestParams, InputRequiredResult

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    result = await client.session.send_request(request, _answers())
    if isinstance(result, InputRequiredResult):
        raise Unavailable("it asks for something that only a person or a model could give, which is not offered to it")
    return result
