"""The whole story of a session: signing in, tools, a denial, a plan, sub-agents, and everything after a reload."""

import json
import re
from collections.abc import Callable

from playwright.async_api import BrowserContext, expect

from tests.agent.test_subagents import Cast
from tests.browser.kit import TOKEN, Gateway, Person, arrive, becomes
from toolgate import ToolCall
from toolgate.testing import ScriptedModel


def call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


async def test_a_session_from_the_printed_link_to_a_reload(context: BrowserContext, gateway: Gateway) -> None:
    (gateway.root / "notes.txt").write_text("alpha\nbeta\n")
    person = await arrive(context, gateway)
    page = person.page
    assert page.url == gateway.address  # the code is gone from the address
    await expect(page.get_by_text("No language model is set up")).to_be_visible()
    await person.begin("coding")
    await person.say("Bash cat notes.txt")
    card = await person.ended("Bash", "success")
    await expect(card).to_contain_text("alpha")
    await person.idle()
    await person.say("read_file path=missing.txt")
    failed = await person.ended("read_file", "error")
    await expect(failed).to_contain_text("does not exist")
    await person.idle()
    before = await page.locator("tg-transcript").inner_text()

    await page.reload()
    await expect(person.card("read_file")).to_have_attribute("data-state", "error")
    await expect(page.locator("tg-transcript .user p")).to_have_text(
        ["Bash cat notes.txt", "read_file path=missing.txt"]
    )
    await expect(page.locator("tg-card")).to_have_count(2)
    await becomes(page.locator("tg-transcript").inner_text, before)
    await expect(page.locator("#title")).to_have_text("Bash cat notes.txt")
    await person.picture("story")
    assert person.problems == []


async def test_a_link_works_once_and_a_token_always(context: BrowserContext, gateway: Gateway) -> None:
    link = gateway.link()
    first = await arrive(context, gateway)
    await first.page.evaluate("localStorage.clear()")
    person = Person(await context.new_page())
    await person.page.goto(link.replace(link.partition("#")[2], "a-code-that-nobody-made"))
    await expect(person.page.get_by_label("Token")).to_be_focused()
    await person.page.keyboard.type("not the token")
    await person.page.keyboard.press("Enter")
    await expect(person.page.get_by_role("alert")).to_have_text("That token does not work.")
    await person.picture("sign-in")
    await person.page.get_by_label("Token").fill(TOKEN)
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(".link")).to_have_text("Connected")


