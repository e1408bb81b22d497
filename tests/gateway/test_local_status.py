"""`/status` of a gateway that runs its turns itself: a page for people, JSON for programs."""

import asyncio
from pathlib import Path

from tests.gateway.kit import BEARER, PATIENCE, call, gateway, settings_for, web_client
from toolgate.gateway.local_status import LocalStatus, as_page
from toolgate.testing import ScriptedModel

STATUS = LocalStatus(
    version="1.0",
    uptime_seconds=3 * 3600 + 20 * 60,
    model="<b>model</b>",
    coding_enabled=True,
    sandbox="auto",
    database="sqlite",
    connections=1,
    running_turns=2,
    waiting_approvals=1,
    turns={"done": 4, "MODEL_AUTH": 2},
    calls=9,
    tokens={"input": 12_000, "output": 300},
    problems=[],
)


async def test_programs_get_the_counts(tmp_path: Path) -> None:
    model = ScriptedModel([[call("current_time")], "Done."])
    async with gateway(settings_for(tmp_path, coding=False), model) as running, web_client() as web:
        address = f"http://{running.address}/status?format=json"
        assert (await web.get(address)).status_code == 401
        async with running.client() as client:
            await client.turn(await client.session())
            async with asyncio.timeout(PATIENCE):  # counted a moment after its end was told
                found = (await web.get(address, headers=BEARER)).json()
                while (found["turns"], found["running_turns"]) != ({"done": 1}, 0):
                    await asyncio.sleep(0.02)
                    found = (await web.get(address, headers=BEARER)).json()
        assert found["connections"] == 1
        assert (found["calls"], found["waiting_approvals"]) == (1, 0)
        assert (found["database"], found["coding_enabled"], found["problems"]) == ("sqlite", False, [])


async def test_a_browser_without_a_key_gets_a_page_that_asks_with_it(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, web_client() as web:
        address = f"http://{running.address}/status"
        page = await web.get(address, headers={"accept": "text/html"})
        assert page.status_code == 200
        assert "static/status.js" in page.text
        assert "Running turns" not in page.text
        wrong = await web.get(address, headers={"accept": "text/html", "authorization": "Bearer wrong"})
        assert wrong.status_code == 401
        shown = await web.get(address, headers={"accept": "text/html", **BEARER})
        assert "Everything works." in shown.text


def test_the_page_escapes_what_it_shows() -> None:
    page = as_page(STATUS)
    assert "&lt;b&gt;model&lt;/b&gt;" in page
    assert "<b>model" not in page
    assert "3 h 20 min" in page
    assert "2 × MODEL_AUTH" in page


def test_problems_come_first() -> None:
    page = as_page(STATUS.model_copy(update={"problems": ["The database does not answer."]}))
    assert "Everything works." not in page
    assert page.index("The database does not answer.") < page.index("Running turns")
