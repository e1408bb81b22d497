"""The page in a real browser: how much it is, how soon it can be used, and how smooth it stays under a flood."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

LINES = 10_000
SECONDS = 4.0
"""How long the flood takes."""
FRAMES = """
() => {
  window.frames_seen = [];
  window.watching = true;
  const see = (now) => {
    window.frames_seen.push(now);
    if (window.watching) requestAnimationFrame(see);
  };
  requestAnimationFrame(see);
}
"""
READY = """
() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("ready")) resolve(entry.startTime);
  }).observe({type: "mark", buffered: true});
})
"""
EMPTY = "<!doctype html><title>.</title><script>performance.mark('ready')</script>"


COMMAND = f"for i in $(seq 1 100); do seq -f 'line %g of the output' {LINES // 100}; sleep {SECONDS / 100}; done"


class _Flood:
    """A model that writes many lines, evenly over some seconds, or runs a command that does."""

    name = "flood"

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        from toolgate import ToolCall

        last = request.messages[-1]
        if last["role"] == "tool":
            yield "Done."
            return
        if last["content"] == "10,000 lines of output":
            yield ToolCall(id="c1", name="Bash", arguments=json.dumps({"command": COMMAND}))
            return
        begin = asyncio.get_running_loop().time()
        yield "A list of everything:\n\n```\n"
        for number in range(0, LINES, 20):
            yield "".join(f"{number + line}: some words that stand in a line\n" for line in range(20))
            behind = begin + SECONDS * number / LINES - asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, behind))
        yield "```\n"


class Stage:
    """A browser and a gateway."""

    def __init__(self, page: Any, gateway: Any, close: Callable[[], Awaitable[None]]) -> None:
        self.page = page
        self.gateway = gateway
        self.close = close


async def ours() -> Stage:
    """The page, signed in."""
    from playwright.async_api import async_playwright

    from tests.browser.conftest import ARGUMENTS
    from tests.browser.kit import Gateway, arrive, window

    folder = tempfile.TemporaryDirectory()
    gateway = Gateway(Path(folder.name), _Flood())
    gateway.start()
    playwright = await async_playwright().start()
    browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
    opened = window(browser)
    person = await arrive(await opened.__aenter__(), gateway)

    async def close() -> None:
        await opened.__aexit__(None, None, None)
        await browser.close()
        await playwright.stop()
        gateway.stop()
        folder.cleanup()

    return Stage(person, gateway, close)


async def empty() -> Stage:
    """The same browser and gateway with a page that has nothing on it."""
    stage = await ours()
    await stage.page.page.route(
        f"{stage.gateway.address}*", lambda route: route.fulfill(body=EMPTY, content_type="text/html")
    )
    return stage


async def setup(make: Callable[[], Awaitable[Stage]]) -> Stage:
    """Start one contender."""
    stage = await make()
    stage.is_empty = make is empty  # type: ignore[attr-defined]
    return stage


async def measure(stage: Stage, case: str) -> Sample:
    """One load, or one flood."""
    return await (_load(stage) if case == "load" else _flood(stage, case))


async def _load(stage: Stage) -> Sample:
    """A load with nothing cached, up to the point where everything that is on the page can be used."""
    page = stage.page.page
    session = await page.context.new_cdp_session(page)
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await page.goto(stage.gateway.address)
    milliseconds = await page.evaluate(READY)
    if not stage.is_empty:  # type: ignore[attr-defined]
        assert await page.get_by_role("textbox").first.is_visible()
    sizes = await page.evaluate(
        "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
        ".map(entry => entry.encodedBodySize)"
    )
    return Sample(value=milliseconds, extra={"ms": milliseconds, "kB": sum(sizes) / 1000})


async def _flood(stage: Stage, case: str) -> Sample:
    person, page = stage.page, stage.page.page
    await page.goto(stage.gateway.address)
    if stage.is_empty:  # type: ignore[attr-defined]
        await page.evaluate(FRAMES)
        await asyncio.sleep(SECONDS)
        return await _smoothness(page)
    await person.begin("coding")
    await page.evaluate(FRAMES)
    await person.say(case)
    await page.get_by_role("button", name="Stop", exact=True).wait_for(state="visible")
    await person.idle()
    sample = await _smoothness(page)
    assert await _lines(page, case) == LINES
    return sample


async def _lines(page: Any, case: str) -> int:
    """How many lines of the flood the page has: in the message, or in the viewer of the command's whole output."""
    if case == "10,000 lines of text":
        return int((await page.locator("tg-transcript pre").first.text_content()).count("\n"))
    await page.get_by_role("button", name="Whole output").click()
    text = page.get_by_role("dialog").get_by_label("Text", exact=True)
    await text.locator(".piece").first.wait_for()
    return int((await text.text_content()).count(" of the output"))


async def _smoothness(page: Any) -> Sample:
    seen = await page.evaluate("(window.watching = false, window.frames_seen)")
    gaps = sorted(after - before for before, after in pairwise(seen))
    mean = sum(gaps) / len(gaps)
    return Sample(
        value=mean,
        extra={
            "ms a frame": mean,
            "frames a second": 1000 / mean,
            "worst ms": gaps[-1],
            "99 % ms": gaps[int(len(gaps) * 0.99)],
        },
    )


PAGE = Bench(
    name="page",
    unit="ms until it can be used, or ms a frame",
    cases=["load", "10,000 lines of text", "10,000 lines of output"],
    floor="empty page",
    contenders={"empty page": empty, "toolgate": ours},
    setup=setup,
    measure=measure,
    rounds=3,
    targets=[
        Target(contender="toolgate", case="load", at_most=90, extra="kB"),
        Target(contender="toolgate", case="load", at_most=200, extra="ms"),
        Target(contender="toolgate", case="10,000 lines of text", at_most=1.05),
        Target(contender="toolgate", case="10,000 lines of output", at_most=1.05),
    ],
)
