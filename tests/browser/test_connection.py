"""Connections break and gateways restart: nothing is lost, nothing is shown twice."""

import asyncio
from collections.abc import Callable

from playwright.async_api import BrowserContext, expect

from tests.browser.kit import Gateway, Hold, arrive
from toolgate.testing import ScriptedModel


async def test_a_break_in_the_middle_of_a_turn(context: BrowserContext, gateway_with: Callable[..., Gateway]) -> None:
    first, second = Hold(), Hold()
    model = ScriptedModel([["The first *half*,", first, " and the", second, " second half."]])
    gateway = gateway_with(model)
    person = await arrive(context, gateway)
    await person.begin()
    await person.say("Go on.")
    answer = person.page.get_by_role("article", name="Answer")
    await expect(answer).to_contain_text("The first half,")
    gateway.drop_connections()
    first.release()
    await expect(answer).to_have_text("The first half, and the")
    second.release()
    await person.idle()
    await expect(answer).to_have_text("The first half, and the second half.")
    await expect(person.page.get_by_role("article")).to_have_count(2)
    assert person.problems == []


async def test_a_restart_of_the_gateway(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash echo before")
    await person.ended("Bash", "success")
    await person.idle()
    gateway.stop()
    await expect(person.page.locator(".banner")).to_contain_text("connection is lost")
    await expect(person.page.get_by_role("button", name="Send")).to_be_disabled()
    await person.picture("no-connection")
    gateway.start()
    await expect(person.page.locator(".link")).to_have_text("Connected")
    await expect(person.page.locator(".banner")).to_be_hidden()
    await person.say("Bash echo after")
    await expect(person.page.locator("tg-card[data-state=success]")).to_have_count(2)
    await expect(person.page.locator(".user p")).to_have_text(["Bash echo before", "Bash echo after"])


async def test_a_turn_that_a_restart_interrupts_says_so(
    context: BrowserContext, gateway_with: Callable[..., Gateway]
) -> None:
    hold = Hold()
    gateway = gateway_with(ScriptedModel([["Half an answer", hold], "A whole one."]))
    person = await arrive(context, gateway)
    await person.begin()
    await person.say("Go.")
    await expect(person.said("Half an answer")).to_be_visible()
    await asyncio.to_thread(gateway.stop)
    await asyncio.to_thread(gateway.start)
    await expect(person.page.locator(".link")).to_have_text("Connected")
    await person.idle()
    await expect(person.page.locator("tg-transcript > .notice")).to_have_count(1)
    await person.say("Again.")
    await expect(person.said("A whole one.")).to_be_visible()
    await expect(person.said("Half an answer")).to_have_count(1)


async def test_two_tabs_show_the_same(context: BrowserContext, gateway: Gateway) -> None:
    one = await arrive(context, gateway)
    await one.begin("coding")
    await one.say("Bash echo from one")
    two = await arrive(context, gateway, link=False)
    await two.page.goto(await one.began())
    await two.ended("Bash", "success")
    await two.idle()
    await two.say("Bash echo from two")
    await expect(one.page.locator("tg-card[data-state=success]")).to_have_count(2)
    await one.idle()
    await two.idle()
    texts = [await tab.page.locator("tg-transcript .user p").all_text_contents() for tab in (one, two)]
    assert texts == [["Bash echo from one", "Bash echo from two"]] * 2
    assert (one.problems, two.problems) == ([], [])


async def test_stop_ends_a_sleep(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash echo started; sleep 300")
    await expect(person.card("Bash")).to_contain_text("started")
    await expect(person.page.get_by_role("timer")).to_be_visible()
    await person.page.get_by_role("button", name="Stop", exact=True).click()
    await person.ended("Bash", "cancelled")
    await person.idle()
    await expect(person.page.locator(".notice")).to_have_text("Stopped.")
    await person.say("Bash echo still there")
    await expect(person.card("Bash")).to_contain_text("still there")


async def test_a_message_that_the_break_swallowed_is_sent_once(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    page = person.page
    await person.begin("coding")
    await person.say("Bash echo zero")
    await person.ended("Bash", "success")
    await person.idle()
    # What is sent now leaves the page and never arrives.
    await page.evaluate(
        "() => { WebSocket.prototype.sent = WebSocket.prototype.send; WebSocket.prototype.send = () => {}; }"
    )
    await person.say("Bash echo one")
    await expect(page.locator(".user[data-unsent]")).to_have_count(1)
    await page.evaluate("() => { WebSocket.prototype.send = WebSocket.prototype.sent; }")
    gateway.drop_connections()
    await expect(page.locator("tg-card[data-state=success]")).to_have_count(2)
    await person.idle()
    # And what arrives although the page does not hear of it is not sent twice.
    await person.say("Bash echo two")
    gateway.drop_connections()
    await expect(page.locator("tg-card[data-state=success]")).to_have_count(3)
    await person.idle()
    await expect(page.locator(".user p")).to_have_text(["Bash echo zero", "Bash echo one", "Bash echo two"])
    assert await page.get_by_role("textbox", name="Message").input_value() == ""
    assert person.problems == []


async def test_a_token_that_is_withdrawn_ends_at_the_sign_in(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin()
    await asyncio.to_thread(gateway.stop)
    gateway.token = "another-token-from-now-on"
    await asyncio.to_thread(gateway.start)
    await expect(person.page.get_by_label("Token")).to_be_focused()
    await expect(person.page.locator("tg-chat")).to_have_count(0)
    await person.page.keyboard.type(gateway.token)
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(".link")).to_have_text("Connected")
    assert person.problems == []


async def test_a_database_that_is_away_when_the_page_comes_back(context: BrowserContext, gateway: Gateway) -> None:
    person = await arrive(context, gateway)
    await person.begin("coding")
    await person.say("Bash echo before")
    await person.ended("Bash", "success")
    await person.idle()
    address, file = person.page.url, gateway.root.parent / "sessions.db"
    away = file.rename(file.with_name("away.db"))
    gateway.drop_connections()
    await expect(person.page.locator(".banner")).to_contain_text("sessions.db")
    away.rename(file)
    await expect(person.page.locator(".banner")).to_be_hidden()
    await person.say("Bash echo after")
    await expect(person.page.locator("tg-card[data-state=success]")).to_have_count(2)
    await expect(person.page.locator(".user p")).to_have_text(["Bash echo before", "Bash echo after"])
    assert person.page.url == address
    assert person.problems == []
