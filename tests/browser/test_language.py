"""The page speaks the person's language: that of the browser, or of the setting."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.kit import Gateway, arrive, window
from toolgate.language.table import table

SHOWN = """() => {
  const out = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) out.push(walk.currentNode.data.trim());
  for (const element of document.querySelectorAll("[aria-label], [title], [placeholder]"))
    for (const name of ["aria-label", "title", "placeholder"]) out.push(element.getAttribute(name) ?? "");
  return out.filter(Boolean);
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def chinese(browser: Browser) -> AsyncIterator[BrowserContext]:
    async with window(browser, locale="zh-CN") as context:
        yield context


async def in_english(page: Page) -> list[str]:
    """Texts of the page that have a Chinese translation and are shown in English all the same."""
    known = table("zh-CN", "page")
    return [text for text in await page.evaluate(SHOWN) if text in known and known[text] != text]


async def test_the_page_is_chinese_for_a_browser_that_asks_for_it(chinese: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(chinese, gateway, connected="已连接")
    page = person.page
    assert await page.evaluate("document.documentElement.lang") == "zh-CN"
    await expect(page.get_by_role("button", name="新会话")).to_be_enabled()
    await expect(page.locator("tg-empty h2")).to_have_text("我们在 project 中做什么？")
    await expect(page.locator(".link")).to_have_text("已连接")
    assert await in_english(page) == []
    await person.picture("chinese-start")
    assert person.problems == []


async def test_a_whole_turn_with_a_question_is_chinese(chinese: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(chinese, gateway, connected="已连接")
    page = person.page
    await page.locator(".mode-choice [value=coding] + span").click()
    field = page.get_by_role("textbox", name="消息")
    await field.fill("write_file path=notes.txt content=hello")
    await field.press("Enter")
    question = await person.asked()
    await expect(question.get_by_role("button", name="允许一次")).to_be_visible()
    assert await in_english(page) == []
    await person.picture("chinese-question")
    await question.get_by_role("button", name="允许一次").click()
    await person.ended("write_file", "success")
    await page.get_by_role("button", name="菜单", exact=True).click()
    await expect(page.get_by_role("menuitem", name="导出为 Markdown")).to_be_visible()
    await page.keyboard.press("Escape")
    if await page.locator(".bar .changes").get_attribute("aria-expanded") == "false":
        await page.locator(".bar .changes").click()
    await expect(page.get_by_role("tab", name="修改")).to_be_visible()
    assert await in_english(page) == []
    await person.picture("chinese-session")
    assert person.problems == []


async def test_why_a_command_asks_is_chinese(chinese: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(chinese, gateway, connected="已连接")
    page = person.page
    await page.locator(".mode-choice [value=coding] + span").click()
    field = page.get_by_role("textbox", name="消息")
    await field.fill("Bash rm -r build; git push because: it publishes")
    await field.press("Enter")
    question = await person.asked()
    await expect(question.locator(".labels")).to_contain_text("'rm'：它删除文件")
    await expect(question).to_contain_text("原因：它发布提交")
    await expect(question).to_contain_text("git push because: it publishes")
    assert person.problems == []


async def test_no_table_is_loaded_for_an_english_page(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await expect(person.page.get_by_role("button", name="New session")).to_be_enabled()
    assert await person.page.evaluate("document.documentElement.lang") == "en"
    assert [url for url in person.requests if "zh-CN" in url] == []


async def test_a_page_that_cannot_load_its_table_works_in_english(chinese: BrowserContext, gateway: Gateway) -> None:
    await chinese.route("**/zh-CN.js", lambda route: route.abort())
    person = await arrive(chinese, gateway)
    await person.page.locator(".mode-choice [value=coding] + span").click()
    await expect(person.page.get_by_text("Work on files").first).to_be_visible()


@pytest.mark.parametrize(("setting", "title"), [("zh-CN", "我们在 project 中做什么？"), ("en", None)])
async def test_the_setting_counts_more_than_the_browser(
    browser: Browser, gateway_with: Callable[..., Gateway], setting: str, title: str | None
) -> None:
    gateway = gateway_with(language=setting)
    async with window(browser, locale="en-US" if title else "zh-CN") as context:
        page = (await arrive(context, gateway, connected="已连接" if title else "Connected")).page
        await expect(page.locator("tg-empty h2")).to_have_text(title or "What are we working on in project?")
