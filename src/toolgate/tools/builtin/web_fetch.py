"""`web_fetch`: a public page as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text
from toolgate.tools.untrusted import marked

if TYPE_CHECKING:
    from toolgate.web.fetch import Page

MAX_CHARACTERS = 30_000
"""Characters of a page that one call returns."""


class WebFetchParams(BaseModel):
    """Which page, and from where in it."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    url: str = Field(min_length=1, max_length=4096, description="The address, with http:// or https://.")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="Characters of the page to pass over.")


class WebFetchTool(Tool[WebFetchParams]):
    """Fetches public pages: GET only, without credentials, and only from public addresses."""

    name = "web_fetch"
    description = load_text(__file__)
    Params = WebFetchParams
    group = ToolGroup.world
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True
    read_only = True
    idempotent = True
    deferred = True
    needs = ("web",)
    keep_data = ("url", "status", "truncated", "untrusted", "moved_to")

    async def prepare(self, params: WebFetchParams, context: ToolContext) -> Plan:
        """The address in its one spelling; nothing is looked up yet."""
        from toolgate.web.addresses import refuse_private
        from toolgate.web.urls import parse

        address = parse(params.url)
        refuse_private(address.host)
        hosts = context.settings.web.hosts
        if hosts and not any(address.host == host or address.host.endswith(f".{host}") for host in hosts):
            raise ToolError(
                ErrorCode.ACCESS_DENIED,
                f"The operator does not let pages of '{address.host}' be fetched.",
                f"Pages of these hosts can be fetched: {', '.join(hosts)}.",
            )
        return Plan(
            summary=f"Fetch a page from {address.host}",
            detail=f"GET {address.text}\nhost: {address.host}\nThe address is sent to that host; nothing else is.",
            access="read",
            resources=(address.text,),
        )

    async def execute(self, params: WebFetchParams, context: ToolContext) -> ToolResponse:
        """Fetch it, or take it from an earlier call of the session."""
        from toolgate.web.urls import parse

        fetcher = context.web
        assert fetcher is not None
        page = await fetcher.fetch(parse(params.url))
        if page.moved_to:
            return ToolResponse.partial(
                {"url": page.url, "status": page.status, "moved_to": page.moved_to, "untrusted": True},
                f"The page redirects to another host, which was not followed. To fetch it, call web_fetch with "
                f"{page.moved_to}: the user is asked about that host.",
            )
        return _answer(page, params.offset)

    def render(self, response: ToolResponse) -> str:
        """What was found, and the page between marks."""
        content = response.data.get("content")
        return response.text if content is None else f"{response.text}\n{marked(content, response.data['url'])}"


def _answer(page: Page, offset: int) -> ToolResponse:
    content = page.text[offset : offset + MAX_CHARACTERS]
    following = offset + len(content)
    more = following < len(page.text)
    data: dict[str, Any] = {
        "url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        "title": page.title,
        "content": content,
        "truncated": more or page.cut,
        "untrusted": True,
    }
    sentences = [f"Fetched {page.url} (status {page.status}, {page.content_type}), {len(page.text)} characters."]
    if more:
        sentences.append(f"Showing {offset} to {following}: pass offset={following} for more.")
    if page.cut:
        sentences.append("The page is too large: its end was not fetched.")
    build = ToolResponse.partial if data["truncated"] or page.status >= 400 else ToolResponse.success
    return build(data, " ".join(sentences), context={"truncation_skip": True})
