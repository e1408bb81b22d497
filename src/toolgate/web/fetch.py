"""`Fetcher`: the public pages of one session. Nothing but GET, no credentials, every address checked."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections import OrderedDict
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.web import connection
from toolgate.web.addresses import Allows, Resolve, is_public, public_addresses, resolve
from toolgate.web.convert import to_markdown
from toolgate.web.urls import WebAddress, redirected

MAX_REDIRECTS = 5
KEPT_SECONDS = 900.0
"""How long a page is used again in a session."""
MAX_KEPT = 32
_AGENT = "toolgate-web-fetch (GET only)"
_TEXT = re.compile(r"text/[\w.+-]+|application/(?:[\w.+-]+\+)?(?:json|xml|yaml|javascript|toml|x-yaml|ndjson)")
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Characters that a person does not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What was found at an address."""

    url: str
    """Where it was found, after redirects on the same host."""
    status: int
    content_type: str
    title: str
    text: str
    """Markdown, or the text as it is."""
    cut: bool
    """Whether the page was too large, so that its end is missing."""
    moved_to: str = ""
    """Another host that the page redirects to, which was not followed."""


class Fetcher:
    """Fetches pages and keeps them for a while."""

    def __init__(
        self,
        *,
        most_bytes: int = 5 << 20,
        seconds: float = 30.0,
        resolve: Resolve = resolve,
        allows: Allows = is_public,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`resolve`, `allows` and `tls` are for tests: no setting reaches them."""
        self._max_bytes = most_bytes
        self._seconds = seconds
        self._resolve = resolve
        self._allows = allows
        self._tls = tls
        self._pages: OrderedDict[str, tuple[float, Page]] = OrderedDict()

    async def fetch(self, address: WebAddress) -> Page:
        """Fetch a page, or take it from an earlier call. Raises `ToolError`."""
        kept = self._pages.get(address.text)
        if kept is not None and time.monotonic() - kept[0] < KEPT_SECONDS:
            return kept[1]
        try:
            async with asyncio.timeout(self._seconds):
                page = await self._follow(address)
        except TimeoutError:
            raise ToolError(
                ErrorCode.TIMEOUT,
                f"'{address.host}' did not send the page within {self._seconds:g} seconds.",
                "Try again later, or use another source.",
            ) from None
        self._pages[address.text] = time.monotonic(), page
        while len(self._pages) > MAX_KEPT:
            self._pages.popitem(last=False)
        return page

    async def _follow(self, address: WebAddress) -> Page:
        start = address
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._get(address)
            location = answer.headers.get("location", "")
            if not (300 <= answer.status < 400 and location):
                return await self._page(address, answer)
            target = redirected(address, location)
            if target.host != start.host or (address.scheme == "https" and target.scheme == "http"):
                return _moved(address, answer.status, target)
            address = target
        raise _failed(f"'{start.host}' redirects more than {MAX_REDIRECTS} times.")

    async def _get(self, address: WebAddress) -> connection.HttpAnswer:
        """One request, to one of the addresses that were just checked."""
        addresses = await public_addresses(address.host, address.port, self._resolve, self._allows)
        headers = {
            "User-Agent": _AGENT,
            "Accept": "text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.1",
        }
        problem: Exception | None = None
        for ip in addresses:
            try:
                return await connection.get(address, ip, headers=headers, max_bytes=self._max_bytes, context=self._tls)
            except ssl.SSLError as error:
                raise _failed(f"'{address.host}' has no valid certificate ({error.reason or 'TLS failed'}).") from None
            except (OSError, TimeoutError) as error:  # the next address may work
                problem = error
            except connection.BadAnswerError as error:
                raise _failed(f"'{address.host}' sent an answer that cannot be read: {error}.") from None
        raise _failed(f"'{address.host}' cannot be reached ({type(problem).__name__}).")

    async def _page(self, address: WebAddress, answer: connection.HttpAnswer) -> Page:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower() or "text/plain"
        if not _TEXT.fullmatch(kind) and kind not in _HTML:
            raise ToolError(
                ErrorCode.BINARY_FILE,
                f"'{address.text}' is of type {kind[:80]!r}, not text.",
                "Only pages and text can be fetched.",
            )
        text = _decoded(answer)
        title = ""
        if kind in _HTML:
            title, text = await to_markdown(text, address.text)
        elif "\0" in text[:65_536]:
            raise ToolError(ErrorCode.BINARY_FILE, f"'{address.text}' is binary.", "Only text can be fetched.")
        return Page(
            url=address.text,
            status=answer.status,
            content_type=kind,
            title=_HIDDEN.sub("", title),
            text=_HIDDEN.sub("", text.replace("\r\n", "\n")),
            cut=answer.cut,
        )


def _decoded(answer: connection.HttpAnswer) -> str:
    name = "utf-8"
    if declared := _CHARSET.search(answer.headers.get("content-type", "")):
        name = declared.group(1)
    elif meta := _META.search(answer.body[:4096]):
        name = meta.group(1).decode()
    try:
        return answer.body.decode(name, "replace")
    except (LookupError, ValueError):
        return answer.body.decode("utf-8", "replace")


def _moved(address: WebAddress, status: int, target: WebAddress) -> Page:
    return Page(url=address.text, status=status, content_type="", title="", text="", cut=False, moved_to=target.text)


def _failed(message: str) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_ERROR, message, "Check the address, or use another source.")
