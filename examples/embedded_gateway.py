"""The page and its socket inside an application of one's own.

`python examples/embedded_gateway.py [DIRECTORY]` serves http://127.0.0.1:8000/ with the agent's page below /agent/, and
prints a link that signs in. `--check` starts it, asks it once over HTTP, and ends.
"""

import asyncio
import socket
import sys
import tempfile
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from toolgate import tool
from toolgate.gateway import mount
from toolgate.models import OfflineModel
from toolgate.settings import Settings


@tool(modes=["chat_safe", "coding"], read_only=True)
def stock(article: str) -> int:
    """How many pieces of an article are in stock."""
    return {"A-17": 4}.get(article, 0)


async def home(_request: Request) -> PlainTextResponse:
    """The application's own page."""
    return PlainTextResponse("The shop. The agent is at /agent/.")


def build(root: Path, database: Path) -> tuple[Starlette, Starlette]:
    """The application, and the gateway in it."""
    app = Starlette(routes=[Route("/", home)])
    settings = Settings.of(
        workspace={"root": root}, database={"url": f"sqlite:///{database}"}, session={"coding_enabled": True}
    )
    return app, mount(app, "/agent", settings, model=OfflineModel(), tools=[stock])


async def main(root: Path, *, check: bool) -> None:
    """Serve until Ctrl-C, or check once."""
    with tempfile.TemporaryDirectory() as data:
        app, gateway = build(root, Path(data) / "agent.db")
        listening = socket.create_server(("127.0.0.1", 0 if check else 8000))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws_max_size=2 << 20))
        serving = asyncio.create_task(server.serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        if check:
            async with httpx2.AsyncClient(base_url=address) as web:
                print((await web.get("/")).text)
                print((await web.get("/agent/health/ready")).json())
                print("page:", (await web.get("/agent/")).status_code)
            server.should_exit = True
        else:
            print(f"{address}/agent/#{gateway.state.access.code_for('')}", flush=True)
        await serving


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--check"]
    asyncio.run(main(Path(words[0] if words else "."), check="--check" in sys.argv))
