"""Pictures of a message: pasted, dropped or picked, kept in drafts and queues, and shown again after a reload."""

from collections.abc import Callable
from typing import Any

from playwright.async_api import BrowserContext, FilePayload, Page, expect

from tests.browser.kit import Gateway, Hold, arrive
from tests.browser.test_composer import DROP
from tests.support.pictures import png
from toolgate import ToolCall
from toolgate.testing import ScriptedModel

PASTE = """([name, type, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, {type}));
  const paste = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  document.getElementById("prompt").dispatchEvent(paste);
}"""
DROP_FOLDER = """() => {
  const data = new DataTransfer();
  data.items.add(new File([], "src"));
  const entry = {isDirectory: true, name: "src"};
  DataTransferItem.prototype.webkitGetAsEntry = () => entry;
  const drop = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
  document.getElementById("main").dispatchEvent(drop);
}"""
RED = list(png(60, 40))


def attached(page: Page) -> Any:
    return page.get_by_role("list", name="Pictures of this message").get_by_role("listitem")


async def loaded(page: Page, count: int) -> None:
    """Wait until the pictures of the conversation have pixels."""
    await page.wait_for_function(
        """count => {
          const all = [...document.querySelectorAll("tg-transcript .picture img")];
          return all.length === count && all.every(one => one.naturalWidth > 0);
        }""",
        arg=count,
    )


def shown(model: ScriptedModel) -> list[tuple[str, list[str]]]:
    """What the model got in the person's last message, per request."""
    said = [[one for one in request.messages if one["role"] == "user"][-1] for request in model.requests]
    return [(one["content"], [image.name for image in one.get("images", ())]) for one in said]


