"""The page under a prefix of another application: sign-in, socket and a turn in a real browser."""

import re
from pathlib import Path

from playwright.async_api import BrowserContext, expect
from starlette.applications import Starlette

from tests.browser.kit import Person
from tests.gateway.kit import settings_for
from tests.gateway.test_mounting import served
from toolgate import tool
from toolgate.gateway import mount
from toolgate.models import OfflineModel


async def test_the_page_works_under_a_prefix(context: BrowserContext, tmp_path: Path) -> None:
    app = Starlette()
    gateway = mount(app, "/inside/agent", settings_for(tmp_path), model=OfflineModel())
    async with served(app) as address:
        person = Person(await context.new_page())
        await person.page.goto(f"http://{address}/inside/agent/#{gateway.state.access.code_for('')}")
        await expect(person.page.locator(".link")).to_have_text("Connected")
        await person.page.get_by_role("button", name=re.compile("^current_time")).click()
        await person.page.keyboard.press("Enter")
        await person.ended("current_time", "success")
        assert "/inside/agent/#/s/" in person.page.url
        await person.page.reload()
        await expect(person.page.locator(".link")).to_have_text("Connected")
        assert person.problems == []


@tool(modes=["chat_safe", "coding"])
def count(word: str) -> dict[str, int]:
    """Count the letters of a word."""
    return {"letters": len(word)}


async def test_a_card_shows_what_a_function_returned(context: BrowserContext, tmp_path: Path) -> None:
    app = Starlette()
    gateway = mount(app, "/agent", settings_for(tmp_path), model=OfflineModel(), tools=[count])
    async with served(app) as address:
        person = Person(await context.new_page())
        await person.page.goto(f"http://{address}/agent/#{gateway.state.access.code_for('')}")
        await expect(person.page.locator(".link")).to_have_text("Connected")
        await person.say("count word=four")
        card = await person.ended("count", "success")
        await expect(card.locator(".live")).to_have_text("letters: 4")
        assert person.problems == []
