"""The page's modules, one fact each, in the browser that runs them."""

import json
from typing import Any

import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.kit import Gateway, arrive


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext, gateway: Gateway) -> Page:
    page = (await arrive(context, gateway)).page
    await page.goto(f"{gateway.address}?modules")
    await expect(page.locator(".link")).to_have_text("Connected")
    return page


async def run(page: Page, module: str, code: str) -> Any:
    """The value of an expression about a module, `m`."""
    return await page.evaluate(f"async () => {{ const m = await import('/static/{module}.js'); return {code}; }}")


async def test_words_and_numbers(page: Page) -> None:
    cases = {
        "m.duration(0.4)": "0 ms",
        "m.duration(340)": "340 ms",
        "m.duration(1234)": "1.2 s",
        "m.duration(125000)": "2:05",
        "m.clock(7000)": "0:07",
        "m.clock(3723000)": "1:02:03",
        "m.clock(-5)": "0:00",
        "m.number(1234567)": "1,234,567",
        "m.clipped('abcdef', 3)": "abc … 3 more characters",
        "m.clipped('abc', 3)": "abc",
        "m.day(Date.now() / 1000)": "Today",
        "m.day(Date.now() / 1000 - 86400)": "Yesterday",
        "m.day(0)": "January 1970",
        "m.brief({command: 'ls  -l\\n x', access: 'read'})": "ls -l x",
        "m.brief('not JSON')": "not JSON",
        "m.brief({})": "",
        "m.brief({items: [1, 2]})": "2 items",
        "m.brief({a: 1, b: 'x'})": "a=1 b=x",
    }
    got = {code: await run(page, "text", code) for code in cases}
    assert got == cases


async def test_text_shows_what_it_is_as_on_the_server(page: Page) -> None:
    from toolgate.gateway.markdown import plain

    texts = [
        "a\x1b[31mb\x1b[0m",
        "\x1b]0;t\x07x",
        "a\u202eb",
        "\u200b\u200e\ufeff",
        "a\r\nb\rc",
        "\x00\x07\x7f\x9b",
        "tab\tok\n",
        "\U000e0041x",
        "é漢字🙂",
    ]
    got = await page.evaluate(
        "async (texts) => { const m = await import('/static/text.js'); return texts.map(m.visible); }", texts
    )
    assert got == [plain(text) for text in texts]


async def test_a_difference_is_coloured_by_its_hunks_not_by_its_text(page: Page) -> None:
    text = (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- looks like a header\n+++ so does this\n same\nafter the hunk\n"
    )
    got = await run(
        page,
        "diff",
        f"[...m.diff({json.dumps(text)}).children].map(row => [row.className, row.dataset.n ?? null, row.textContent])",
    )
    assert got == [
        ["same", "1", " same\n"],
        ["removed", "2", "--- looks like a header\n"],
        ["added", "2", "+++ so does this\n"],
        ["same", "3", " same\n"],
        ["hunk", None, "after the hunk\n"],
    ]


async def test_a_long_difference_says_how_much_more_there_is(page: Page) -> None:
    lines = "".join(f"+line {number}\n" for number in range(1, 101))
    text = f"--- /dev/null\n+++ b/x\n@@ -0,0 +1,100 @@\n{lines}"
    got = await run(
        page,
        "diff",
        f"""(() => {{
          const place = m.diff({json.dumps(text)}, 20);
          const before = [place.querySelectorAll(".added").length, place.querySelector("button").textContent];
          place.querySelector("button").click();
          return [...before, place.querySelectorAll(".added").length, place.querySelectorAll("button").length];
        }})()""",
    )
    assert got == [17, "Show all 103 lines", 100, 0]


async def test_values_are_outlined_for_people(page: Page) -> None:
    cases = {
        "m.outline({a: 1, b: 'x'})": "a: 1\nb: x",
        "m.outline({a: {b: true}, c: [1, {d: null}]})": "a:\n  b: yes\nc:\n  - 1\n  - d: none",
        "m.outline({})": "none",
        "m.tail('a\\nb\\nc\\n', 2)": {"shown": "b\nc", "left": 1},
    }
    assert {code: await run(page, "text", code) for code in cases} == cases


async def test_output_keeps_the_last_lines_and_counts_the_others(page: Page) -> None:
    await run(
        page,
        "output",
        """(() => {
          const output = document.querySelector(".dock .column").appendChild(new m.Output());
          const add = (stream, text, dropped = 0) => output.add({stream, text, dropped});
          for (let line = 1; line <= 5000; line += 1) add("stdout", `line ${line}\\n`);
          add("stderr", "no end", 7);
          output.close();
        })()""",
    )
    pane = page.get_by_role("group", name="Output")
    await expect(pane).to_contain_text("no end")
    text = await pane.text_content() or ""
    lines = text.splitlines()
    assert lines[-3:] == ["line 5000", "… 7 characters were left out", "no end"]
    assert len(lines) == 12
    note = await page.locator("tg-output .note").text_content() or ""
    assert int(note.split()[0].replace(",", "")) + len(lines) == 5_002
    kept = await page.locator("tg-output").evaluate("output => output.text.split('\\n')")
    assert 1_000 <= len(kept) <= 1_001
    assert kept[-3:] == lines[-3:]


async def test_html_goes_in_by_one_way_only(page: Page) -> None:
    refused = await page.evaluate(
        """() => ["innerHTML", "outerHTML"].map((way) => {
          const element = document.createElement("p").appendChild(document.createElement("b"));
          try { element[way] = "<i>x</i>"; return "taken"; } catch (error) { return error.name; }
        })"""
    )
    assert refused == ["TypeError", "TypeError"]


async def test_a_wire_that_breaks_is_tried_again_ever_more_slowly(page: Page) -> None:
    waits = await page.evaluate(
        """async () => {
          const { Wire } = await import("/static/wire.js");
          const times = [];
          const wire = new Wire(() => {
            const socket = new EventTarget();
            times.push(performance.now());
            setTimeout(() => socket.dispatchEvent(new CloseEvent("close", {code: 1006})));
            return socket;
          });
          wire.open();
          while (times.length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
          wire.close();
          return times.slice(1).map((time, place) => time - times[place]);
        }"""
    )
    assert waits[0] >= 180
    assert waits[1] >= 370
    assert waits[2] >= 740
