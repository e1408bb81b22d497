"""Health, and the headers of every answer."""

from pathlib import Path

from tests.gateway.kit import (
    gateway,
    settings_for,
    web_client,
)


async def test_live_and_ready(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, web_client() as web:
        for path in ("live", "ready"):
            answer = await web.get(f"http://{running.address}/health/{path}")
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_not_ready_without_its_database(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, web_client() as web:
        await running.app.state.database.close()
        assert (await web.get(f"http://{running.address}/health/ready")).status_code == 503
        assert (await web.get(f"http://{running.address}/health/live")).status_code == 200


async def test_every_answer_has_the_headers_that_keep_a_page_safe(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, web_client() as web:
        for path in ("/", "/static/index.html", "/health/live", "/nothing", "/auth"):
            headers = (await web.get(f"http://{running.address}{path}")).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "server" not in headers
