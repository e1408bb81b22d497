"""Search providers, against real servers that answer as they do."""

import json

import pytest

from tests.web.kit import page, serving
from toolgate.errors import ToolError
from toolgate.web.search import SearchResult, WebSearch

EXPECTED = [SearchResult(title="A page", url="https://a.test/", snippet="about a")]


async def test_brave() -> None:
    body = {"web": {"results": [{"title": "A  page", "url": "https://a.test/", "description": "about\na"}]}}
    async with serving({"/res/v1/web/search": page(json.dumps(body), "application/json")}) as server:
        search = WebSearch("brave", key="the-key", address=server.url(host="127.0.0.1"))
        assert await search.search("x y", 3) == EXPECTED
        assert server.requests[0].startswith("GET /res/v1/web/search?q=x+y&count=3 ")
        assert "X-Subscription-Token: the-key\r\n" in server.requests[0]


async def test_tavily() -> None:
    body = {"results": [{"title": "A page", "url": "https://a.test/", "content": "about a"}]}
    async with serving({"/search": page(json.dumps(body), "application/json")}) as server:
        search = WebSearch("tavily", key="the-key", address=server.url("", host="127.0.0.1"))
        assert await search.search("x", 2) == EXPECTED
        assert server.requests[0].startswith("POST /search ")
        assert "Authorization: Bearer the-key\r\n" in server.requests[0]
        assert server.requests[0].endswith('{"query": "x", "max_results": 2}')


async def test_searxng() -> None:
    items = [{"title": "A page", "url": "https://a.test/", "content": "about a"}, {"url": "javascript:x"}, "none"]
    async with serving({"/search": page(json.dumps({"results": items}), "application/json")}) as server:
        assert await WebSearch("searxng", address=server.url(host="localhost")).search("x", 5) == EXPECTED
        assert "format=json" in server.requests[0]


@pytest.mark.parametrize(
    "answer",
    [page("{}", status="401 Unauthorized"), page("not json"), page('{"results": 5}'), page("[]"), b"nonsense"],
)
async def test_answers_that_are_none_are_an_error_without_the_key(answer: bytes) -> None:
    async with serving({"/search": answer}) as server:
        with pytest.raises(ToolError, match="The search failed") as failed:
            await WebSearch("tavily", key="the-key", address=server.url("", host="127.0.0.1")).search("x", 2)
        assert "the-key" not in str(failed.value)
