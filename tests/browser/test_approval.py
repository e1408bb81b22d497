"""Asking a person: the keyboard answers, the first answer counts, and nobody allows what they have not seen."""

import asyncio
import json
import re
from collections.abc import Callable

from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.kit import PATIENCE, Gateway, Hold, arrive, window
from toolgate import ToolCall
from toolgate.testing import ScriptedModel


def bash(number: int, command: str) -> ToolCall:
    return ToolCall(id=f"c{number}", name="Bash", arguments=json.dumps({"command": command}))


MODE_OF = """([token, session_id]) => new Promise((resolve) => {
  const socket = new WebSocket(`ws://${location.host}/ws`, [`toolgate.bearer.${token}`]);
  const request = {type: "request", id: 1, method: "session.get", params: {session_id}};
  socket.onopen = () => socket.send(JSON.stringify(request));
  socket.onmessage = (event) => { resolve(JSON.parse(event.data).data); socket.close(); };
})"""


async def test_a_allows_and_the_difference_is_coloured(context: BrowserContext, gateway: Gateway) -> None:
    file = gateway.root / "a.txt"
    file.write_text("old line\n--- not a header\n")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say('edit_file {"path": "a.txt", "old_string": "old line", "new_string": "new line"}')
    dialog = await person.asked()
    await expect(dialog.get_by_role("heading")).to_contain_text("a.txt")
    await expect(dialog.locator(".removed")).to_have_text("-old line\n")
    await expect(dialog.locator(".added")).to_have_text("+new line\n")
    await expect(dialog.get_by_role("timer")).to_contain_text("denied in 9:")
    await expect(person.page).to_have_title("(1) Permission needed · Toolgate")
    await person.picture("approval-diff")
    await person.page.keyboard.press("a")
    await person.ended("edit_file", "success")
    await expect(dialog).to_have_count(0)
    assert file.read_text() == "new line\n--- not a header\n"
    await expect(person.page).to_have_title(re.compile(r"^edit_file .* · Toolgate$"))
    assert person.problems == []


