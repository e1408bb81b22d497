"""Tool definitions of servers: what cannot be used is refused with its reason."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.adapters.mcp_client.kit import connected, nasty
from toolgate.adapters.mcp_client.tool_definition import OfferedTool


@pytest.fixture
def visited() -> list[str]:
    """The paths that somebody fetched from the server at `visited_url`."""
    return []


@pytest.fixture
def visited_url(visited: list[str]) -> object:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visited.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/schema.json"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("how", ["remote-ref", "remote-output"])
async def test_a_schema_that_leads_outside_is_refused_and_nothing_is_fetched(
    how: str, visited: list[str], visited_url: str
) -> None:
    async with connected(raw=nasty(how, visited_url)) as live:
        assert live.registry.names() == []
        reason = live.reasons()["act"]

    assert "nothing is fetched" in reason
    assert visited_url in reason
    assert visited == []


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("broken-schema", "its input schema cannot be used"),
        ("twice", "it is listed twice"),
    ],
)
async def test_a_tool_that_cannot_be_used_says_why(how: str, reason: str) -> None:
    async with connected(raw=nasty(how)) as live:
        assert live.registry.names() == []
        assert reason in live.reasons()["act"]


async def test_references_that_double_are_refused_and_the_other_tools_of_the_server_work() -> None:
    async with connected(raw=nasty("doubled")) as live:
        assert live.visible() == ["raw__ok"]
        reasons = live.reasons()
        assert "its input schema cannot be used: it has more than" in reasons["act"]
        assert "its output schema cannot be used: it has more than" in reasons["gives"]
        assert not (await live.call("raw__ok", text="x")).is_error


def test_hidden_characters_in_the_words_of_a_schema_are_shown_and_values_stay() -> None:
    hidden, shown = "Acts.\u202e", "Acts.\\u202e"
    values = {"default": hidden, "enum": [hidden], "examples": [{"description": hidden}]}
    schema = {
        "type": "object",
        "title": hidden,
        "properties": {"default": {"anyOf": [{"description": hidden, **values}]}, "title": {"type": "string"}},
        "required": ["title"],
    }
    offered = OfferedTool(tool="act", description="", parameters=schema)

    parameters = offered.definition("words__act").parameters
    assert parameters["title"] == shown
    assert parameters["properties"]["default"] == {"anyOf": [{"description": shown, **values}]}
    assert (parameters["properties"]["title"], parameters["required"]) == ({"type": "string"}, ["title"])
