"""One chromium for all browser tests of a worker; one gateway and one window for each test."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright

from tests.browser.kit import Gateway, running, window

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    async with window(browser) as context:
        yield context


@pytest.fixture
def gateway_with(tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    """Makes gateways: `gateway_with(model, coding=False)`."""
    with ExitStack() as stack:
        yield lambda model=None, **options: stack.enter_context(running(tmp_path, model, **options))


@pytest.fixture
def gateway(gateway_with: Callable[..., Gateway]) -> Gateway:
    return gateway_with()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.fspath).parents:
            item.add_marker(pytest.mark.timeout(180))
            if (
                item.get_closest_marker("asyncio") is None
                or "loop_scope" not in item.get_closest_marker("asyncio").kwargs
            ):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
