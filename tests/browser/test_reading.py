"""Reading a conversation: quiet rows, diffs, commands with a viewer, sub-agents, and what a turn is doing."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.kit import Gateway, Hold, arrive, window
from toolgate import ToolCall
from toolgate.testing import ScriptedModel

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def elapsed(least: int) -> re.Pattern[str]:
    """A clock that shows at least so many seconds: a busy machine may never show a certain one."""
    return re.compile(rf"^0:(0[{least}-9]|[1-5]\d)$")


def seconds(shown: str) -> float:
    """What a duration says: 340 ms, or 1.2 s."""
    number, unit = shown.split()
    return float(number) / {"ms": 1000, "s": 1}[unit]


async def test_reads_and_searches_are_one_quiet_row_that_opens(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    calls = [call(1, "read_file", path="a.py"), call(2, "grep", pattern="def"), call(3, "read_file", path="no.py")]
    gateway = gateway_with(ScriptedModel([calls, [call(4, "ls")], "Seen."]))
    (gateway.root / "a.py").write_text("def a():\n    return 1\n")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Look around.")
    await expect(person.said("Seen.")).to_be_visible()
    row = person.page.locator("tg-group")
    await expect(row).to_have_count(1)
    await expect(row.locator("summary")).to_contain_text("Read a.py, no.py, searched for def, listed .")
    await expect(row.locator(".failed")).to_have_text("1 failed")
    box = await row.bounding_box()
    assert box is not None
    assert box["height"] == 32
    await row.locator("summary").click()
    await expect(person.card("read_file")).to_contain_text("'no.py' does not exist")
    first = row.locator("tg-card").first
    await first.get_by_role("button").click()
    await expect(first.locator(".k").first).to_have_text("def")  # highlighted by the server
    await expect(first.locator("[data-n='2']")).to_have_text("    return 1\n")
    await person.picture("quiet-row")
    assert person.problems == []


async def test_an_edit_shows_path_counts_and_numbered_highlighted_lines(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    edit = call(1, "edit_file", path="a.py", old_string="return 1", new_string="return None")
    gateway = gateway_with(ScriptedModel([[edit], "Edited."]))
    (gateway.root / "a.py").write_text("import os\n\n\ndef a():\n    return 1\n")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Edit.")
    question = await person.asked()
    await expect(question.locator(".added [class=n]")).to_have_text("None")
    await person.page.keyboard.press("a")
    card = await person.ended("edit_file", "success")
    await expect(card.locator(".head")).to_contain_text("a.py")
    await expect(card.locator("ins")).to_contain_text("+1")
    await expect(card.locator("del")).to_contain_text("−1")
    await expect(card.locator(".removed")).to_have_text("-    return 1\n")
    await expect(card.locator(".added")).to_have_attribute("data-n", "5")
    await expect(card.locator(".added .n")).to_have_text("None")
    assert "+++" not in await card.inner_text()
    assert "---" not in await card.inner_text()
    assert person.problems == []


async def test_a_command_shows_its_last_lines_and_all_of_it_in_a_viewer(
    context: BrowserContext, gateway: Gateway
) -> None:
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    await person.say("Bash seq 1 5000; exit 3")
    card = await person.ended("Bash", "partial")
    await expect(card.locator(".head")).to_contain_text("$seq 1 5000; exit 3exit 3")
    text = await card.get_by_label("Output").inner_text()
    assert text.split()[-1] == "5000"
    assert len(text.split()) == 12
    await expect(card.locator(".note")).to_contain_text("earlier lines")
    await card.get_by_role("button", name="Whole output").click()
    viewer = page.get_by_role("dialog")
    await expect(viewer.get_by_label("Text", exact=True)).to_contain_text("2500")
    await page.keyboard.type("4999")
    await expect(viewer.get_by_role("status")).to_have_text("1 of 1")
    assert await page.evaluate("CSS.highlights.get('found-now').size") == 1
    await viewer.get_by_role("button", name="Wrap").click()
    await expect(viewer.get_by_label("Text", exact=True)).to_have_css("white-space-collapse", "preserve")
    await expect(viewer.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "false")
    async with page.expect_download() as saved:
        await viewer.get_by_role("button", name="Download").click()
    path = await (await saved.value).path()
    assert path.read_text().split()[:3] == ["1", "2", "3"]
    await person.picture("viewer")
    await page.keyboard.press("Escape")
    await expect(viewer).to_have_count(0)
    assert person.problems == []


async def test_raw_json_never_reaches_a_person(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin()
    await person.say('memory_append content="We deploy on Fridays."')
    card = await person.ended("memory_append", "success")
    await card.get_by_role("button").first.click()
    await expect(card.get_by_label("Arguments")).to_have_text("content: We deploy on Fridays.")
    assert "{" not in await card.inner_text()


async def test_markdown_has_highlighted_code_tasks_and_pictures_of_its_own(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    text = f"- [x] one\n- [ ] two\n\n```py\nif x:\n    pass\n```\n\n![dot](data:image/png;base64,{PNG})\n\nend"
    person = await arrive(context, gateway_with(ScriptedModel([[text[:40], text[40:]]])))
    await person.begin()
    await person.say("Show me.")
    answer = person.page.get_by_role("article", name="Answer")
    await expect(answer.get_by_text("end")).to_be_visible()
    await expect(answer.locator(".task")).to_have_text(["done: one", "to do: two"])
    await expect(answer.locator("pre .k")).to_have_text(["if", "pass"])
    assert await answer.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    assert person.problems == []


async def test_the_working_line_says_what_is_going_on(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    first, second = Hold(), Hold()
    model = ScriptedModel([[first, call(1, "Bash", command="echo started; sleep 300")], [second, "Never."]])
    person = await arrive(context, gateway_with(model))
    await person.begin("coding")
    await person.say("Go.")
    line = person.page.locator("tg-working")
    await expect(line).to_contain_text("Thinking")
    await expect(line.get_by_role("timer")).to_have_text(elapsed(1))
    first.release()
    await expect(line).to_contain_text("Running echo started; sleep 300")
    await person.picture("working")
    await person.page.get_by_role("textbox", name="Message").press("Escape")  # stops
    await expect(person.page.locator(".notice")).to_have_text("Stopped.")
    await expect(line).to_be_hidden()


async def test_retries_are_said_with_their_seconds(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    person = await arrive(context, gateway_with(ScriptedModel([[hold, "Done."]])))
    await person.begin()
    await person.say("Go.")
    await expect(person.page.locator("tg-working")).to_contain_text("Thinking")
    await person.page.evaluate(
        """async () => {
          const { Session } = (await import("/static/joined/main.js")).$session;
          const view = document.querySelector("tg-transcript");
          const wire = Object.assign(new EventTarget(), { state: "open" });
          const session = new Session(wire, "s", view);
          session.take({type: "turn_started", session_id: "s", turn_id: "t", seq: 1, data: {}, at: Date.now() / 1000});
          const data = {attempt: 2, of: 3, seconds: 90, code: "RATE_LIMITED", message: "429"};
          session.take({type: "model_retry", session_id: "s", turn_id: "t", data});
        }"""
    )
    line = person.page.locator("tg-working")
    await expect(line).to_contain_text(re.compile(r"Rate-limited, retrying in [1-9]\d s \(2 of 3\)"))
    hold.release()
    await expect(person.said("Done.")).to_be_visible()


async def test_times_after_a_reload_are_those_of_the_turn_and_the_call(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel([[call(1, "Bash", command="rm -f x")], "Removed."])
    person = await arrive(context, gateway_with(model))
    page = person.page
    await person.begin("coding")
    await person.say("Go.")
    await person.asked()
    await expect(page.locator("tg-working .elapsed")).to_have_text(elapsed(3))  # a person thinks
    await page.keyboard.press("a")
    card = await person.ended("Bash", "success")
    await person.idle()
    took = page.locator(".took")
    before = await took.inner_text()
    shown = await card.locator(".time").inner_text()
    assert seconds(before) - seconds(shown) > 2.9
    await page.reload()
    await expect(took).to_have_text(before)
    await expect(card.locator(".time")).to_have_text(shown)


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_pictures_of_everything(
    browser: Browser, gateway_with: Callable[..., Gateway], theme: str, width: int
) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    text = f"The loop is **off by one**:\n\n```python\nfor n in range(3):\n    print(n)\n```\n\n{table}"
    calls = [call(1, "read_file", path="a.py"), call(2, "grep", pattern="return"), call(3, "Bash", command="seq 1 30")]
    edit = call(4, "edit_file", path="a.py", old_string="return 1", new_string="return 2")
    gateway = gateway_with(ScriptedModel([["I look first.", *calls], [text, edit], "Done."]))
    (gateway.root / "a.py").write_text("def a():\n    return 1\n")
    view = {"width": width, "height": 900}
    async with window(browser, color_scheme=theme, reduced_motion="reduce", viewport=view) as context:
        person = await arrive(context, gateway)
        await person.page.locator(".mode-choice [value=coding] + span").click()
        await person.say("Why does it return 1?")
        await person.asked()
        await person.picture(f"conversation-{width}-{theme}-asks")
        assert await person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await person.page.keyboard.press("a")
        await expect(person.said("Done.")).to_be_visible()
        await person.idle()
        await person.picture(f"conversation-{width}-{theme}")
        inner = await person.page.evaluate(
            "[...document.querySelectorAll('tg-chat *')].filter(e => e.scrollHeight > e.clientHeight + 1"
            " && ['auto', 'scroll'].includes(getComputedStyle(e).overflowY) && e.clientHeight).map(e => e.className)"
        )
        assert inner == []  # nothing scrolls inside something that scrolls
        assert person.problems == []
