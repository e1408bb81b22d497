"""The message field: completion, files, queue, drafts, and what can be done with messages."""

import json
from collections.abc import Callable

from playwright.async_api import BrowserContext, expect

from tests.browser.kit import Gateway, Hold, arrive
from toolgate import ToolCall
from toolgate.testing import ScriptedModel

DROP = """([name, type, bytes]) => {
  const data = new DataTransfer();
  if (name) data.items.add(new File([new Uint8Array(bytes)], name, {type}));
  const drop = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
  document.getElementById("main").dispatchEvent(drop);
}"""


async def test_files_and_commands_are_completed(context: BrowserContext, gateway: Gateway) -> None:
    (gateway.root / "src").mkdir()
    (gateway.root / "src" / "fetch.py").write_text("")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("current_time")
    await person.began()
    await person.idle()
    field = person.page.get_by_role("textbox", name="Message")
    options = person.page.get_by_role("option")
    await field.press_sequentially("look at @fet")
    await expect(options.first).to_have_text("src/fetch.py")
    await person.picture("completion")
    await field.press("Enter")
    await expect(field).to_have_value("look at @src/fetch.py ")
    await field.fill("")
    await field.press_sequentially("/re")
    await expect(options).to_contain_text(["/rewind", "/retry"])
    await field.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await field.press("Escape")
    await expect(options).to_have_count(0)
    await expect(field).to_have_value("/re")
    assert person.problems == []


