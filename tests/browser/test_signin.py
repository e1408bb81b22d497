"""Signing in and out, and a hostile page on another port of the same host."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from playwright.async_api import Browser, BrowserContext, expect
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.browser.kit import Gateway, Person, arrive, becomes, window
from tests.gateway.kit import web_client

ATTACK = """<!doctype html><script type="module">
const at = "GATEWAY";
const found = { storage: Object.entries(localStorage), cookie: document.cookie, reached: [] };
for (const [path, method] of [["/auth", "GET"], ["/auth", "POST"], ["/auth", "DELETE"], ["/metrics", "GET"]]) {
  try {
    const headers = method === "POST" ? { "content-type": "application/json" } : {};
    const answer = await fetch(at + path, { method, credentials: "include", headers });
    found.reached.push(`${method} ${path} ${answer.status}`);
  } catch {}
}
await new Promise((done) => {
  const socket = new WebSocket(at.replace("http", "ws") + "/ws");
  socket.onopen = () => { found.reached.push("socket"); done(); };
  socket.onerror = done;
});
window.found = found;
</script><p>A page of a development server</p>"""


@dataclass
class DevServer:
    """A server on another port; it keeps the headers that browsers send to it."""

    gateway: Gateway
    port: int = 0
    cookies: list[str] = field(default_factory=list)
    requests: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.requests += 1
        self.cookies += [
            line.partition(":")[2].strip() for line in head.split("\r\n") if line.lower().startswith("cookie:")
        ]
        body = ATTACK.replace("GATEWAY", self.gateway.address.rstrip("/")).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def dev_server(gateway: Gateway) -> AsyncIterator[DevServer]:
    hostile = DevServer(gateway)
    server = await asyncio.start_server(hostile.answer, "127.0.0.1", 0)
    hostile.port = server.sockets[0].getsockname()[1]
    try:
        yield hostile
    finally:
        server.close()


async def test_a_page_on_another_port_gets_nothing_that_opens_the_gateway(
    context: BrowserContext, gateway: Gateway
) -> None:
    person = await arrive(context, gateway)
    await person.begin()
    async with dev_server(gateway) as hostile:
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{hostile.port}/")
        await page.wait_for_function("window.found")
        found = await page.evaluate("window.found")
        assert hostile.requests > 0
    assert found == {"storage": [], "cookie": "", "reached": []}
    kept = await context.cookies()
    taken = {*hostile.cookies, *(f"{cookie.get('name')}={cookie.get('value')}" for cookie in kept)}
    assert await _opened_with(gateway, taken) == []
    await person.page.reload()
    await expect(person.page.locator(".link")).to_have_text("Connected")


async def _opened_with(gateway: Gateway, cookies: set[str]) -> list[str]:
    """What a program of the attacker gets with what it has captured; it can claim any origin."""
    opened = []
    for cookie in cookies:
        headers = {"Cookie": cookie, "Origin": gateway.address.rstrip("/")}
        async with web_client() as web:
            for path in ("auth", "metrics"):
                answer = await web.get(f"{gateway.address}{path}", headers=headers)
                opened += [path] if answer.status_code < 400 else []
        with contextlib.suppress(InvalidStatus):
            address = f"ws://127.0.0.1:{gateway.port}/ws"
            async with connect(address, additional_headers=headers, proxy=None):
                opened.append("socket")
    return opened


async def test_tabs_share_a_sign_in_a_restart_keeps_it_and_signing_out_ends_it_everywhere(
    context: BrowserContext, gateway: Gateway
) -> None:
    first = await arrive(context, gateway)
    second = await arrive(context, gateway, link=False)  # no code: the first tab has signed in
    key = await first.page.evaluate("JSON.parse(localStorage.getItem('toolgate.key')).key")
    gateway.stop()
    await expect(first.page.locator(".link")).not_to_have_text("Connected")
    gateway.start()
    for person in (first, second):
        await expect(person.page.locator(".link")).to_have_text("Connected")
    await first.picture("signed-in")
    await first.page.get_by_role("button", name="Sign out").click()
    for person in (first, second):
        await expect(person.page.get_by_label("Token")).to_be_visible()
    await second.page.reload()
    await expect(second.page.get_by_label("Token")).to_be_visible()
    async with web_client() as web:
        answer = await web.get(f"{gateway.address}auth", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 401
    assert await first.page.evaluate("localStorage.getItem('toolgate.key')") is None


async def test_a_key_that_expires_while_the_page_is_open_is_replaced_without_a_question(
    context: BrowserContext, gateway: Gateway
) -> None:
    person = await arrive(context, gateway)
    age = "const kept = JSON.parse(localStorage['toolgate.key']); kept.from -= 9e9; kept.until -= 8e9;"
    await person.page.evaluate(f"{age} localStorage['toolgate.key'] = JSON.stringify(kept); window.old = kept.until")
    gateway.drop_connections()
    renewed = (
        "String(JSON.parse(localStorage['toolgate.key']).until !== window.old)"  # a key of the same second is the same
    )
    await becomes(lambda: person.page.evaluate(renewed), "true")
    await expect(person.page.locator(".link")).to_have_text("Connected")


async def test_an_address_that_was_used_already_says_so(
    browser: Browser, context: BrowserContext, gateway: Gateway
) -> None:
    link = gateway.link()
    await (await context.new_page()).goto(link)
    async with window(browser) as second:
        page = await second.new_page()
        await page.goto(link)
        problem = page.get_by_role("alert")
        await expect(problem).to_have_text(
            "This address was used already, or is too old. toolgate link prints another one."
        )
        await page.goto(gateway.address)
        await expect(problem).to_be_hidden()
        await page.goto(link)  # only its hash differs: nothing is loaded
        await expect(problem).to_contain_text("used already")
        await page.goto(gateway.link())
        await expect(page.locator(".link")).to_have_text("Connected")


async def test_the_page_works_where_the_browser_keeps_nothing(context: BrowserContext, gateway: Gateway) -> None:
    await context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    person: Person = await arrive(context, gateway)
    await person.begin()
    assert person.problems == []


async def test_the_state_of_the_gateway_is_a_page_for_whoever_is_signed_in(
    context: BrowserContext, gateway: Gateway
) -> None:
    page = await context.new_page()
    await page.goto(f"{gateway.address}status")
    await expect(page.get_by_text("Send a token.")).to_be_visible()
    person = await arrive(context, gateway)
    await page.reload()
    await expect(page.get_by_text("Everything works.")).to_be_visible()
    await expect(page.get_by_role("row", name="Open connections")).to_contain_text("1")
    await person.page.get_by_role("button", name="Menu", exact=True).click()
    async with context.expect_page() as opened:
        await person.page.get_by_role("menuitem", name="State of the gateway").click()
    await expect((await opened.value).get_by_text("Everything works.")).to_be_visible()
    assert person.problems == []
