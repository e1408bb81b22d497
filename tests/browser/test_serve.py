"""`toolgate serve` as people start it: the address that it prints opens the page."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from tests.browser.kit import Gateway, Person


async def test_the_printed_address_opens_the_page(context: BrowserContext, tmp_path: Path) -> None:
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "toolgate", "serve", "--root", str(tmp_path), "--port", "0", "--no-open"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/#\S+", line)
        assert found is not None, line
        person = Person(await context.new_page())
        await person.page.goto(found[0])
        await expect(person.page.locator(".link")).to_have_text("Connected")
        await person.page.get_by_role("button", name=re.compile("^current_time")).click()
        await person.page.keyboard.press("Enter")
        card = await person.ended("current_time", "success")
        await expect(card).to_contain_text("Asia/Shanghai")
        await person.picture("serve")
        assert person.problems == []
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_printed_address_works_in_a_tab_that_asks_for_a_token(
    context: BrowserContext, gateway: Gateway
) -> None:
    page = await context.new_page()
    await page.goto(gateway.address)
    await expect(page.get_by_placeholder("Token")).to_be_visible()
    await page.goto(gateway.link())

    await expect(page.locator(".link")).to_have_text("Connected")
    assert "#" not in page.url
