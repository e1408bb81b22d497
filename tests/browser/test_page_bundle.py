"""The joined script in a real browser: it does what its modules do."""

from typing import Any

from playwright.async_api import BrowserContext, Page, Route, expect

from tests.browser.kit import Gateway, arrive
from tests.gateway.test_page_bundle import MODULES
from toolgate.gateway.page_bundle import bundle


async def said(page: Page, modules: dict[str, str]) -> Any:
    """What modules leave behind."""

    async def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2].removesuffix(".js")
        script = '<script type="module" src="main.js"></script>' if not name else modules[name]
        kind = "text/javascript" if name else "text/html"
        await route.fulfill(body=script, content_type=kind)

    await page.route("http://modules.test/*", serve)
    await page.goto("http://modules.test/")
    await page.wait_for_function("window.said")
    found = await page.evaluate("window.said")
    await page.unroute("http://modules.test/*")
    return found


async def test_the_joined_script_does_what_the_modules_do(context: BrowserContext) -> None:
    page = await context.new_page()
    plain = await said(page, MODULES)
    assert await said(page, bundle(MODULES, "main")) == plain
    assert plain == ["main", "words", "words: Ada", "later words other", "effect"]


async def test_the_page_works_with_its_modules_too(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    assert len([url for url in person.requests if url.endswith(".js")]) == 2
    await person.page.goto(f"{gateway.address}?modules")
    await expect(person.page.locator(".link")).to_have_text("Connected")
    await person.say("current_time")
    await person.began()
    await person.idle()
    await expect(person.page.locator("tg-group").first).to_be_visible()
    assert person.problems == []
