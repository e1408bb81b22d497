"""The list of sessions: no empty rows, states, search in contents, and what a row's menu does."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, expect

from tests.browser.kit import Gateway, Hold, Person, arrive
from toolgate import ToolCall
from toolgate.errors import ModelError
from toolgate.testing import ScriptedModel


def _sessions(gateway: Gateway) -> int:
    """How many sessions the database has."""
    with sqlite3.connect(gateway.root.parent / "sessions.db") as database:
        return int(database.execute("select count(*) from sessions where parent_id is null").fetchone()[0])


def _rows(person: Person) -> Any:
    return person.page.get_by_role("navigation", name="Sessions").get_by_role("link")


async def _menu(person: Person, title: str, item: str) -> None:
    """Choose from the menu of a session's row."""
    row = person.page.get_by_role("navigation", name="Sessions").get_by_role("listitem").filter(has_text=title)
    await row.hover()
    await row.get_by_role("button", name=f"Menu of {title}").click()
    await person.page.get_by_role("menuitem", name=item).click()


async def test_new_session_four_times_makes_no_session(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    for _ in range(4):
        await person.page.get_by_role("button", name="New session").click()
    await expect(person.page.get_by_role("textbox", name="Message")).to_be_focused()
    assert _sessions(gateway) == 0
    await person.say("current_time timezone=UTC")
    await person.ended("current_time", "success")
    await expect(_rows(person)).to_have_count(1)
    for _ in range(4):
        await person.page.get_by_role("button", name="New session").click()
    await expect(person.page.locator("tg-empty")).to_be_visible()
    assert _sessions(gateway) == 1
    assert person.problems == []


async def test_enter_pressed_twice_makes_one_session(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    field = person.page.get_by_role("textbox", name="Message")
    await field.fill("current_time timezone=UTC")
    await field.evaluate(
        "field => { for (let n = 0; n < 2; n += 1)"
        " field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true})); }"
    )
    await person.ended("current_time", "success")
    await person.idle()
    await expect(person.page.locator(".user")).to_have_count(1)
    assert _sessions(gateway) == 1


async def test_sessions_that_wait_come_first_and_others_say_how_they_are(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    remove = ToolCall(id="c1", name="Bash", arguments=json.dumps({"command": "rm -f x.tmp"}))
    fault = ModelError("MODEL_AUTH", "The provider refused the key.")
    model = ScriptedModel([[remove], [fault], ["Working", hold, " and done."]])
    person = await arrive(context, gateway_with(model))
    page = person.page
    await person.begin("coding")
    await person.say("Tidy up")
    await person.asked()
    await page.keyboard.press("Escape")
    await person.begin("coding")
    await person.say("Ask a model without a key")
    await expect(page.get_by_role("alert").first).to_contain_text("refused the key")
    await person.begin("coding")
    await person.say("Think for long")
    await expect(person.said("Working")).to_be_visible()
    names = page.locator(".sessions .name")
    await expect(names.first).to_have_text("Tidy up")
    await expect(page.locator(".sessions h2").first).to_have_text("Waiting for you")
    for title, state in (("Tidy up", "waiting"), ("Ask a model", "failed"), ("Think for long", "running")):
        row = _rows(person).filter(has_text=title)
        await expect(row.locator(".dot")).to_have_attribute("data-status", state)
    await expect(page).to_have_title("(1) Permission needed · Toolgate")
    await person.picture("sidebar-states")
    hold.release()
    await person.idle()
    done = _rows(person).filter(has_text="Think for long").locator(".dot")
    await expect(done).not_to_have_attribute("data-status", "running")
    assert person.problems == []


async def test_search_finds_what_was_said(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    person = await arrive(context, gateway_with(ScriptedModel(["The walrus sings at noon.", "Nothing."])))
    await person.begin()
    await person.say("A riddle")
    await expect(person.said("walrus")).to_be_visible()
    await person.idle()
    await person.begin()
    await person.say("Something else")
    await person.idle()
    await expect(_rows(person)).to_have_count(2)
    await person.page.keyboard.press("Control+k")
    await person.page.keyboard.type("walrus")
    await expect(_rows(person)).to_have_count(1)
    await expect(_rows(person).locator("mark")).to_have_text("walrus")
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator("#title")).to_have_text("A riddle")


async def test_a_list_that_changes_takes_nobodys_menu_or_new_title_away(
    context: BrowserContext, gateway: Gateway
) -> None:
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("chat_safe")
    await person.say("current_time")
    await person.ended("current_time", "success")
    await person.idle()
    session = (await person.began()).rpartition("/")[2]
    await expect(_rows(person)).to_have_count(1)

    async def changes(title: str) -> None:
        shown = {"id": session, "title": title, "status": "idle", "updated_at": 0, "archived": False}
        await page.evaluate("one => document.querySelector('tg-sidebar').show([one])", shown)

    await page.get_by_role("button", name="Menu of current_time").click()
    await changes("another title")
    await page.get_by_role("menuitem", name="Rename").click()
    field = page.get_by_role("textbox", name="New title")
    await field.fill("My title")
    await changes("a third title")
    await expect(field).to_have_value("My title")
    await page.keyboard.press("Enter")
    await expect(_rows(person)).to_contain_text("My title")
    assert person.problems == []


async def test_a_row_is_renamed_archived_exported_and_deleted(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    for text in ("current_time timezone=UTC", "memory_append content=apples"):
        await person.begin("chat_safe")
        await person.say(text)
        await person.ended(text.partition(" ")[0], "success")
        await person.idle()
    await expect(_rows(person)).to_have_count(2)
    await expect(_rows(person).filter(has_text="current_time")).to_have_count(1)

    await _menu(person, "current_time timezone=UTC", "Rename")
    await page.get_by_role("textbox", name="New title").fill("The time")
    await page.keyboard.press("Enter")
    await expect(_rows(person).filter(has_text="The time")).to_have_count(1)

    for item, ending in (("Export as Markdown", "md"), ("Export as JSON", "json")):
        async with page.expect_download() as saved:
            await _menu(person, "The time", item)
        file = await saved.value
        assert file.suggested_filename == f"the-time.{ending}"
        assert "timezone=UTC" in Path(await file.path()).read_text()

    await _menu(person, "The time", "Archive")
    await expect(_rows(person)).to_have_count(1)
    await page.get_by_role("button", name="Undo").click()
    await expect(_rows(person)).to_have_count(2)
    await _menu(person, "The time", "Archive")
    await expect(_rows(person)).to_have_count(1)
    await page.get_by_role("button", name="Archived").click()
    await expect(_rows(person).filter(has_text="The time")).to_have_count(1)
    await _menu(person, "The time", "Take out of the archive")
    await expect(page.get_by_text("No session is archived.")).to_be_visible()
    await page.get_by_role("button", name="Back to the sessions").click()
    await expect(_rows(person)).to_have_count(2)

    await _menu(person, "The time", "Delete")
    asked = page.get_by_role("alertdialog")
    await expect(asked).to_contain_text("Delete “The time”?")
    await expect(asked.get_by_role("button", name="Keep it")).to_be_focused()
    await person.picture("delete")
    await page.keyboard.press("Escape")
    await expect(_rows(person)).to_have_count(2)
    await _menu(person, "The time", "Delete")
    await asked.get_by_role("button", name="Delete").click()
    await expect(_rows(person)).to_have_count(1)
    assert _sessions(gateway) == 1
    assert person.problems == []


async def test_deleting_the_session_that_is_shown_while_it_runs(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    gateway = gateway_with(ScriptedModel([["Half", hold, " an answer"]]))
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Go on")
    await expect(person.said("Half")).to_be_visible()
    await expect(_rows(person)).to_have_count(1)
    await person.page.get_by_role("button", name="Menu", exact=True).click()
    await person.page.get_by_role("menuitem", name="Delete").click()
    asked = person.page.get_by_role("alertdialog")
    await expect(asked).to_contain_text("will be stopped")
    await asked.get_by_role("button", name="Delete").click()
    await expect(person.page.locator("tg-empty")).to_be_visible()
    await expect(_rows(person)).to_have_count(0)
    assert _sessions(gateway) == 0
    assert re.search(r"#/s/", person.page.url) is None
