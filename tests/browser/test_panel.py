"""The panel: what the session changed, taking it back, and the project's files."""

import json
from collections.abc import Callable
from typing import Any

from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.kit import Gateway, Person, arrive, script, window

WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}


async def _edited(person: Person, old: str, new: str, path: str = "a.txt") -> None:
    """Edit a file, and wait for it."""
    await person.say(f"edit_file {json.dumps({'path': path, 'old_string': old, 'new_string': new})}")
    await person.asked()
    await person.page.keyboard.press("a")
    await expect(person.page.locator("tg-card[data-state=success]").last).to_contain_text(path)
    await person.idle()


def _changes(person: Person) -> Any:
    return person.page.locator(".bar .changes")


async def test_changes_are_counted_shown_and_taken_back(browser: Browser, gateway: Gateway) -> None:
    file = gateway.root / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        page = person.page
        await person.begin("coding")
        await _edited(person, "one", "1\n1b")
        await expect(_changes(person)).to_contain_text("+2−1")
        await _edited(person, "three", "3")
        await expect(_changes(person)).to_contain_text("+3−2")
        panel = page.locator("tg-panel")
        await expect(panel).to_be_visible()
        box = await panel.bounding_box()
        assert box is not None
        assert (box["width"], box["x"] + box["width"]) == (360, 1440)
        await panel.locator("summary").click()
        await expect(panel.locator(".added")).to_have_count(3)
        await person.picture("panel-changes")
        await panel.get_by_role("button", name="Take back step 2 of 2").click()
        await expect(_changes(person)).to_contain_text("+2−1")
        assert file.read_text() == "1\n1b\ntwo\nthree\n"
        await panel.get_by_role("button", name="Take back a.txt").click()
        await expect(panel.get_by_text("Nothing is changed yet.")).to_be_visible()
        assert file.read_text() == "one\ntwo\nthree\n"
        assert person.problems == []


async def test_what_others_changed_since_is_kept_and_named(browser: Browser, gateway: Gateway) -> None:
    for name in ("a.txt", "b.txt"):
        (gateway.root / name).write_text("one\n")
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        await person.begin("coding")
        await _edited(person, "one", "two", "a.txt")
        await _edited(person, "one", "two", "b.txt")
        (gateway.root / "a.txt").write_text("mine\n")
        panel = person.page.locator("tg-panel")
        await expect(panel.locator("summary")).to_have_count(2)
        await panel.get_by_role("button", name="Take back all changes").click()
        await person.page.get_by_role("alertdialog").get_by_role("button", name="Take back").click()
        await expect(panel.get_by_role("alert")).to_contain_text("a.txt")
        assert (gateway.root / "a.txt").read_text() == "mine\n"
        assert (gateway.root / "b.txt").read_text() == "one\n"
        await expect(panel.locator("summary")).to_have_count(1)


async def test_files_are_read_by_keyboard_alone(browser: Browser, gateway: Gateway) -> None:
    (gateway.root / "src").mkdir()
    (gateway.root / "src/app.py").write_text("import os\n\n\nprint('<b>', os.name)\n")
    (gateway.root / "README.md").write_text("# Shop\n")
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        page = person.page
        await person.begin("coding")
        await person.say("current_time timezone=UTC")
        await person.ended("current_time", "success")
        await page.get_by_role("tab", name="Changes").focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_role("tab", name="Files")).to_be_focused()
        tree = page.get_by_role("tree", name="Files of the project")
        await expect(tree.get_by_role("treeitem")).to_have_count(2)
        await tree.get_by_role("treeitem").first.focus()
        await page.keyboard.press("ArrowRight")
        await expect(tree.get_by_role("treeitem")).to_have_count(3)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        viewer = page.get_by_role("dialog", name="src/app.py")
        await expect(viewer.locator("code")).to_have_text("import os\n\n\nprint('<b>', os.name)")
        await expect(viewer.locator(".numbers")).to_have_text("1\n2\n3\n4")
        await person.picture("panel-file")
        await page.keyboard.press("Escape")
        await expect(viewer).to_have_count(0)
        await expect(tree.get_by_role("treeitem", name="app.py").last).to_be_focused()
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("ArrowLeft")
        await expect(tree.get_by_role("treeitem")).to_have_count(2)
        assert await page.evaluate(script("nameless.js")) == []
        assert person.problems == []


