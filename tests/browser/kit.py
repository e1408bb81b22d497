"""A gateway on a free port, with a model that does as told, and a person in front of its page."""

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, expect
from pydantic import SecretStr

from toolgate.gateway import create_app
from toolgate.gateway.server import disable_nagle
from toolgate.models import ModelClient, OfflineModel
from toolgate.settings import Settings

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
PATIENCE = 60_000
"""Milliseconds that a busy machine may need for anything."""
expect.set_options(timeout=PATIENCE)
TOKEN = "the-token-of-the-browser-tests"


def script(name: str) -> str:
    """A function that runs in the page."""
    return (Path(__file__).parent / name).read_text()


class Gateway:
    """A real gateway in a thread of its own; it can be stopped and started again on the same port and database."""

    def __init__(
        self,
        folder: Path,
        model: ModelClient | None = None,
        *,
        coding: bool = True,
        language: str = "auto",
        project: str = "project",
        **agent: Any,
    ) -> None:
        self.root = folder / project
        self.root.mkdir(parents=True, exist_ok=True)
        self.model = model or OfflineModel()
        defaults = Settings.defaults()
        self._settings = defaults.model_copy(
            update={
                "workspace": defaults.workspace.model_copy(update={"root": self.root}),
                "database": defaults.database.model_copy(update={"url": f"sqlite:///{folder}/sessions.db"}),
                "session": defaults.session.model_copy(update={"coding_enabled": coding}),
                "language": language,
                "agent": defaults.agent.model_copy(update=agent),
            }
        )
        self.port = 0
        self.token = TOKEN
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.app: Any = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def link(self) -> str:
        """The address that is printed: it signs a browser in, once."""
        return f"{self.address}#{self.app.state.access.code_for(next(iter(self._users)))}"

    def start(self) -> None:
        """Listen, and return once requests are answered."""
        listening = socket.create_server(("127.0.0.1", self.port))
        disable_nagle(listening)
        self.port = listening.getsockname()[1]
        update = {"port": self.port, "token": SecretStr(self.token)}
        gateway = self._settings.gateway.model_copy(update=update)
        settings = self._settings.model_copy(update={"gateway": gateway})
        self._users = gateway.tokens_by_user()
        self.app = create_app(settings, model=self.model)
        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, ws="websockets-sansio", timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve(self._server, listening)], daemon=True)
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started:
            assert self._thread.is_alive(), "the gateway did not start"
            assert time.monotonic() < until, "the gateway did not start in time"
            time.sleep(0.01)

    async def _serve(self, server: uvicorn.Server, listening: socket.socket) -> None:
        await server.serve(sockets=[listening])
        for connection in server.server_state.connections:  # a browser that was too slow to close its own
            connection.transport.abort()

    def stop(self) -> None:
        """End it as a signal would."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive(), "the gateway did not end"
        self._server = self._thread = None

    def drop_connections(self) -> None:
        """Cut every socket, as a network would."""
        for connection in list(self.app.state.service.connections):
            connection.outbox.close(1012, "cut by the test")


@contextlib.contextmanager
def running(folder: Path, model: ModelClient | None = None, **options: Any) -> Iterator[Gateway]:
    """A gateway for as long as the block lasts."""
    gateway = Gateway(folder, model, **options)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


class Hold:
    """A step of a scripted turn that waits until the test lets it go on."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self.reached = threading.Event()

    async def __call__(self) -> None:
        self.reached.set()
        while not self._free.is_set():
            await asyncio.sleep(0.01)

    def release(self) -> None:
        self._free.set()


class Person:
    """Someone at the page. What the page complains about is kept."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.dialogs: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(PATIENCE)

    def _heard(self, kind: str, text: str) -> None:
        # A socket that cannot be opened is what some tests are about; chromium reports it and nothing can be done.
        if kind == "error" and not re.search(r"WebSocket connection|ERR_CONNECTION|status of 401", text):
            self.problems.append(text)

    async def begin(self, mode: str | None = None) -> None:
        """Go to the start page and choose a mode. The session begins with its first message."""
        await self.page.get_by_role("button", name="New session").click()
        await expect(self.page.locator("tg-empty")).to_be_visible()
        if mode is not None:
            await self.page.locator(f".mode-choice [value={mode}] + span").click()

    async def began(self) -> str:
        """The address of the session, once its first message was sent."""
        await self.page.wait_for_url(lambda url: "#/s/" in url)
        return self.page.url

    async def say(self, text: str) -> None:
        """Write a message and send it."""
        field = self.page.get_by_role("textbox", name="Message")
        await field.fill(text)
        await field.press("Enter")

    def card(self, tool: str) -> Any:
        """The last card of a tool."""
        return self.page.locator("tg-card", has=self.page.locator(f".tool:text-is('{tool}')")).last

    async def ended(self, tool: str, state: str) -> Any:
        """The last card of a tool, once it is in a state."""
        card = self.card(tool)
        await expect(card).to_have_attribute("data-state", state)
        return card

    def said(self, text: str) -> Any:
        """Where the conversation says something."""
        return self.page.locator("tg-transcript").get_by_text(text)

    async def idle(self) -> None:
        """Wait until no turn runs."""
        await expect(self.page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()

    async def asked(self, sentence: str | None = None) -> Any:
        """Wait for the question and for its focus. It takes the focus unless the user is writing or a dialog is open.

        The `sentence` tells it from the question before, which stays until the gateway has taken its answer.
        """
        dialog = self.page.locator("section.approval")
        if sentence is not None:
            await expect(dialog.get_by_role("heading")).to_have_text(sentence)
        await expect(dialog).to_have_attribute("data-armed", "true")
        await self.page.wait_for_function(
            """() => document.querySelector("section.approval:focus-within, dialog[open]")
                || document.activeElement.value"""
        )
        return dialog

    async def picture(self, name: str) -> None:
        """Keep what can be seen, for people to look at."""
        SCREENSHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


async def becomes(read: Callable[[], Awaitable[str]], wanted: str) -> None:
    """Wait until something reads so: what was said comes again frame by frame."""
    until = time.monotonic() + PATIENCE / 1000
    while (found := await read()) != wanted and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert found == wanted


async def arrive(
    context: BrowserContext, gateway: Gateway, *, link: bool = True, connected: str = "Connected"
) -> Person:
    """Open the page; with `link`, sign in by the printed address."""
    person = Person(await context.new_page())
    await person.page.goto(gateway.link() if link else gateway.address)
    await expect(person.page.locator(".link")).to_have_text(connected)
    return person


@contextlib.asynccontextmanager
async def window(browser: Browser, **options: Any) -> AsyncIterator[BrowserContext]:
    """A browser window with a profile of its own."""
    options.setdefault("locale", "en-GB")
    options.setdefault("viewport", {"width": 1280, "height": 800})
    context = await browser.new_context(timezone_id="UTC", **options)
    try:
        yield context
    finally:
        await context.close()
