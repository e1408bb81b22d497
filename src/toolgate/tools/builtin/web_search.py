"""`web_search`: what a search engine finds."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text
from toolgate.tools.untrusted import marked


class WebSearchParams(BaseModel):
    """What to search for."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: str = Field(min_length=1, max_length=400, description="What to search for.")
    limit: int = Field(default=5, ge=1, le=20, description="Results to return at the most.")


class WebSearchTool(Tool[WebSearchParams]):
    """Searches with the provider that the operator has configured."""

    name = "web_search"
    description = load_text(__file__)
    Params = WebSearchParams
    group = ToolGroup.world
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True
    read_only = True
    idempotent = True
    deferred = True
    needs = ("web_search",)

    async def prepare(self, params: WebSearchParams, context: ToolContext) -> Plan:
        """The query, and to whom it is sent."""
        search = context.web_search
        assert search is not None
        return Plan(
            summary=f"Search the web with {search.provider}",
            detail=f"query: {params.query}\nThe query is sent to {search.host}.",
            access="read",
        )

    async def execute(self, params: WebSearchParams, context: ToolContext) -> ToolResponse:
        """Search."""
        search = context.web_search
        assert search is not None
        found = await search.search(params.query, params.limit)
        results = [asdict(result) for result in found]
        text = f"Found {len(results)} {'page' if len(results) == 1 else 'pages'} for {params.query!r}."
        more = " Read one with web_fetch." if results and context.web is not None else ""
        return ToolResponse.success({"results": results, "untrusted": True}, text + more)

    def render(self, response: ToolResponse) -> str:
        """The results between marks."""
        results = response.data.get("results")
        if not results:
            return response.text
        lines = [f"{found['title']}\n{found['url']}\n{found['snippet']}\n" for found in results]
        return f"{response.text}\n{marked(chr(10).join(lines).rstrip(), 'results')}"