async def test_d_denies_with_a_reason_that_the_model_reads(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel([[bash(1, "rm keep.txt")], "As you wish."])
    gateway = gateway_with(model)
    (gateway.root / "keep.txt").write_text("")
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Tidy up.")
    dialog = await person.asked()
    await expect(dialog.get_by_label("What would run")).to_contain_text("rm keep.txt")
    await person.page.keyboard.press("d")
    await expect(dialog.get_by_label("Reason")).to_be_focused()
    await person.page.keyboard.type("adding docs is wanted")  # an a and a d in the field answer nothing
    await person.picture("approval-deny")
    await person.page.keyboard.press("Enter")
    card = await person.ended("Bash", "denied")
    await expect(card).to_contain_text("adding docs is wanted")
    await person.idle()
    assert "adding docs is wanted" in model.requests[1].messages[-1]["content"]
    assert (gateway.root / "keep.txt").exists()


async def test_always_shows_the_rule_first_and_asks_no_more(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    model = ScriptedModel([[bash(1, "rm -f x.tmp")], "Once.", [bash(2, "rm -f x.tmp")], "Twice."])
    person = await arrive(context, gateway_with(model))
    await person.begin("coding")
    await person.say("Go.")
    dialog = await person.asked()
    await person.page.keyboard.press("w")
    await expect(dialog.get_by_label("The rule")).to_contain_text('allow exactly Bash {"command": "rm -f x.tmp"}')
    await expect(person.card("Bash")).to_have_attribute("data-state", "waiting")
    await person.page.keyboard.press("Escape")  # back, not away
    await expect(dialog.get_by_role("button", name="Allow once")).to_be_visible()
    await person.page.keyboard.press("w")
    await expect(dialog.get_by_role("button", name="Allow always")).to_be_focused()
    await person.page.keyboard.press("Enter")
    await expect(person.said("Once.")).to_be_visible()
    await person.idle()
    await person.say("Again.")
    await expect(person.said("Twice.")).to_be_visible()
    await expect(person.page.locator("tg-card[data-state=success]")).to_have_count(2)


async def test_escape_puts_it_aside_and_the_card_brings_it_back(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash rm -f x.tmp")
    dialog = await person.asked()
    await person.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    card = person.card("Bash")
    await expect(card).to_have_attribute("data-state", "waiting")
    await person.page.get_by_role("button", name="A question waits for your answer").click()
    await person.asked()
    await person.page.keyboard.press("Escape")
    await person.page.reload()  # and it is asked again
    await person.asked()
    await person.page.keyboard.press("Escape")
    await card.get_by_role("button", name="Review").click()
    await person.asked()
    await person.page.keyboard.press("a")
    await person.ended("Bash", "success")


async def test_answered_elsewhere_it_goes_away(context: BrowserContext, gateway: Gateway) -> None:
    one = await arrive(context, gateway)
    await one.begin("coding")
    await one.say("Bash rm -f x.tmp")
    two = await arrive(context, gateway, link=False)
    await two.page.goto(await one.began())
    dialog = await one.asked()
    await two.asked()
    await two.page.bring_to_front()
    await two.page.keyboard.press("d")
    await two.page.keyboard.type("not today")
    await two.page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    await expect(one.card("Bash")).to_contain_text("not today")
    assert (one.problems, two.problems) == ([], [])


async def test_stopping_withdraws_the_question(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash rm -f x.tmp")
    dialog = await person.asked()
    await person.page.keyboard.press("Escape")
    await person.page.get_by_role("button", name="Stop", exact=True).click()
    await person.ended("Bash", "cancelled")
    await expect(dialog).to_have_count(0)
    await expect(person.page).to_have_title("Bash rm -f x.tmp · Toolgate")
    await expect(person.card("Bash").get_by_role("button", name="Review")).to_have_count(0)


async def test_the_deadline_denies(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    person = await arrive(context, gateway_with(approval_timeout=2.0))
    await person.begin("coding")
    await person.say("Bash rm -f x.tmp")
    card = await person.ended("Bash", "denied")
    await expect(person.page.get_by_role("log")).to_contain_text("Permission needed: Run: rm -f x.tmp")
    await expect(card).to_contain_text("in time")
    await expect(person.page.locator("section.approval")).to_have_count(0)


async def test_whoever_is_typing_is_not_interrupted(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    person = await arrive(context, gateway_with(ScriptedModel([[hold, bash(1, "rm -f x.tmp")], "Done."])))
    await person.begin("coding")
    await person.say("Go.")
    field = person.page.get_by_role("textbox", name="Message")
    await field.press_sequentially("a", delay=50)
    hold.release()
    for _ in range(20):  # the question comes now; every key still goes into the field
        await person.page.keyboard.type("a")
        if await person.card("Bash").count():
            break
    await person.page.keyboard.type("ad")
    await expect(person.card("Bash")).to_have_attribute("data-state", "waiting")
    question = await person.asked()
    assert (await field.input_value()).endswith("ad")
    await person.page.keyboard.type("a")  # the field keeps its keys for as long as there is text in it
    assert (await field.input_value()).endswith("ada")
    await expect(person.card("Bash")).to_have_attribute("data-state", "waiting")
    await person.page.keyboard.press("Escape")  # leads to the question, and stops nothing
    await expect(question.get_by_role("heading")).to_be_focused()
    await person.page.keyboard.press("a")
    await person.ended("Bash", "success")


async def test_a_sub_agent_asks_under_its_name(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    work = {"agent": "general", "prompt": "Tidy up.", "description": "tidying"}
    task = ToolCall(id="t1", name="task", arguments=json.dumps(work))
    model = ScriptedModel([[task], [bash(1, "rm -f x.tmp")], "Tidied.", "All done."])
    person = await arrive(context, gateway_with(model))
    await person.begin("coding")
    await person.say("Have it tidied.")
    dialog = await person.asked()
    await expect(dialog).to_contain_text("Sub-agent general asks")
    inner = person.page.locator("tg-card tg-card")
    await expect(inner).to_have_attribute("data-state", "waiting")
    await person.page.keyboard.press("Escape")
    await inner.get_by_role("button", name="Review").click()
    await person.asked()
    await person.page.keyboard.press("a")
    await expect(inner).to_have_attribute("data-state", "success")
    await person.idle()
    await person.picture("sub-agent-asks")
    assert person.problems == []


async def test_a_key_that_comes_with_the_question_answers_nothing(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.page.evaluate(
        """() => {
          const press = () => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", {key: "a", bubbles: true, cancelable: true}));
          window.pressed = 0;
          new MutationObserver(() => {
            if (!document.querySelector("section.approval") || window.pressed) return;
            window.pressed = 1;
            press();
          }).observe(document.querySelector("tg-chat"), {attributes: true, subtree: true, childList: true});
        }"""
    )
    await person.say("Bash rm -f x.tmp")
    await person.asked()
    assert await person.page.evaluate("window.pressed") == 1
    await expect(person.card("Bash")).to_have_attribute("data-state", "waiting")
    await person.page.keyboard.press("a")
    await person.ended("Bash", "success")


async def test_a_question_is_answered_with_a_number_or_a_text(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    def ask(question: str) -> ToolCall:
        arguments = json.dumps({"question": question, "options": ["SQLite", "PostgreSQL"]})
        return ToolCall(id=question, name="ask_user", arguments=arguments)

    model = ScriptedModel([[ask("Which database?")], [ask("Which cache?")], [ask("Which queue?")], "Thanks."])
    person = await arrive(context, gateway_with(model))
    await person.begin("coding")
    await person.say("Choose.")
    dialog = await person.asked("Which database?")
    await expect(dialog).to_contain_text("The model asks")
    await expect(dialog.locator(".deadline")).to_contain_text("answer within")
    await expect(person.page.locator("tg-working")).to_contain_text("Waiting for your answer")
    await person.page.keyboard.press("a")  # nothing to allow
    await person.picture("approval-question")
    await person.page.keyboard.press("2")
    dialog = await person.asked("Which cache?")
    await dialog.get_by_label("Your answer").fill("DuckDB, number 2")
    await person.page.keyboard.press("Enter")
    await person.asked("Which queue?")
    await person.page.keyboard.press("d")
    await person.page.keyboard.type("you choose")
    await person.page.keyboard.press("Enter")
    await person.idle()
    answers = [request.messages[-1]["content"] for request in model.requests[1:]]
    assert answers[:2] == ["The user answered: PostgreSQL", "The user answered: DuckDB, number 2"]
    assert "you choose" in answers[2]
    cards = person.page.locator("tg-card[data-kind=question]")
    await expect(cards.nth(0)).to_contain_text("Question")
    await expect(cards.nth(0).locator(".answer")).to_have_text("PostgreSQL")
    await expect(cards.nth(2).locator(".verdict")).to_contain_text("Not answered.")
    assert person.problems == []


async def test_a_long_option_of_a_question_has_a_row_of_its_own_on_a_phone(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    options = ["Short", "A long option " * 10 + "that takes several lines"]
    ask = ToolCall(id="q", name="ask_user", arguments=json.dumps({"question": "Which?", "options": options}))
    person = await arrive(context, gateway_with(ScriptedModel([[ask], "Thanks."])))
    await person.page.set_viewport_size({"width": 390, "height": 800})
    await person.say("Choose.")
    dialog = await person.asked("Which?")
    boxes = [await dialog.get_by_role("button", name=name[:10]).bounding_box() for name in options]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert (boxes[0]["x"], boxes[0]["width"]) == (boxes[1]["x"], boxes[1]["width"])
    text = await dialog.get_by_role("button", name=options[1][:10]).evaluate(
        "button => { const range = document.createRange(); range.selectNodeContents(button.firstChild);"
        " return range.getBoundingClientRect().top - button.getBoundingClientRect().top }"
    )
    assert text >= 4  # the words keep a distance from the border


async def test_a_plan_is_edited_and_accepted_into_the_mode_that_the_person_picks(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    plan = ToolCall(id="p1", name="propose_plan", arguments=json.dumps({"plan": "1. Read\n2. Write `a.txt`"}))
    write = ToolCall(id="w1", name="write_file", arguments=json.dumps({"path": "a.txt", "content": "done\n"}))
    model = ScriptedModel([[plan], [write], "Written."])
    gateway = gateway_with(model)
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    await page.get_by_role("button", name="Approval: Ask first").click()
    menu = page.get_by_role("menu", name="When you are asked")
    await expect(menu).to_contain_text("Nothing changes; the model proposes a plan")
    await menu.get_by_role("menuitemradio", name="Plan first").click()
    await person.say("Write it.")
    dialog = await person.asked()
    await expect(dialog.get_by_role("heading")).to_have_text("The model proposes a plan")
    await expect(dialog).to_contain_text("The model asks")
    await expect(dialog.locator(".risk")).to_have_count(0)
    await expect(person.card("propose_plan")).to_contain_text("Proposes a plan")
    await person.picture("approval-plan")
    heights = await dialog.locator(".choices > button").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert len(set(heights)) == 1  # none of them is stretched
    await page.keyboard.press("e")
    await dialog.get_by_label("The plan").fill("1. Write `a.txt` at once")
    await dialog.get_by_label("How to go on").select_option("accept_edits")
    await dialog.get_by_role("button", name="Accept the plan").click()
    await expect(person.said("Written.")).to_be_visible()
    assert (gateway.root / "a.txt").read_text() == "done\n"  # without another question
    assert "1. Write `a.txt` at once" in model.requests[1].messages[-1]["content"]
    await expect(page.get_by_role("button", name="Approval: Accept edits")).to_be_visible()
    assert person.problems == []


async def test_two_browsers_that_switch_the_approval_mode_show_the_last_switch(
    browser: Browser, gateway: Gateway
) -> None:
    async with window(browser) as one, window(browser) as two:
        first, second = await arrive(one, gateway), await arrive(two, gateway)
        await first.begin("coding")
        await first.say("current_time")
        await first.idle()
        await second.page.goto(await first.began())
        await expect(second.card("current_time")).to_have_count(1)
        modes = [(first, "Plan first"), (second, "Accept edits")]
        for person, _ in modes:
            await person.page.get_by_role("button", name="Approval:").click()
        clicks = [person.page.get_by_role("menuitemradio", name=name).click() for person, name in modes]
        await asyncio.gather(*clicks)
        shown = "document.querySelector('.approval-mode').dataset.mode"
        async with asyncio.timeout(PATIENCE / 1000):
            while True:
                now = {await person.page.evaluate(shown) for person, _ in modes}
                session = first.page.url.rpartition("/")[2]
                answer = await first.page.evaluate(MODE_OF, [gateway.token, session])
                stored = answer["approval_mode"]
                if now == {stored} and stored in ("plan", "accept_edits"):
                    break
                await asyncio.sleep(0.05)
        assert first.problems == second.problems == []