async def test_files_outside_and_files_that_are_gone_are_refused(browser: Browser, gateway: Gateway) -> None:
    (gateway.root / "gone.txt").write_text("x")
    (gateway.root / "out").symlink_to("/etc")
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        page = person.page
        await person.begin("coding")
        await person.say("current_time timezone=UTC")
        await person.ended("current_time", "success")
        await page.get_by_role("tab", name="Files").click()
        await expect(page.get_by_role("treeitem", name="gone.txt")).to_be_visible()
        (gateway.root / "gone.txt").unlink()
        for name in ("gone.txt", "out"):
            await page.get_by_role("treeitem", name=name).locator(".node").click()
            await expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
            await page.keyboard.press("Escape")
            await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_narrow_page_has_the_panel_closed_and_over_the_conversation(browser: Browser, gateway: Gateway) -> None:
    (gateway.root / "a.txt").write_text("one\n")
    async with window(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as context:
        person = await arrive(context, gateway)
        page = person.page
        await page.locator(".mode-choice [value=coding] + span").tap()
        await _edited(person, "one", "two")
        panel = page.locator("tg-panel")
        await expect(_changes(person)).to_contain_text("+1−1")
        await expect(panel).to_be_hidden()
        await _changes(person).tap()
        await expect(panel).to_be_visible()
        await expect(page.get_by_role("tab", name="Changes")).to_be_focused()
        await panel.locator("summary").tap()
        await person.picture("phone-panel")
        assert await page.evaluate("document.documentElement.scrollWidth <= 390")
        nested = (
            "[...document.querySelectorAll('tg-panel .view:not([hidden]) *')]"
            ".filter(e => /auto|scroll/.test(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight).length"
        )
        assert await page.evaluate(nested) == 0
        await page.keyboard.press("Escape")
        await expect(panel).to_be_hidden()
        await expect(_changes(person)).to_be_focused()


async def test_a_window_that_becomes_narrow_shows_the_conversation(browser: Browser, gateway: Gateway) -> None:
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        page, panel = person.page, person.page.locator("tg-panel")
        await person.begin("coding")
        await person.say("current_time timezone=UTC")
        await expect(panel).to_be_visible()
        await page.set_viewport_size({"width": 1024, "height": 768})
        await expect(panel).to_be_hidden()
        await expect(page.get_by_role("textbox", name="Message")).to_be_editable()
        await page.set_viewport_size({"width": 1440, "height": 900})
        await expect(panel).to_be_visible()


async def test_the_panel_stays_closed_after_a_reload_if_it_was_closed(browser: Browser, gateway: Gateway) -> None:
    async with window(browser, **WIDE) as context:
        person = await arrive(context, gateway)
        page = person.page
        await person.begin("coding")
        await person.say("current_time timezone=UTC")
        await person.ended("current_time", "success")
        await page.get_by_role("button", name="Close the panel").click()
        await page.reload()
        await person.ended("current_time", "success")
        await expect(_changes(person)).to_have_attribute("aria-expanded", "false")
        await expect(page.locator("tg-panel")).to_be_hidden()
        await _changes(person).click()
        await expect(page.locator("tg-panel")).to_be_visible()


async def test_a_session_that_only_talks_has_no_panel(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    person = await arrive(context, gateway_with(coding=False))
    await person.begin()
    await person.say("current_time timezone=UTC")
    await person.ended("current_time", "success")
    await expect(_changes(person)).to_be_hidden()
    await expect(person.page.locator("tg-panel")).to_be_hidden()