async def test_a_command_of_ones_own_is_offered_and_sent_as_its_text(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel(["Ready.", "Reviewed."])
    gateway = gateway_with(model)
    folder = gateway.root / ".toolgate" / "commands"
    folder.mkdir(parents=True)
    (folder / "review-it.md").write_text("---\ndescription: Reviews <b>a file</b>\n---\nReview $1 carefully.\n")
    person = await arrive(context, gateway)
    await person.begin()
    await person.say("hello")
    await expect(person.said("Ready.")).to_be_visible()
    field = person.page.get_by_role("textbox", name="Message")
    await field.press_sequentially("/revi")
    option = person.page.get_by_role("option")
    await expect(option).to_contain_text(["/review-it"])
    await expect(option.first).to_contain_text("Reviews <b>a file</b>")
    await field.press("Enter")
    await expect(field).to_have_value("/review-it")
    await field.press_sequentially(" a.py")
    await field.press("Enter")
    await expect(person.said("Reviewed.")).to_be_visible()
    assert model.requests[-1].messages[-1] == {"role": "user", "content": "Review a.py carefully."}
    assert person.problems == []


async def test_messages_wait_for_the_end_of_the_turn_and_can_be_taken_back(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    model = ScriptedModel([[hold, "One."], "Two."])
    person = await arrive(context, gateway_with(model))
    await person.begin()
    await person.say("first")
    await expect(person.page.locator("tg-working")).to_contain_text("Thinking")
    await person.say("second")
    await person.say("third")
    chips = person.page.get_by_role("list", name="Messages that wait").get_by_role("listitem")
    await expect(chips).to_have_text(["second", "third"])
    await person.picture("queue")
    await chips.nth(1).get_by_role("button", name="Take back: third").click()
    await expect(chips).to_have_text(["second"])
    field = person.page.get_by_role("textbox", name="Message")
    await expect(field).to_have_value("third")
    hold.release()
    await expect(person.said("Two.")).to_be_visible()
    await expect(chips).to_have_count(0)
    await expect(person.page.locator(".user p")).to_have_text(["first", "second"])
    await expect(field).to_have_value("third")
    assert person.problems == []


async def test_after_a_stop_what_waited_is_in_the_field_again(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    person = await arrive(context, gateway_with(ScriptedModel([[Hold(), "Never."]])))
    await person.begin()
    await person.say("first")
    await expect(person.page.locator("tg-working")).to_contain_text("Thinking")
    await person.say("second")
    await person.page.get_by_role("button", name="Stop", exact=True).click()
    await expect(person.page.get_by_role("textbox", name="Message")).to_have_value("second")
    await expect(person.page.locator(".user p")).to_have_text(["first"])


async def test_a_draft_survives_a_reload_and_belongs_to_its_session(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    field = page.get_by_role("textbox", name="Message")
    await person.begin()
    await person.say("current_time")
    await person.began()
    await person.idle()
    await field.fill("half a thought")
    await page.reload()
    await expect(field).to_have_value("half a thought")
    await person.begin()
    await expect(field).to_have_value("")
    await page.go_back()
    await expect(field).to_have_value("half a thought")
    await field.press("Enter")
    await person.idle()
    await page.reload()
    await expect(person.said("half a thought").first).to_be_visible()
    await expect(field).to_have_value("")


async def test_text_files_go_into_the_message_and_others_are_refused(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    field = page.get_by_role("textbox", name="Message")
    await page.evaluate(DROP, ["notes.py", "text/x-python", list(b"x = '```'\n")])
    await expect(field).to_have_value("notes.py:\n````py\nx = '```'\n````\n")
    await field.fill("")
    toast = page.locator(".toast")
    await page.evaluate(DROP, ["a.bin", "", [0, 255, 1]])
    await expect(toast).to_contain_text("a.bin is neither text nor a picture. Put it in the project")
    await page.evaluate(DROP, ["big.txt", "text/plain", [97] * 70_000])
    await expect(toast).to_contain_text("at most 64 kB fit")
    await expect(field).to_have_value("")
    assert person.problems == []


async def test_rewind_takes_back_the_conversation_and_the_files(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    write = ToolCall(id="c1", name="edit_file", arguments=json.dumps(edit))
    gateway = gateway_with(ScriptedModel(["Hello.", [write], "Edited.", "Again."]))
    (gateway.root / "a.txt").write_text("one\n")
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    await person.say("first")
    await expect(person.said("Hello.")).to_be_visible()
    await person.idle()
    await person.say("second")
    await person.asked()
    await page.keyboard.press("a")
    await expect(person.said("Edited.")).to_be_visible()
    await person.idle()
    assert (gateway.root / "a.txt").read_text() == "two\n"
    await page.locator(".user").nth(1).hover()
    await person.picture("message-actions")
    await page.locator(".user").nth(1).get_by_role("button", name="Rewind").click()
    await page.get_by_role("menuitem", name="Go back and take back the files").click()
    await expect(person.said("Edited.")).to_have_count(0)
    await expect(page.locator(".user p")).to_have_text(["first"])
    await expect(page.locator("tg-card")).to_have_count(0)
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("second")
    await expect(page.locator(".toast")).to_contain_text("1 file was taken back")
    assert (gateway.root / "a.txt").read_text() == "one\n"
    await page.reload()
    await expect(person.said("Hello.")).to_be_visible()
    await expect(page.locator(".user p")).to_have_text(["first"])
    assert person.problems == []


async def test_the_last_message_is_retried_edited_and_forked(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    person = await arrive(context, gateway_with(ScriptedModel(["One.", "Two.", "Three.", "Four."])))
    page = person.page
    await person.begin()
    await person.say("first")
    await expect(person.said("One.")).to_be_visible()
    await person.idle()
    last = page.locator(".user").last
    await last.get_by_role("button", name="Retry").click()
    await expect(person.said("Two.")).to_be_visible()
    await expect(person.said("One.")).to_have_count(0)
    await expect(page.locator(".user p")).to_have_text(["first"])
    await person.idle()
    await last.get_by_role("button", name="Edit").click()
    field = page.get_by_role("textbox", name="Edit the message")
    await expect(field).to_be_focused()
    await field.fill("other words")
    await field.press("Enter")
    await expect(person.said("Three.")).to_be_visible()
    await expect(page.locator(".user p")).to_have_text(["other words"])
    await person.idle()
    await person.say("more")
    await expect(person.said("Four.")).to_be_visible()
    await person.idle()
    before = page.url
    await page.locator(".user").last.get_by_role("button", name="Fork").click()
    await page.wait_for_url(lambda url: url != before)
    await expect(person.said("Three.")).to_be_visible()
    await expect(page.locator(".user p")).to_have_text(["other words"])
    assert person.problems == []
