"""Remembered permissions on the page, as the wire tells of them; the answers of the two methods are scripted here."""

import json
from typing import Any

from playwright.async_api import BrowserContext, WebSocketRoute, expect

from tests.browser.kit import Gateway, Person, script

RULES: list[dict[str, Any]] = [
    {"id": "1", "label": "edits to src/app.py", "rule": "edit src/app.py", "scope": "session", "created_at": 1e9},
    {"id": "2", "label": "commands beginning with 'git <b>'", "rule": "git *", "scope": "project", "created_at": 1e9},
]


async def _scripted(person: Person) -> list[str]:
    """Answer the two methods in place of the gateway; return the ids that are removed."""
    removed: list[str] = []

    def connected(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def sent(message: str | bytes) -> None:
            request = json.loads(message)
            if not request["method"].startswith("permissions."):
                server.send(message)
                return
            answer: dict[str, Any] = {"type": "response", "id": request["id"]}
            if request["method"] == "permissions.remove":
                removed.append(request["params"]["id"])
                answer["data"] = {"removed": True}
            else:
                answer["data"] = {"rules": [rule for rule in RULES if rule["id"] not in removed]}
            socket.send(json.dumps(answer))

        socket.on_message(sent)

    await person.page.route_web_socket(lambda url: url.endswith("/ws"), connected)
    return removed


async def test_rules_are_listed_in_plain_words_and_taken_back(context: BrowserContext, gateway: Gateway) -> None:
    person = Person(await context.new_page())
    page = person.page
    removed = await _scripted(person)
    await page.goto(gateway.link())
    await expect(page.locator(".link")).to_have_text("Connected")
    await person.begin("coding")
    await person.say("current_time timezone=UTC")
    await person.ended("current_time", "success")
    await person.idle()
    await page.get_by_role("button", name="Menu", exact=True).click()
    await page.get_by_role("menuitem", name="Remembered permissions").click()
    dialog = page.get_by_role("dialog", name="Remembered permissions")
    await expect(dialog.get_by_role("listitem")).to_have_count(2)
    await expect(dialog.locator("strong")).to_have_text(["edits to src/app.py", "commands beginning with 'git <b>'"])
    await person.picture("permissions")
    assert await page.evaluate(script("contrast.js")) == []
    await dialog.get_by_role("button", name="Take back: edits to src/app.py").click()
    await expect(dialog.get_by_role("listitem")).to_have_count(1)
    await expect(dialog.get_by_role("button", name="Take back: commands")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_text("Nothing is remembered.")).to_be_visible()
    assert removed == ["1", "2"]
    assert person.problems == []
