"""G14: whatever a tool prints or a model writes is shown; nothing of it runs, loads or moves the page."""

import json
from collections.abc import Callable

from playwright.async_api import BrowserContext, expect

from tests.browser.kit import Gateway, Person, arrive
from toolgate import ToolCall
from toolgate.testing import ScriptedModel

PAYLOADS = [
    "<img src=x onerror=\"window.hit='img'\">",
    "<script>window.hit='script'</script>",
    "</script></pre></code></dialog><svg onload=\"window.hit='svg'\">",
    "<iframe srcdoc=\"<script>parent.hit='frame'</script>\"></iframe>",
    "<a href=\"javascript:window.hit='href'\">x</a>",
    "[click](javascript:window.hit='md')",
    "[click](data:text/html,<script>window.hit='data'</script>)",
    "![pixel](http://127.0.0.1:9/pixel.png)",
    "![pixel](data:image/svg+xml,<svg onload=alert(1)>)",
    "<style>body{display:none}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<form action=http://127.0.0.1:9/><button>go</button></form>",
    "{{constructor.constructor('window.hit=1')()}} ${window.hit='tpl'}",
]
WATCH = """
window.hit = null;
window.broken = [];
document.addEventListener("securitypolicyviolation", (event) => window.broken.push(event.violatedDirective));
"""


async def _arrive(context: BrowserContext, gateway: Gateway) -> Person:
    await context.add_init_script(WATCH)
    person = await arrive(context, gateway)
    person.page.on("dialog", lambda dialog: person.dialogs.append(dialog.message))
    return person


async def _unharmed(person: Person, gateway: Gateway) -> None:
    page = person.page
    assert await page.evaluate("window.hit") is None
    assert await page.evaluate("window.broken") == []
    assert person.dialogs == []
    assert [url for url in person.requests if not url.startswith(gateway.address)] == []
    assert (
        await page.locator("tg-transcript :is(img, script, iframe, style, link, form, object, base, meta)").count() == 0
    )
    assert (
        await page.locator("[onerror], [onload], [onclick], [style]:not([style=''])").evaluate_all(
            "all => all.map(e => e.outerHTML)"
        )
        == []
    )
    assert person.problems == []


async def test_g14_hostile_output_of_a_command_is_text(context: BrowserContext, gateway: Gateway) -> None:
    text = "\n".join(PAYLOADS)
    (gateway.root / "bad.txt").write_text(text)
    person = await _arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash cat bad.txt; cat bad.txt >&2")
    card = await person.ended("Bash", "success")
    await person.idle()
    await expect(card).to_contain_text(PAYLOADS[-1])
    await card.get_by_role("button", name="Whole output").click()
    whole = person.page.get_by_role("dialog").get_by_label("Text", exact=True)
    for payload in PAYLOADS:
        await expect(whole).to_contain_text(payload)
    assert (
        await person.page.locator("dialog :is(img, script, iframe, style, link, form, object, base, meta)").count() == 0
    )
    await person.page.keyboard.press("Escape")
    await card.get_by_role("button").first.click()
    await person.page.reload()
    card = await person.ended("Bash", "success")
    await expect(card).to_contain_text(PAYLOADS[-1])
    await person.picture("hostile-output")
    await _unharmed(person, gateway)


async def test_g14_hostile_words_of_a_model_are_text(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    pieces = [piece for payload in PAYLOADS for piece in (payload[:7], payload[7:], "\n\n")]
    gateway = gateway_with(ScriptedModel([[*pieces, "```html\n", *PAYLOADS, "\n```\n"]]))
    person = await _arrive(context, gateway)
    await person.begin()
    await person.say("".join(PAYLOADS))
    await person.idle()
    answer = person.page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text(PAYLOADS[0])
    for link in await answer.get_by_role("link").all():
        assert (await link.get_attribute("href") or "").startswith("http://127.0.0.1:9/")
        assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
    await _unharmed(person, gateway)


async def test_g14_hostile_names_arguments_and_questions_are_text(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    bad = "".join(PAYLOADS)
    items = [{"content": bad, "status": "pending"}]
    calls = [
        ToolCall(id="<img src=x onerror=alert(1)>", name=f"no{PAYLOADS[0]}", arguments=json.dumps({"x": bad})),
        ToolCall(id="2", name="todo", arguments=json.dumps({"items": items})),
        ToolCall(id="3", name="Bash", arguments=json.dumps({"command": f"rm -f '{PAYLOADS[1]}'"})),
        ToolCall(id="4", name="write_file", arguments=json.dumps({"path": "x.html", "content": bad})),
    ]
    gateway = gateway_with(ScriptedModel([calls, "Done."]))
    person = await _arrive(context, gateway)
    await person.begin("coding")
    await person.say("Go.")
    dialog = await person.asked()
    await expect(dialog).to_contain_text("<script>window.hit='script'</script>")
    await person.page.keyboard.press("w")
    await expect(dialog.get_by_label("The rule")).to_contain_text("<script>")
    await person.page.keyboard.press("Enter")
    await expect(dialog.get_by_role("heading")).to_contain_text("x.html")
    await person.asked()
    await person.picture("hostile-question")
    await person.page.keyboard.press("a")
    await person.idle()
    await expect(person.page.locator("tg-todos")).to_contain_text("<img src=x")
    await _unharmed(person, gateway)


async def test_g14_text_that_hides_reorders_or_floods(context: BrowserContext, gateway: Gateway) -> None:
    (gateway.root / "bad.txt").write_text("\x1b[31mred\x1b[0m a\u202eb\u2066c \x1b]0;title\x07end " + "x" * 300_000)
    person = await _arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash cat bad.txt")
    card = person.card("Bash")
    await expect(card).to_contain_text("red a⟨U+202E⟩b⟨U+2066⟩c end")
    await person.idle()
    shown = await card.locator(".live").inner_text()
    assert len(shown) < 60_000
    assert "more characters" in shown
    assert await person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await _unharmed(person, gateway)
