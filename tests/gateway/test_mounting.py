"""`toolgate.gateway.mount`: the gateway inside another application, under any prefix, over real HTTP and sockets."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from websockets.asyncio.client import connect

from tests.gateway.kit import BEARER, Client, settings_for, web_client
from toolgate import ToolCall, tool
from toolgate.gateway import create_app, mount
from toolgate.testing import ScriptedModel


async def home(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("the application")


def starlette(lifespan: Any = None) -> Starlette:
    return Starlette(routes=[Route("/", home)], lifespan=lifespan)


def fastapi(lifespan: Any = None) -> FastAPI:
    app = FastAPI(lifespan=lifespan)
    app.add_route("/", home)
    return app


@contextlib.asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """The application behind a plain uvicorn on a free port; yields `127.0.0.1:port`."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="websockets-sansio"))

    serving = asyncio.get_running_loop().create_task(server.serve([listening]))
    try:
        while not server.started:
            assert not serving.done(), "the application did not start"
            await asyncio.sleep(0.01)
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listening.close()


@pytest.mark.parametrize("make", [starlette, fastapi])
@pytest.mark.parametrize("prefix", ["/agent", "/tools/of/ours/"])
async def test_page_files_and_socket_are_under_the_prefix(tmp_path: Path, make: Any, prefix: str) -> None:
    app = make()
    model = ScriptedModel([[ToolCall(id="c", name="current_time", arguments="{}")], "It is late."])
    mount(app, prefix, settings_for(tmp_path), model=model)
    base = prefix.rstrip("/")
    async with served(app) as address, web_client(base_url=f"http://{address}") as web:
        assert (await web.get("/")).text == "the application"
        moved = await web.get(base)
        assert (moved.status_code, httpx2.URL(moved.headers["location"]).path) == (307, f"{base}/")
        page = await web.get(f"{base}/")
        assert "content-security-policy" in page.headers
        for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
            assert (await web.get(str(page.url.join(name)))).status_code == 200, name
        assert (await web.get(f"{base}/health/ready")).status_code == 200
        assert (await web.get("/ws")).status_code == 404
        async with connect(f"ws://{address}{base}/ws", additional_headers=BEARER, proxy=None) as ws:
            client = Client(ws)
            frames = await client.turn(await client.session())
    assert "current_time" in str(frames)


def test_no_address_of_the_page_is_absolute() -> None:
    static = Path(mount.__code__.co_filename).parent / "static"
    absolute = re.compile(r"""(?:href=|src=|fetch\(|get\(|open\(|import\(|URL\()["'`]/""")
    found = [
        path.name for path in static.iterdir() if path.suffix in (".js", ".html") and absolute.search(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("make", [starlette, fastapi])
async def test_the_lifespans_are_chained_and_the_gateway_ends_first(tmp_path: Path, make: Any) -> None:
    seen: list[str] = []
    gateway: Starlette | None = None

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[dict[str, str]]:
        assert gateway is not None
        seen.append(f"begin, gateway {'runs' if gateway.state.service else 'waits'}")
        yield {"mine": "kept"}
        seen.append(f"end, gateway {'runs' if gateway.state.service else 'has ended'}")

    app = make(lifespan)

    async def state(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.state.mine)

    app.add_route("/state", state)
    gateway = mount(app, "/agent", settings_for(tmp_path), model=ScriptedModel([]))
    async with served(app) as address, web_client() as web:
        assert gateway.state.service is not None
        assert (await web.get(f"http://{address}/state")).text == "kept"
    assert seen == ["begin, gateway waits", "end, gateway has ended"]


async def test_tools_of_the_application_are_offered(tmp_path: Path) -> None:
    @tool(modes=["chat_safe"])
    def stock(article: str) -> int:
        """How many are in stock."""
        return 4

    app = starlette()
    gateway = mount(app, "/agent", settings_for(tmp_path), model=ScriptedModel([]), tools=[stock])
    async with app.router.lifespan_context(app):
        assert {"stock", "current_time"} <= set(gateway.state.service.registry.names())


async def test_another_site_and_another_host_are_refused_as_ever(tmp_path: Path) -> None:
    app = starlette()
    mount(app, "/agent", settings_for(tmp_path), model=ScriptedModel([]))
    async with served(app) as address, web_client() as web:
        host = await web.get(f"http://{address}/agent/", headers={"host": "evil.example"})
        origin = await web.get(f"http://{address}/agent/", headers={"origin": "https://evil.example"})
        nobody = await web.get(f"http://{address}/agent/auth")
    assert (host.status_code, origin.status_code, nobody.status_code) == (421, 403, 401)


async def test_a_gateway_that_nobody_started_says_what_to_do(tmp_path: Path) -> None:
    app = starlette()
    app.mount("/agent", create_app(settings_for(tmp_path), ScriptedModel([])))  # its lifespan does not run
    async with served(app) as address, web_client() as web:
        answer = await web.get(f"http://{address}/agent/auth", headers=BEARER)
    assert (answer.status_code, "toolgate.gateway.mount" in answer.text) == (503, True)


@pytest.mark.parametrize("path", ["agent", "/a/{b}", "/a//b", "/a b", None, 7, "/a?b"])
def test_a_path_that_is_none_is_refused(tmp_path: Path, path: Any) -> None:
    app = starlette()
    before = app.router.lifespan_context
    with pytest.raises(ValueError, match='write "/agent"'):
        mount(app, path, settings_for(tmp_path))
    assert (len(app.routes), app.router.lifespan_context) == (1, before)


def test_a_prefix_that_is_taken_is_refused(tmp_path: Path) -> None:
    app = starlette()
    mount(app, "/agent", settings_for(tmp_path), model=ScriptedModel([]))
    with pytest.raises(ValueError, match="mounted already"):
        mount(app, "/agent/", settings_for(tmp_path))
    with pytest.raises(ValueError, match="would hide the page"):
        mount(app, "/", settings_for(tmp_path))


def test_what_is_no_application_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Starlette or FastAPI"):
        mount(object(), "/agent", settings_for(tmp_path))  # type: ignore[arg-type]  # what is tested
