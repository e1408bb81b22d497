"""The schemas in docs/wire.md are those of the code, and they say the same as the code does."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.gateway.kit import call, gateway, is_type, settings_for
from toolgate.gateway.wire_schema import wire_markdown, wire_schema
from toolgate.protocol.requests import METHODS
from toolgate.testing import ScriptedModel

PAGE = Path(__file__).parents[2] / "docs" / "wire.md"


def test_the_page_is_up_to_date() -> None:
    assert wire_markdown() in PAGE.read_text(encoding="utf-8"), "run: python scripts/wire_docs.py"


def test_every_schema_is_one() -> None:
    schema = wire_schema()
    assert set(schema["requests"]) == set(METHODS)
    for group in ("requests", "frames", "detail_frames"):
        for name, document in schema[group].items():
            assert jsonschema_rs.meta.is_valid({"$schema": schema["$schema"], **document}), name


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("stream_chunk", {"content", "done"}),
        ("tool_call", {"call_id", "tool_name", "arguments"}),
        ("tool_denied", {"tool_name", "call_id", "mode", "error_code", "message", "next_action"}),
        ("approval_resolved", {"id", "allowed", "message"}),
        ("error", {"code", "message"}),
    ],
)
def test_the_fixed_frames_have_exactly_their_fields(name: str, keys: set[str]) -> None:
    data = wire_schema()["frames"][name]["properties"]["data"]
    assert set(data["properties"]) == set(data["required"]) == keys
    assert data["additionalProperties"] is False


async def test_what_is_sent_fits_its_schema(tmp_path: Path) -> None:
    schema = wire_schema()
    frames = schema["frames"] | schema["detail_frames"]
    todo = call("todo", '{"items": [{"content": "x", "status": "pending"}]}')
    write = call("write_file", '{"path": "a", "content": "b"}', "c2")
    model = ScriptedModel([["a", todo, call("nothing", "{", "c3"), write], "b"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session, details=True, render=True)
        await client.send("chat.send", session_id=session, content="Go.")
        seen = await client.until(is_type("approval_request"))
        await client.data("approval.respond", id=seen[-1]["data"]["id"], allowed=True)
        seen += await client.until(is_type("turn_finished"))
        seen.append(await client.ask("tools.list"))
        seen.append(await client.ask("nothing"))
    for frame in seen:
        problems = list(jsonschema_rs.iter_errors(frames[frame["type"]], frame))
        assert not problems, json.dumps(frame)[:500]
    assert {"turn_started", "markdown", "tool_result", "todos", "approval_resolved", "error"} <= {
        f["type"] for f in seen
    }
