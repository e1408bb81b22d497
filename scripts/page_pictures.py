"""Takes the pictures of the page that the README shows: scripted sessions in a real browser on the demo project."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import Browser, async_playwright, expect

from tests.browser.conftest import ARGUMENTS
from tests.browser.kit import PATIENCE, Gateway, Hold, Person, arrive, window
from toolgate import ToolCall
from toolgate.models.base import ModelUsage
from toolgate.testing import ScriptedModel

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
LARGE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
SMALL: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
FILM: dict[str, Any] = {"viewport": {"width": 1000, "height": 680}}
TESTS = "python3 -m unittest -q"
ANSWER = """`discounted()` compares with `>`, so an order of **exactly** 10.00 gets no discount:

| order | today | with `>=` |
|---|---|---|
| 9.99 | 9.99 | 9.99 |
| 10.00 | 10.00 | 9.00 |

I'll change the comparison and run the tests again.
"""


class Demo:
    """The demo project, its gateway, and a model that finds and mends its fault."""

    def __init__(self, folder: Path) -> None:
        self.thinking = Hold()
        os.environ["HOME"] = str(folder)  # the page shows ~/shop
        self.gateway = Gateway(folder, ScriptedModel(self._turns()), project="shop")
        self.gateway.root.rmdir()
        environment = {**os.environ, "TOOLGATE_DEMO": str(self.gateway.root)}
        subprocess.run([HERE / "demo_project.sh"], env=environment, check=True, stdout=subprocess.DEVNULL)

    def _turns(self) -> list[Any]:
        begun, done = _items("completed", "in_progress", "pending"), _items("completed", "completed", "completed")
        edit = {"old_string": "total > DISCOUNT_FROM", "new_string": "total >= DISCOUNT_FROM"}
        return [
            [self.thinking, "I'll run the tests first.", _call(1, "Bash", command=TESTS)],
            [
                _call(2, "todo", items=begun),
                _call(3, "grep", pattern="DISCOUNT"),
                _call(4, "read_file", path="README.md"),
            ],
            [_call(5, "read_file", path="shop/prices.py")],
            [ANSWER, _call(6, "edit_file", path="shop/prices.py", **edit)],
            [_call(7, "Bash", command=TESTS)],
            [_call(8, "todo", items=done)],
            ["All tests pass: an order of exactly 10.00 now gets its discount.", ModelUsage(input_tokens=9120)],
        ]


def _items(*statuses: str) -> list[dict[str, str]]:
    contents = ("Run the tests", "Find the cause", "Mend it")
    return [{"content": content, "status": status} for content, status in zip(contents, statuses, strict=True)]


def _call(number: int, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))


class Film:
    """Pictures of a page, each with the time that it is shown."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._frames: list[tuple[Image.Image, int]] = []

    async def frame(self, milliseconds: int) -> None:
        """Add what can be seen now."""
        picture = await self._person.page.screenshot()
        self._frames.append((Image.open(io.BytesIO(picture)), milliseconds))

    def save(self, path: Path) -> None:
        """Write the animation."""
        (first, _), *rest = self._frames
        shown = [milliseconds for _, milliseconds in self._frames]
        first.save(
            path,
            save_all=True,
            append_images=[image for image, _ in rest],
            duration=shown,
            loop=0,
            quality=70,
            method=6,
        )


async def _film(browser: Browser) -> None:
    """A whole session: a question, the tests, an approval, the change, the tests again."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(Path(folder) / "film")
        demo.gateway.start()
        try:
            async with window(browser, reduced_motion="reduce", **FILM) as context:
                person = await arrive(context, demo.gateway)
                film = Film(person)
                await person.begin("coding")
                await expect(person.page.get_by_text("What are we working on in shop?")).to_be_visible(timeout=PATIENCE)
                await film.frame(1200)
                field = person.page.get_by_role("textbox", name="Message")
                await field.fill("One of the tests fails. Find out why and fix it.")
                await film.frame(1200)
                await field.press("Enter")
                await expect(person.page.get_by_text("Thinking")).to_be_visible(timeout=PATIENCE)
                await film.frame(900)
                demo.thinking.release()
                await person.asked()
                await film.frame(2500)
                await person.page.keyboard.press("a")
                await expect(person.said("All tests pass")).to_be_visible(timeout=PATIENCE)
                await person.idle()
                await film.frame(3500)
                film.save(IMAGES / "page-session.webp")
        finally:
            demo.gateway.stop()


async def _pictures(browser: Browser) -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(Path(folder) / "pictures")
        demo.thinking.release()
        demo.gateway.start()
        try:
            async with window(browser, color_scheme="light", reduced_motion="reduce", **LARGE) as context:
                person = await arrive(context, demo.gateway)
                await person.begin("coding")
                await expect(person.page.get_by_text("What are we working on in shop?")).to_be_visible(timeout=PATIENCE)
                await person.page.screenshot(path=IMAGES / "page-start.png")
                await person.say("One of the tests fails. Find out why and fix it.")
                await person.asked()
                await person.page.emulate_media(color_scheme="dark")
                await asyncio.sleep(0.5)  # colours fade
                await person.page.screenshot(path=IMAGES / "page-question.png")
                await person.page.emulate_media(color_scheme="light")
                await person.page.keyboard.press("a")
                await expect(person.said("All tests pass")).to_be_visible(timeout=PATIENCE)
                await person.idle()
                await asyncio.sleep(0.5)
                await person.page.screenshot(path=IMAGES / "page-conversation.png")
                address = person.page.url
            async with window(browser, color_scheme="light", reduced_motion="reduce", **SMALL) as context:
                person = await arrive(context, demo.gateway)
                await person.page.goto(address)
                await expect(person.said("All tests pass")).to_be_visible(timeout=PATIENCE)
                await person.page.screenshot(path=IMAGES / "page-phone.png")
        finally:
            demo.gateway.stop()


async def main() -> int:
    """Take all pictures."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        await _pictures(browser)
        await _film(browser)
        await browser.close()
    return 0


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    sys.exit(asyncio.run(main()))