async def test_a_denial_is_not_an_error_and_coding_is_not_enabled(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    gateway = gateway_with(coding=False)
    person = await arrive(context, gateway)
    await expect(person.page.locator(".mode-choice")).to_be_hidden()
    await person.begin()
    await person.say("Bash ls")
    badge = person.page.get_by_role("button", name="Mode: Chat only")
    await expect(badge).to_be_visible()
    await expect(badge).to_have_attribute("title", "chat_safe")
    denied = await person.ended("Bash", "denied")
    await expect(denied).to_contain_text("Denied.")
    await expect(denied.locator(".next")).to_contain_text("Coding mode is not enabled here")
    await person.idle()
    await person.say("current_time timezone=Mars/Olympus")
    failed = await person.ended("current_time", "error")
    looks = "card => [getComputedStyle(card).borderTopStyle, getComputedStyle(card).backgroundColor]"
    assert await denied.evaluate(looks) != await failed.evaluate(looks)
    await person.picture("denial")
    assert person.problems == []


async def test_markdown_arrives_rendered(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    pieces = [
        "# He",
        "llo\n\n- *o",
        "ne*\n- two\n\n```py\nx = 1\n",
        "y = 2\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\nend",
    ]
    person = await arrive(context, gateway_with(ScriptedModel([pieces])))
    await person.begin()
    await person.say("Show me.")
    answer = person.page.get_by_role("article", name="Answer")
    await expect(answer.get_by_role("heading", name="Hello")).to_be_visible()
    await person.idle()
    await expect(answer.locator("li em")).to_have_text("one")
    await expect(answer.locator("pre code")).to_have_text("x = 1\ny = 2\n")
    await expect(answer.get_by_role("cell", name="2")).to_have_css("text-align", "right")
    live = await answer.inner_html()
    await person.page.reload()
    await expect(answer.get_by_role("heading", name="Hello")).to_be_visible()
    await becomes(answer.inner_html, live)
    await expect(person.page.locator("#announcer")).to_have_attribute("aria-live", "polite")
    assert person.problems == []


async def test_the_plan_the_matrix_and_a_card_in_full(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    items = [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]
    await person.say(f"todo {json.dumps({'items': items})}")
    card = await person.ended("todo", "success")
    await expect(card).to_be_hidden()  # the list says it all
    await expect(page.locator("tg-todos")).to_contain_text("1 of 2")
    await page.locator("tg-todos summary").click()
    await expect(page.get_by_role("list", name="Todo list").get_by_role("listitem")).to_have_count(2)
    await person.idle()
    await person.say("Bash echo one")
    card = await person.ended("Bash", "success")
    await card.get_by_role("button").click()
    await expect(card.get_by_label("Arguments")).to_have_text("command: echo one")
    await page.get_by_role("button", name="Mode: Work on files").click()
    row = page.get_by_role("row", name=re.compile("^Bash"))
    await expect(row.get_by_role("cell")).to_have_text([re.compile("not allowed"), re.compile("allowed")])
    await person.picture("matrix")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_sub_agents_are_nested_in_the_call_that_started_them(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel(
        [
            [call(1, "task", agent="explore", prompt="Look around.", description="a look around")],
            [call(2, "ls")],
            "There is *one* file.",
            "The explorer found one file.",
        ]
    )
    gateway = gateway_with(model)
    (gateway.root / "only.txt").write_text("")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("What is here?")
    card = await person.ended("task", "success")
    await expect(card.locator(".head").first).to_contain_text("Sub-agent explore")
    await expect(card.locator(".live em")).to_have_text("one")  # the answer, while the steps are folded
    await expect(card.locator(".agent")).not_to_have_attribute("open", "")
    await expect(card.locator("tg-card")).to_contain_text("only.txt")
    await expect(card.locator("tg-message em")).to_have_text("one")
    await person.idle()
    await person.page.reload()
    card = await person.ended("task", "success")
    await expect(card.locator("tg-card")).to_have_count(0)  # loaded when they are opened
    await card.locator(".agent > summary").click()
    await expect(card.locator("tg-card")).to_contain_text("only.txt")
    await person.picture("sub-agent")
    assert person.problems == []


async def test_sessions_are_listed_found_and_shown(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    for text in ("current_time timezone=UTC", "memory_append content=apples"):
        await person.begin()
        await person.say(text)
        await person.ended(text.partition(" ")[0], "success")
        await person.idle()
    links = page.get_by_role("navigation", name="Sessions").get_by_role("link")
    await expect(links).to_have_count(2)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("TIME")
    await expect(links).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.locator("tg-group")).to_contain_text("Looked at the clock UTC")
    await expect(links.first).to_have_attribute("aria-current", "page")
    await page.get_by_role("searchbox").fill("nothing like it")
    await expect(page.get_by_text("No session has these words")).to_be_visible()
    await page.get_by_role("searchbox").press("Escape")
    await expect(links).to_have_count(2)
    await page.goto(f"{gateway.address}#/s/01a00000-0000-7000-8000-000000000000")
    await expect(page.locator(".banner")).to_contain_text("does not exist")


async def test_a_session_is_renamed_where_its_title_stands(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page, rename = person.page, person.page.get_by_role("button", name="Rename this session")
    await expect(rename).to_be_hidden()
    await person.begin()
    await person.say("current_time timezone=UTC")
    await expect(page.locator("#title")).to_have_text("current_time timezone=UTC")
    await person.idle()

    await rename.click()
    field = page.get_by_role("textbox", name="Title of this session")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("current_time timezone=UTC")
    await page.keyboard.type("Never mind")
    await page.keyboard.press("Escape")
    await expect(rename).to_be_focused()
    await expect(page.locator("#title")).to_have_text("current_time timezone=UTC")

    await page.locator("#title").dblclick()
    await page.keyboard.type("  What   <b>time</b> is it ")
    await page.keyboard.press("Enter")
    for place in (page.locator("#title"), page.get_by_role("navigation", name="Sessions").locator(".name")):
        await expect(place).to_have_text("What <b>time</b> is it")
    await expect(field).to_have_count(0)
    await expect(rename).to_be_focused()
    await person.picture("renamed")
    await page.reload()
    await expect(page.locator("#title")).to_have_text("What <b>time</b> is it")
    assert person.problems == []


async def test_a_cut_output_is_whole_in_the_viewer(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash seq 1 5000")
    card = await person.ended("Bash", "partial")
    assert (await card.get_by_label("Output").inner_text()).split()[-1] == "5000"  # the last lines are what is seen
    await card.get_by_role("button", name="Whole output").click()
    whole = person.page.get_by_role("dialog").get_by_label("Text", exact=True)
    await expect(whole).to_contain_text("2500")
    assert (await whole.text_content() or "").split() == [str(number) for number in range(1, 5001)]
    await person.picture("cut-output")
    assert person.problems == []


async def test_a_sub_agent_in_the_background_stays_visible_until_it_ends_and_lends_its_name(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    started = call(1, "task", agent="child", prompt="Work.", description="slow work", background=True)
    wait = call(2, "Bash", command="echo begun; until [ -e go.txt ]; do sleep 0.05; done")
    gateway = gateway_with(Cast(parent=[[started], "I wait.", "All done."], child=[[wait], "Slowly done."]))
    (gateway.root / ".toolgate/agents").mkdir(parents=True)
    definition = "---\nname: child\ndescription: works.\n---\nI am child."
    (gateway.root / ".toolgate/agents/child.md").write_text(definition)
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Delegate.")
    card = person.page.locator("tg-card[data-kind=agent]").first
    await expect(card.locator("tg-card .live")).to_contain_text("begun")
    await expect(person.page.locator("tg-working").last).to_contain_text("Waiting for sub-agents in the background")
    await expect(card).to_have_attribute("data-state", "running")

    (gateway.root / "go.txt").touch()

    await expect(card).to_have_attribute("data-state", "success")
    notice = person.page.locator("tg-card[data-kind=agent]").nth(1)
    await expect(notice.locator(".head")).to_contain_text("slow work")
    await expect(notice.locator(".live")).to_have_text("Slowly done.")
    await person.idle()
    assert person.problems == []
