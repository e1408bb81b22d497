"""The header, the start page, and what the page says when something is wrong."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.kit import Gateway, Hold, Person, arrive, becomes, script, window
from toolgate.errors import ModelError
from toolgate.testing import ScriptedModel

CONTRAST = script("contrast.js")


def _repository(gateway: Gateway) -> None:
    """Make the project a repository with a README and one commit."""
    (gateway.root / "README.md").write_text("# Shop\n")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*identity, "commit", "-qm", "Cart: round totals once"],
    ):
        subprocess.run(["git", *command], cwd=gateway.root, check=True, capture_output=True)


async def test_two_lines_say_where_the_session_works_and_with_what(context: BrowserContext, gateway: Gateway) -> None:
    _repository(gateway)
    person = await arrive(context, gateway)
    page = person.page
    place = page.locator(".place")
    await expect(place.locator(".project")).to_contain_text("project")
    await expect(place.locator(".branch")).to_have_text("main")
    await expect(place.locator(".sandbox")).to_contain_text("sandbox")
    await person.begin("coding")
    await person.say("current_time timezone=UTC")
    await person.ended("current_time", "success")
    mode = place.get_by_role("button", name="Mode: Work on files")
    await expect(mode).to_have_attribute("title", "coding")
    box = await page.locator("tg-header").bounding_box()
    assert box is not None
    assert box["height"] == 56
    sizes = "[...document.querySelectorAll('#title, .place')].map(e => getComputedStyle(e).fontSize)"
    assert await page.evaluate(sizes) == ["15px", "12px"]
    await person.picture("header")
    assert person.problems == []


async def test_beside_the_panel_the_project_and_the_branch_can_be_read(
    context: BrowserContext, gateway: Gateway
) -> None:
    _repository(gateway)
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("current_time timezone=UTC")
    await person.ended("current_time", "success")
    place = person.page.locator(".place")
    await expect(person.page.get_by_role("tab", name="Changes")).to_be_visible()
    for part, words in ((".project", "project"), (".branch", "main")):
        assert await place.locator(part).inner_text() == words
        cut = "element => element.scrollWidth > element.clientWidth"
        assert not await place.locator(part).evaluate(cut)
    assert str(gateway.root)[-20:] in str(await place.locator(".project").get_attribute("title"))


async def test_the_start_page_suggests_what_the_project_offers(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    gateway = gateway_with(ScriptedModel(["It rounds totals."]))
    _repository(gateway)
    person = await arrive(context, gateway)
    page = person.page
    await expect(page.locator("tg-empty h2")).to_have_text("What are we working on in project?")
    suggestions = page.get_by_role("list", name="Suggestions").get_by_role("button")
    await expect(suggestions).to_have_count(3)
    await expect(page.get_by_role("radio", name="Work on files")).to_be_checked()
    await expect(suggestions.filter(has_text="Cart: round totals once")).to_have_count(1)
    await person.picture("start")
    await page.get_by_text("Chat only").click()
    await expect(suggestions.filter(has_text="Cart: round totals once")).to_have_count(0)
    await page.reload()
    await expect(page.get_by_role("radio", name="Chat only")).to_be_checked()  # the page remembers it
    await page.get_by_text("Work on files").click()
    await suggestions.filter(has_text="Cart: round totals once").click()
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(person.said("It rounds totals.")).to_be_visible()
    await expect(page.locator(".place").get_by_role("button", name="Mode: Work on files")).to_be_visible()
    assert person.problems == []


async def test_every_suggestion_for_the_offline_model_works(context: BrowserContext, gateway: Gateway) -> None:
    (gateway.root / "notes.txt").write_text("x\n")
    person = await arrive(context, gateway)
    for mode in ("chat_safe", "coding"):
        for number in range(3):
            await person.begin(mode)
            await person.page.get_by_role("list", name="Suggestions").get_by_role("button").nth(number).click()
            await person.page.keyboard.press("Enter")
            await expect(person.page.locator("tg-card")).to_have_attribute("data-state", "success")
            await person.idle()
    assert person.problems == []


async def test_a_failure_says_the_cause_and_tries_again(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    fault = ModelError("MODEL_AUTH", "The provider refused the key. Check that you copied all of it.")
    person = await arrive(context, gateway_with(ScriptedModel([[fault], "Now it works."])))
    page = person.page
    await person.begin("chat_safe")
    await person.say("Hello")
    notice = page.locator("tg-transcript .failure")
    await expect(notice.locator("strong")).to_contain_text("refused the key")
    await expect(notice.get_by_role("button", name="Change model")).to_be_visible()
    assert await page.evaluate(CONTRAST) == []
    await person.picture("failure")
    await notice.get_by_role("button", name="Try again").click()
    await expect(person.said("Now it works.")).to_be_visible()
    await person.idle()
    assert person.problems == []


async def test_a_lost_connection_can_be_tried_at_once(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    gateway.stop()
    banner = person.page.locator("tg-banner")
    await expect(banner.locator("strong")).to_have_text("The connection is lost.")
    gateway.start()
    # The page may have come back by itself already; both are fine.
    await banner.evaluate(
        """(banner) => [...banner.querySelectorAll("button")]
            .find((button) => button.textContent.includes("Reconnect now"))?.click()"""
    )
    await expect(person.page.locator(".link")).to_have_text("Connected")
    await expect(banner).to_be_hidden()


async def test_notifications_are_off_until_someone_wants_them(
    browser: Browser, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    gateway = gateway_with(ScriptedModel([["Working", hold, "."], "Done."]))
    async with window(browser) as context:
        await context.grant_permissions(["notifications"], origin=gateway.address.rstrip("/"))
        await context.add_init_script(
            """
            window.told = [];
            window.Notification = class extends EventTarget {
              static permission = "granted";
              static async requestPermission() { return "granted"; }
              constructor(title, options) { super(); window.told.push(options.body); }
            };
            Object.defineProperty(document, "hidden", { get: () => Boolean(window.away) });
            """
        )
        person = await arrive(context, gateway)
        await _told(person, hold)
    assert person.problems == []


async def _told(person: Person, hold: Hold) -> None:
    page = person.page
    await person.begin("chat_safe")
    await page.get_by_role("button", name="Menu", exact=True).click()
    item: Any = page.get_by_role("menuitemradio", name="Desktop notifications")
    await expect(item).to_have_attribute("aria-checked", "false")
    await item.click()
    await expect(page.locator(".toast")).to_contain_text("You are notified")
    await person.say("Think")
    await expect(person.said("Working")).to_be_visible()
    await expect(page).to_have_title("● Think · Toolgate")
    await page.evaluate("window.away = true")
    hold.release()
    await becomes(lambda: page.evaluate("window.told.join()"), "Think is done")
    await expect(page).to_have_title("Think · Toolgate")


async def test_menus_work_by_keyboard_and_return_the_focus(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    button = page.get_by_role("button", name="Menu", exact=True)
    await button.focus()
    await page.keyboard.press("Enter")
    items = page.get_by_role("menu", name="Menu").locator("button")
    await expect(items.first).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(items.last).to_be_focused()
    await page.keyboard.press("Home")
    await expect(items.first).to_be_focused()
    assert await page.evaluate(CONTRAST) == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("menu")).to_have_count(0)
    await expect(button).to_be_focused()
    assert json.loads(await page.evaluate("JSON.stringify(document.querySelectorAll('[style]').length)")) == 0
