"""Fetching pages from real servers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.web.kit import fetcher, moved, page, serving, to_loopback
from toolgate.errors import ToolError
from toolgate.web import fetch
from toolgate.web.fetch import Fetcher
from toolgate.web.urls import parse


async def test_a_page_becomes_markdown() -> None:
    async with serving({"/": page("<title>Hi</title><h1>A</h1><p>b</p>")}) as server:
        found = await fetcher().fetch(parse(server.url()))
    assert (found.status, found.title, found.text, found.cut) == (200, "Hi", "# A\n\nb", False)


async def test_text_and_json_are_shown_as_they_are_without_hidden_characters() -> None:
    answers = {
        "/a": page("a\u200b\u202eb\r\nc", "text/plain; charset=utf-8"),
        "/b": page('{"a": 1}', "application/json"),
    }
    async with serving({**answers}) as server:
        assert (await fetcher().fetch(parse(server.url("/a")))).text == "ab\nc"
        assert (await fetcher().fetch(parse(server.url("/b")))).text == '{"a": 1}'


async def test_other_encodings_are_read() -> None:
    answers = {
        "/a": page("<p>привет</p>".encode("cp1251"), "text/html; charset=windows-1251"),
        "/b": page("<meta charset='latin-1'><p>é</p>".encode("latin-1")),
        "/c": page("x", "text/plain; charset=nonsense"),
    }
    async with serving({**answers}) as server:
        assert (await fetcher().fetch(parse(server.url("/a")))).text == "привет"
        assert (await fetcher().fetch(parse(server.url("/b")))).text == "é"
        assert (await fetcher().fetch(parse(server.url("/c")))).text == "x"


async def test_what_is_no_text_is_refused() -> None:
    async with serving({"/": page(b"\x89PNG", "image/png"), "/b": page(b"a\0b", "text/plain")}) as server:
        for path in ("/", "/b"):
            with pytest.raises(ToolError) as refused:
                await fetcher().fetch(parse(server.url(path)))
            assert refused.value.code.value == "BINARY_FILE"


async def test_a_page_is_kept_for_the_session() -> None:
    async with serving({"/": page("x", "text/plain")}) as server:
        session = fetcher()
        await session.fetch(parse(server.url()))
        await session.fetch(parse(server.url("/#part")))
        assert len(server.requests) == 1


async def test_redirects_on_the_same_host_are_followed_and_counted() -> None:
    answers = {"/": moved("/next"), "/next": page("there", "text/plain"), "/loop": moved("/loop")}
    async with serving({**answers}) as server:
        assert (await fetcher().fetch(parse(server.url()))).text == "there"
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await fetcher().fetch(parse(server.url("/loop")))
        assert len(server.requests) == 2 + fetch.MAX_REDIRECTS + 1


async def test_w10_a_redirect_to_another_host_is_not_followed() -> None:
    async with serving({"/": moved("http://other.test/secret"), "/secret": page("no")}) as server:
        found = await fetcher().fetch(parse(server.url()))
        assert (found.moved_to, found.text) == ("http://other.test/secret", "")
        assert len(server.requests) == 1


@pytest.mark.parametrize("target", ["http://127.0.0.1/x", "http://169.254.169.254/latest/meta-data", "http://[::1]/"])
async def test_w11_a_redirect_to_a_private_address_reaches_nothing(target: str) -> None:
    async with serving({"/": moved(target)}) as server:
        found = await fetcher().fetch(parse(server.url()))
        assert found.moved_to == target
        with pytest.raises(ToolError, match="not on the public internet"):
            await Fetcher().fetch(parse(found.moved_to))
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "gopher://x/", "http://user:pw@site.test/", "http://site.test:22/"]
)
async def test_w12_a_redirect_to_what_is_no_page_is_refused(target: str) -> None:
    async with serving({"/": moved(target)}) as server:
        with pytest.raises(ToolError, match="is not the address of a page"):
            await fetcher().fetch(parse(server.url()))


def changing(*answers: str) -> Callable[[str, int], Awaitable[list[str]]]:
    """A name that has another address every time."""
    left = list(answers)

    async def resolve(host: str, port: int) -> list[str]:
        return [left.pop(0) if len(left) > 1 else left[0]]

    return resolve


async def test_w13_a_name_that_changes_between_check_and_use_gains_nothing() -> None:
    """The first answer is the allowed address; the second one would be the victim. It is asked for only once."""
    async with serving({"/": page("right", "text/plain")}) as right:
        asked: list[str] = []

        async def resolve(host: str, port: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

        found = await fetcher(resolve=resolve).fetch(parse(right.url(host="rebind.test")))
        assert (found.text, asked) == ("right", ["rebind.test"])


async def test_w14_every_redirect_is_resolved_and_checked_again() -> None:
    async with serving({"/": moved("/next"), "/next": page("never", "text/plain")}) as server:
        with pytest.raises(ToolError, match="not on the public internet"):
            await fetcher(resolve=changing("127.0.0.1", "127.0.0.2")).fetch(parse(server.url()))
        assert len(server.requests) == 1


async def test_w15_without_the_hook_of_tests_this_machine_cannot_be_reached() -> None:
    async with serving({"/": page("never", "text/plain")}) as server:
        for address in (server.url(host="localhost"), server.url(host="127.0.0.1"), server.url(host="2130706433")):
            with pytest.raises(ToolError, match="not on the public internet"):
                await Fetcher().fetch(parse(address))
        with pytest.raises(ToolError, match="not on the public internet"):
            await Fetcher(resolve=to_loopback).fetch(parse(server.url(host="innocent.test")))
        assert server.requests == []


async def test_w16_a_server_that_never_ends_its_answer_has_a_deadline() -> None:
    async def slow(head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\na")
        await writer.drain()
        await asyncio.sleep(600)

    async with serving({"/": slow}) as server:
        with pytest.raises(ToolError, match="did not send the page within"):
            await fetcher(seconds=0.5).fetch(parse(server.url()))


async def test_a_page_over_the_limit_is_cut_and_says_so() -> None:
    async with serving({"/": page("x" * 100_000, "text/plain")}) as server:
        found = await fetcher(most_bytes=1000).fetch(parse(server.url()))
        assert (len(found.text), found.cut) == (1000, True)


async def test_an_address_that_refuses_is_followed_by_the_next() -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]

    async with serving({"/": page("x", "text/plain")}) as server:
        found = await fetcher(resolve=two, allows=lambda ip: True).fetch(parse(server.url()))
        assert found.text == "x"
