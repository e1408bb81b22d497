"""A web application that shows open approval requests and takes answers.

`python examples/web_approvals.py [DIRECTORY]` plays both sides once. `uvicorn web_approvals:app` serves it:
POST /run starts a call, GET /approvals lists what is open, POST /approvals/ID/yes or /no answers.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import toolgate
from toolgate import CallableToolset, DeferredApprover

ROOT = sys.argv[1] if len(sys.argv) > 1 else "."
approver = DeferredApprover(timeout=600)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Keep one toolset open as long as the application runs."""
    async with toolgate.open(ROOT, "coding", approver=approver, session_id="web") as toolset:
        app.state.toolset = toolset
        yield


async def run(request: Request) -> JSONResponse:
    """Write a file; the response comes when somebody has answered."""
    toolset: CallableToolset = request.app.state.toolset
    result = await toolset.call("write_file", path="from_the_web.txt", content="Hello.\n")
    return JSONResponse({"error": result.error_code, "message": result.message})


async def approvals(_request: Request) -> JSONResponse:
    """What is open."""
    return JSONResponse([{"id": one.id, "summary": one.summary, "risk": one.risk} for one in approver.pending])


async def answer(request: Request) -> JSONResponse:
    """Answer one request; 404 if it is not open any more."""
    try:
        approver.answer(request.path_params["id"], request.path_params["word"] == "yes")
    except LookupError as error:
        return JSONResponse({"error": str(error)}, status_code=404)
    return JSONResponse({"answered": True})


app = Starlette(
    routes=[
        Route("/run", run, methods=["POST"]),
        Route("/approvals", approvals),
        Route("/approvals/{id}/{word}", answer, methods=["POST"]),
    ],
    lifespan=lifespan,
)


async def main() -> None:
    """Start a call, look at the open request, say yes."""
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://app") as web:
        running = asyncio.create_task(web.post("/run"))
        while not (pending := (await web.get("/approvals")).json()):
            await asyncio.sleep(0.01)
        print("asked:", pending[0]["summary"])
        await web.post(f"/approvals/{pending[0]['id']}/yes")
        print("answered:", (await running).json()["message"])
        print("again:", (await web.post(f"/approvals/{pending[0]['id']}/yes")).status_code)


if __name__ == "__main__":
    asyncio.run(main())
