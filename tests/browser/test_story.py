"""The whole story of a session: signing in, tools, denials, and everything still there after a reload."""


from playwright.async_api import BrowserContext, expect

from tests.browser.kit import PATIENCE, Gateway, arrive


async def test_a_session_from_the_printed_link_to_a_reload(context: BrowserContext, gateway: Gateway) -> None:
    (gateway.root / "notes.txt").write_text("alpha\nbeta\n")
    person = await arrive(context, gateway)
    page = person.page
    assert "#" not in page.url.rstrip("#")
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
    await expect(person.card("read_file")).to_have_attribute("data-state", "error", timeout=PATIENCE)
    await expect(page.locator("tg-transcript .user")).to_have_count(2)
    await expect(page.locator("tg-card")).to_have_count(2)
    await expect(page.locator("tg-transcript")).to_have_text(before, use_inner_text=True)
    await expect(page.locator("#title")).to_have_text("Bash cat notes.txt")
    await person.picture("story")
    assert person.problems == []
