"""Search providers: each turns a query into one request, and the answer into results."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.web import connection
from toolgate.web.addresses import resolve
from toolgate.web.urls import WebAddress, parse

SECONDS = 15.0
_MAX_BYTES = 2 << 20
_MAX_CHARACTERS = 1000
"""Characters that are kept of one text in a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One page that was found."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    url: str
    headers: dict[str, str]
    body: bytes | None = None


class WebSearch:
    """Searches with one provider. The operator chose its address, so it may be a private one."""

    def __init__(self, provider: str, *, key: str = "", address: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.provider = provider
        self._build, self._read, default = _PROVIDERS[provider]
        self._key = key
        self._address = (address or default).rstrip("/")
        self._tls = tls

    @property
    def host(self) -> str:
        """The host that queries are sent to."""
        return parse(self._address).host

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        """The first results. Raises `ToolError`."""
        request = self._build(self._address, self._key, query, limit)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._send(parse(request.url), request)
        except (OSError, TimeoutError, connection.BadAnswerError) as error:
            raise _failed(f"{self.provider} cannot be reached ({type(error).__name__})") from None
        if answer.status != 200 or answer.cut:
            raise _failed(f"{self.provider} answered with status {answer.status}")
        try:
            found = [_result(item) for item in self._read(json.loads(answer.body)) if isinstance(item, dict)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _failed(f"{self.provider} sent an answer that cannot be read") from None
        return [result for result in found if result.url.startswith(("http://", "https://"))][:limit]

    async def _send(self, address: WebAddress, request: _Request) -> connection.HttpAnswer:
        ips = await resolve(address.host, address.port)
        problem: OSError = OSError("no address")
        for ip in ips:
            try:
                return await connection.get(
                    address, ip, headers=request.headers, max_bytes=_MAX_BYTES, context=self._tls, body=request.body
                )
            except OSError as error:
                problem = error
        raise problem


def _brave(address: str, key: str, query: str, limit: int) -> _Request:
    words = urlencode({"q": query, "count": limit})
    return _Request(
        url=f"{address}/res/v1/web/search?{words}",
        headers={"Accept": "application/json", "X-Subscription-Token": key},
    )


def _tavily(address: str, key: str, query: str, limit: int) -> _Request:
    body = json.dumps({"query": query, "max_results": limit}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    return _Request(url=f"{address}/search", headers=headers, body=body)


def _searxng(address: str, _key: str, query: str, _limit: int) -> _Request:
    words = urlencode({"q": query, "format": "json"})
    return _Request(url=f"{address}/search?{words}", headers={"Accept": "application/json"})


def _results(data: Any) -> list[Any]:
    return list(data["results"])


def _web_results(data: Any) -> list[Any]:
    return list(data.get("web", {}).get("results", ()))


_PROVIDERS: dict[str, tuple[Callable[[str, str, str, int], _Request], Callable[[Any], list[Any]], str]] = {
    "brave": (_brave, _web_results, "https://api.search.brave.com"),
    "tavily": (_tavily, _results, "https://api.tavily.com"),
    "searxng": (_searxng, _results, ""),
}


def _result(item: dict[str, Any]) -> SearchResult:
    snippet = item.get("description") or item.get("content") or ""
    return SearchResult(title=_text(item.get("title")), url=_text(item.get("url")), snippet=_text(snippet))


def _text(value: Any) -> str:
    return " ".join(str(value or "").split())[:_MAX_CHARACTERS]


def _failed(problem: str) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_ERROR, f"The search failed: {problem}.", "Try again later, or tell the user.")
