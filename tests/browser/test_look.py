"""How it looks and who can use it: dark, narrow, by keyboard alone, with a screen reader, on a slow machine."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.kit import Gateway, arrive, script, window
from toolgate import ToolCall
from toolgate.testing import ScriptedModel

CONTRAST = script("contrast.js")
NAMELESS = script("nameless.js")


def _call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def _rich() -> ScriptedModel:
    """A conversation with one of everything."""
    items = [{"content": "Look", "status": "completed"}, {"content": "Think", "status": "in_progress"}]
    text = (
        "## Heading\n\nSome *words* and `code`, a [link](https://example.com).\n\n"
        "```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote"
    )
    return ScriptedModel(
        [
            [
                text,
                _call(1, "todo", items=items),
                _call(2, "read_file", path="none"),
                _call(3, "Bash", command=f"echo out; echo err >&2 # {'long ' * 40}"),
            ],
            [_call(4, "read_file", path="../outside")],
            "Ready.",
            [_call(5, "edit_file", path="a.txt", old_string="one", new_string="two")],
            "Edited.",
        ]
    )


async def _full_page(person: Any) -> None:
    await person.begin("coding")
    await person.say("Show everything.")
    await expect(person.said("Ready.")).to_be_visible()
    await person.idle()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_text_has_contrast(browser: Browser, gateway_with: Callable[..., Gateway], theme: Any) -> None:
    gateway = gateway_with(_rich())
    (gateway.root / "a.txt").write_text("one\n")
    async with window(browser, color_scheme=theme, reduced_motion="reduce") as context:
        person = await arrive(context, gateway)
        assert await person.page.evaluate(CONTRAST) == []
        await _full_page(person)
        await person.page.locator("tg-todos summary").click()
        await person.page.locator("tg-group summary").first.click()
        await person.page.locator("tg-card[data-kind=command] .head").click()
        background = await person.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(250, 249, 246)", "dark": "rgb(21, 21, 20)"}[theme]
        await person.picture(f"{theme}-conversation")
        assert await person.page.evaluate(CONTRAST) == []
        assert await person.page.evaluate(NAMELESS) == []
        await person.say("Now edit.")
        await person.asked()
        await person.picture(f"{theme}-question")
        assert await person.page.evaluate(CONTRAST) == []
        await person.page.keyboard.press("w")
        assert await person.page.evaluate(CONTRAST) == []
        assert await person.page.evaluate(NAMELESS) == []


async def test_the_theme_can_be_chosen_and_stays(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = await person.page.evaluate(colour)
    await person.page.get_by_role("button", name="Switch between light and dark").click()
    dark = await person.page.evaluate(colour)
    await person.page.reload()
    assert light != dark == await person.page.evaluate(colour)


async def test_a_phone_has_room_for_everything(browser: Browser, gateway_with: Callable[..., Gateway]) -> None:
    gateway = gateway_with(_rich())
    (gateway.root / "a.txt").write_text("one\n")
    fits = "document.documentElement.scrollWidth <= 360 && document.querySelector('tg-chat').scrollWidth <= 360"
    async with window(browser, viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True) as context:
        person = await arrive(context, gateway)
        page = person.page
        assert await page.evaluate(fits)
        await page.get_by_role("button", name="Open the list of sessions").tap()
        await expect(page.get_by_role("button", name="Close the list of sessions")).to_be_focused()
        await person.picture("phone-menu")
        await page.get_by_role("button", name="New session").tap()
        await page.locator(".mode-choice [value=coding] + span").tap()
        await person.picture("phone-start")
        await person.say("Show everything that there is, with a title that is far too long for a phone.")
        await person.idle()
        assert await page.evaluate(fits)
        await person.picture("phone-conversation")
        await person.say("Now edit.")
        dialog = await person.asked()
        box = await dialog.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 640
        await person.picture("phone-question")
        await dialog.get_by_role("button", name="Allow once").tap()
        await person.ended("edit_file", "success")
        sizes = await page.evaluate(
            "[...document.querySelectorAll('button')].filter(button => button.checkVisibility())"
            ".map(button => button.getBoundingClientRect().height)"
        )
        assert min(sizes) >= 24
        assert person.problems == []


async def test_the_keyboard_alone_is_enough(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    focused = (
        "document.activeElement.ariaLabel || document.activeElement.textContent.trim() || document.activeElement.name"
    )
    seen = []
    for _ in range(15):
        await page.keyboard.press("Tab")
        seen.append(await page.evaluate(focused))
        outline = await page.evaluate(
            "(at => [at, at.nextElementSibling ?? at, at.parentElement]"
            ".some(e => getComputedStyle(e).outlineStyle !== 'none'))(document.activeElement)"
        )
        assert outline, seen[-1]
        if await page.evaluate("document.activeElement.id") == "prompt":
            break
    else:
        pytest.fail("the field cannot be reached")
    assert seen[:2] == ["Skip to the message field", "New session"]
    await page.get_by_role("link", name="Skip to the message field").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    await page.keyboard.type("current_time timezone=UTC")
    await page.keyboard.press("Enter")
    await person.ended("current_time", "success")
    await person.idle()
    for _ in range(30):
        await page.keyboard.press("Shift+Tab")
        if await page.evaluate("document.activeElement.matches('tg-group summary')"):
            break
    else:
        pytest.fail("the row of calls cannot be reached")
    await page.keyboard.press("Enter")
    await expect(page.locator("tg-group details")).to_have_attribute("open", "")
    await page.keyboard.press("Tab")
    await expect(person.card("current_time").locator(".head")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(person.card("current_time").get_by_label("Output")).to_contain_text("in UTC")
    await expect(person.card("current_time").get_by_label("Output")).to_be_visible()


async def test_a_screen_reader_is_told_what_there_is_and_what_happens(
    context: BrowserContext, gateway: Gateway
) -> None:
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    await expect(page.locator("body")).to_match_aria_snapshot("""
        - banner:
          - heading "Toolgate" [level=1]
        - button "New session"
        - searchbox "Search sessions"
        - navigation "Sessions":
          - paragraph: Your sessions appear here.
        - contentinfo:
          - status: Connected
          - button "Switch between light and dark"
        - main:
          - heading "New session" [level=2]
          - button "Menu"
          - region "New session":
            - heading /What are we working on/ [level=2]
            - group "Mode of the new session":
              - radio "Chat only"
              - radio "Work on files" [checked]
            - list "Suggestions":
              - listitem:
                - button /current_time/
          - textbox "Message"
          - button "Send" [disabled]
    """)
    await person.say("Bash rm -f x.tmp")
    await person.asked()
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Permission needed: Run: rm -f x.tmp")
    await expect(page.locator("section.approval")).to_match_aria_snapshot("""
        - group "Runs this command. It can change files of the project; it has no network.":
          - paragraph: Permission needed
          - timer
          - heading "Runs this command. It can change files of the project; it has no network." [level=3]
          - paragraph: "/it removes files/"
          - group "What would run": "/rm -f x.tmp/"
          - group "Answer":
            - button "Deny"
            - button "Allow once"
            - button "Always…"
            - button "Later"
    """)
    assert await page.evaluate("document.activeElement.closest('section.approval') !== null")
    await page.keyboard.press("a")
    await person.ended("Bash", "success")
    await expect(log).to_contain_text("Bash: Done")
    await person.idle()
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()


async def test_nothing_jumps_while_the_page_appears(context: BrowserContext, gateway: Gateway) -> None:
    await context.add_init_script(
        """
        window.shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.shift += entry.value;
        }).observe({type: "layout-shift", buffered: true});
        """
    )
    first = await arrive(context, gateway)
    await first.begin("coding")
    await first.say("Bash seq 1 50")
    await first.ended("Bash", "success")
    page = await context.new_page()
    client = await context.new_cdp_session(page)
    await client.send("Emulation.setCPUThrottlingRate", {"rate": 6})
    await page.goto(first.page.url)
    await expect(page.locator("tg-card")).to_have_attribute("data-state", "success")
    assert await page.evaluate("window.shift") < 0.05


async def test_the_page_is_small_and_asks_nobody_else(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    sizes = await person.page.evaluate(
        "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
        ".filter(e => !e.name.endsWith('/auth')).map(e => e.encodedBodySize)"
    )
    assert 15_000 < sum(sizes) < 90_000
    assert all(url.startswith(gateway.address) for url in person.requests)
