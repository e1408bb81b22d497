"""Takes the pictures of the page that the README shows: a scripted session, in a real browser, on a real project."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright, expect

from tests.browser.conftest import ARGUMENTS
from tests.browser.kit import PATIENCE, Gateway, arrive, window
from toolgate import ToolCall
from toolgate.models.base import ModelUsage
from toolgate.testing import ScriptedModel

IMAGES = Path(__file__).parents[1] / "docs" / "images"
VIEW: dict[str, Any] = {"viewport": {"width": 1120, "height": 780}, "device_scale_factor": 1.2}
FETCH = """import asyncio


async def fetch(client, url, retries=3, wait=1.0):
    for attempt in range(1, retries):
        try:
            return await client.get(url)
        except TimeoutError:
            await asyncio.sleep(wait * 2**attempt)
"""
ANSWER = """The loop counts the first attempt as a retry, so `retries=3` tries **twice**:

1. `range(1, retries)` has two members.
2. The wait doubles *before* the first retry.

I'd fix the range and leave the waiting alone.
"""


def _call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


def _model() -> ScriptedModel:
    items = [
        {"content": "Read the retry loop", "status": "completed"},
        {"content": "Fix the off-by-one", "status": "in_progress"},
        {"content": "Add the missing test", "status": "pending"},
    ]
    edit = {"old_string": "range(1, retries)", "new_string": "range(retries + 1)"}
    return ScriptedModel(
        [
            [
                "I'll look at the loop and at who calls it.",
                _call(1, "todo", items=items),
                _call(2, "grep", pattern="retries"),
            ],
            [
                _call(
                    3, "task", agent="explore", prompt="Find every caller of fetch().", description="callers of fetch()"
                )
            ],
            [_call(5, "grep", pattern="fetch\\(")],
            "One caller: `sync.py` passes `retries=3`.",
            [_call(4, "read_file", path="../settings.toml")],
            [ANSWER, _call(6, "edit_file", path="fetch.py", **edit), ModelUsage(input_tokens=4368, output_tokens=712)],
            "Done: it now tries as often as it says.",
        ]
    )


async def main() -> int:
    """One session: the question in the dark, the conversation in the light."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), _model())
        (gateway.root / "fetch.py").write_text(FETCH)
        (gateway.root / "sync.py").write_text(
            "from fetch import fetch\n\n\nasync def sync(c):\n    return await fetch(c, '/', retries=3)\n"
        )
        gateway.start()
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
                await _take(browser, gateway)
                await browser.close()
        finally:
            gateway.stop()
    return 0


async def _take(browser: Any, gateway: Gateway) -> None:
    async with window(browser, color_scheme="dark", reduced_motion="reduce", **VIEW) as context:
        person = await arrive(context, gateway)
        await person.begin("coding")
        await person.say("Why does fetch() give up so early? Fix it if that is a bug.")
        await person.asked()
        await person.page.screenshot(path=IMAGES / "page-question.png")
        await person.page.keyboard.press("a")
        await expect(person.said("Done: it now tries")).to_be_visible(timeout=PATIENCE)
        await person.idle()
        await person.page.emulate_media(color_scheme="light")
        await person.page.mouse.move(5, 5)
        await asyncio.sleep(0.3)
        await person.page.screenshot(path=IMAGES / "page-conversation.png")


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main()))