async def test_pictures_are_pasted_dropped_and_picked(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel(["Three red boxes.", "Still red."], vision=True)
    person = await arrive(context, gateway_with(model))
    page = person.page
    await person.begin()
    await page.evaluate(PASTE, ["pasted.png", "image/png", RED])
    await page.evaluate(DROP, ["dropped.png", "image/png", RED])
    file = FilePayload(name="picked.png", mimeType="image/png", buffer=png(30, 90))
    await page.locator("input[type=file]").set_input_files([file])
    await expect(attached(page)).to_have_text(["pasted.png", "dropped.png", "picked.png"])
    await person.picture("attached")
    await attached(page).nth(1).get_by_role("button", name="Remove dropped.png").click()
    await expect(attached(page)).to_have_count(2)
    await person.say("What is this?")
    await expect(person.said("Three red boxes.")).to_be_visible()
    await loaded(page, 2)
    await expect(attached(page)).to_have_count(0)
    await page.reload()
    await loaded(page, 2)
    await person.picture("pictures")
    await page.locator(".user .picture").first.click()
    await expect(page.locator(".user .picture").first).to_have_attribute("aria-expanded", "true")
    await page.locator(".user").hover()
    await page.get_by_role("button", name="Retry").click()
    await expect(person.said("Still red.")).to_be_visible()
    assert shown(model) == [("What is this?", ["pasted.png", "picked.png"])] * 2
    assert person.problems == []


async def test_a_draft_keeps_its_pictures_and_a_picture_needs_no_words(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel(["Red.", "Again."], vision=True)
    person = await arrive(context, gateway_with(model))
    page = person.page
    await page.evaluate(PASTE, ["draft.png", "image/png", RED])
    await expect(attached(page)).to_have_text(["draft.png"])
    await expect(page.locator("ul.attached")).not_to_have_attribute("aria-busy", "true")
    await page.reload()
    await expect(attached(page)).to_have_text(["draft.png"])
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(person.said("Red.")).to_be_visible()
    await person.idle()
    await page.reload()
    await loaded(page, 1)
    await expect(attached(page)).to_have_count(0)
    await expect(page.get_by_role("heading", name="draft.png")).to_be_visible()
    await page.locator(".user").hover()
    await page.locator(".user").get_by_role("button", name="Rewind").click()
    await page.get_by_role("menuitem", name="Go back, keep the files").click()
    await expect(attached(page)).to_have_text(["draft.png"])
    await person.say("Look again")
    await expect(person.said("Again.")).to_be_visible()
    assert shown(model) == [("", ["draft.png"]), ("Look again", ["draft.png"])]
    assert person.problems == []


async def test_a_picture_waits_with_its_message_and_is_taken_back_with_it(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    model = ScriptedModel([[hold, "One."], "Two."], vision=True)
    person = await arrive(context, gateway_with(model))
    page = person.page
    await person.begin()
    await person.say("first")
    await expect(page.locator("tg-working")).to_contain_text("Thinking")
    for name in ("second", "third"):
        await page.evaluate(PASTE, [f"{name}.png", "image/png", RED])
        await expect(attached(page)).to_have_count(1)
        await person.say(name)
    chips = page.get_by_role("list", name="Messages that wait").get_by_role("listitem")
    await expect(chips).to_have_text(["second ▣ second.png", "third ▣ third.png"])
    await chips.nth(1).get_by_role("button", name="Take back").click()
    await expect(attached(page)).to_have_text(["third.png"])
    hold.release()
    await expect(person.said("Two.")).to_be_visible()
    assert shown(model) == [("first", []), ("second", ["second.png"])]
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("third")
    assert person.problems == []


async def test_what_cannot_be_attached_is_refused_in_a_sentence_and_nothing_is_lost(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    person = await arrive(context, gateway_with(ScriptedModel([], vision=True)))
    page = person.page
    field = page.get_by_role("textbox", name="Message")
    await field.fill("half a thought")
    toast = page.locator(".toast")
    await page.evaluate(DROP, ["a.png", "image/png", RED[:40]])
    await expect(toast).to_contain_text("a.png is broken, or no picture.")
    await page.evaluate(DROP, ["a.bmp", "image/bmp", [66, 77, 1, 2]])
    await expect(toast).to_contain_text("a.bmp is a kind of picture that models do not take")
    await page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(21 * 1024 * 1024)], "huge.png", {type: "image/png"}));
          const drop = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
          document.getElementById("main").dispatchEvent(drop);
        }"""
    )
    await expect(toast).to_contain_text("huge.png has 21 MB; pictures are taken up to 20 MB.")
    await page.evaluate(DROP_FOLDER)
    await expect(toast).to_contain_text("src is a folder. Add its files, or name its path.")
    await expect(attached(page)).to_have_count(0)
    await expect(field).to_have_value("half a thought")
    assert person.problems == []


async def test_a_picture_that_the_gateway_refuses_comes_back_with_its_words(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    person = await arrive(context, gateway_with(ScriptedModel(["Hello."], vision=True)))
    page = person.page
    await person.begin()
    await person.say("hello")
    await expect(person.said("Hello.")).to_be_visible()
    await person.idle()
    await page.evaluate(PASTE, ["odd.png", "image/png", RED])
    await expect(attached(page)).to_have_count(1)
    answer = '{"error": "\'odd.png\' begins like a PNG picture but is broken."}'
    await page.route("**/pictures?*", lambda route: route.fulfill(status=422, body=answer))
    await person.say("look at this")
    await expect(page.locator(".banner")).to_contain_text("odd.png' begins like a PNG")
    await expect(attached(page)).to_have_text(["odd.png"])
    await expect(page.get_by_role("textbox", name="Message")).to_have_value("look at this")
    await expect(page.locator(".user p")).to_have_text(["hello"])


async def test_a_picture_of_a_result_is_shown(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    read = ToolCall(id="c1", name="read_file", arguments='{"path": "a.png"}')
    gateway = gateway_with(ScriptedModel([[read], "Red."], vision=True))
    (gateway.root / "a.png").write_bytes(png(30, 20))
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("look")
    await expect(person.said("Red.")).to_be_visible()
    await person.page.locator("tg-group summary, tg-group button").first.click()
    card = person.page.locator("tg-card").first
    if await card.locator(".picture").count() == 0 or not await card.locator(".picture").is_visible():
        await card.locator("button").first.click()
    await loaded(person.page, 1)
    assert person.problems == []
