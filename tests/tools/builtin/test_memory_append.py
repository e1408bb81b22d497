"""`memory_append`, and what both tools of the memory share."""

from typing import Any

import pytest

from tests.kit import code_of, run
from tests.tools.builtin.kit import Notes
from toolgate import ToolGroup, ToolMode
from toolgate.settings import Settings
from toolgate.testing import check_tool, violations
from toolgate.tools.builtin.memory_append import MemoryAppendTool
from toolgate.tools.builtin.memory_search import MemorySearchTool


class BrokenNotes(Notes):
    async def append(self, content: str) -> None:
        raise OSError(28, "No space left on device", "/var/lib/notes")


@pytest.mark.parametrize("tool", [MemoryAppendTool(), MemorySearchTool()])
def test_they_are_for_everyone(tool: Any) -> None:
    assert (tool.group, tool.allowed_modes, tool.requires_permission) == (ToolGroup.memory, frozenset(ToolMode), False)


async def test_a_note_is_kept_and_found_again() -> None:
    notes = Notes()
    kept = await run(MemoryAppendTool(), {"content": "likes tea"}, memory=notes, mode=ToolMode.chat_safe)
    found = await run(MemorySearchTool(), {"query": "tea"}, memory=notes, mode=ToolMode.chat_safe)
    assert (kept.response.status, kept.response.data) == ("success", {"applied": True})
    assert found.response.data == {"matches": [{"content": "likes tea"}], "truncated": False}


@pytest.mark.parametrize("content", ["", " ", "\n\t", "x" * 20_001])
async def test_a_note_that_is_none_is_refused(content: str) -> None:
    notes = Notes()
    result = await run(MemoryAppendTool(), {"content": content}, memory=notes)
    assert (code_of(result), notes.notes) == ("INVALID_PARAM", [])


@pytest.mark.parametrize(
    ("tool", "arguments"), [(MemoryAppendTool(), {"content": "x"}), (MemorySearchTool(), {"query": "x"})]
)
async def test_without_a_memory_they_say_so(tool: Any, arguments: dict[str, Any]) -> None:
    result = await run(tool, arguments)
    assert (code_of(result), result.message) == ("EXECUTION_ERROR", "This session has no memory.")
    assert violations(result) == []


async def test_a_memory_that_cannot_write_is_an_error_without_a_path() -> None:
    result = await run(MemoryAppendTool(), {"content": "x"}, memory=BrokenNotes())
    assert code_of(result) == "EXECUTION_ERROR"
    assert "/var/lib" not in result.response.to_json()


KEY = "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("the deploy key:\n" + KEY, "a private key"),
        ("aws_secret_access_key = " + "a1B/" * 10, "keys of AWS"),
        ('{"client_secret": "0123456789abcdef"}', "tokens of a tool"),
        ("use ghp_" + "a1" * 18 + " for pushing", "a token of GitHub"),
        ("AKIA" + "B2" * 8, "a key of AWS"),
        ("the key is sk-ant-" + "x9" * 20, "a key of a model provider"),
        ("xoxb-" + "12345678901-abc", "a token of Slack"),
        ("eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20, "a JSON web token"),
        ("ours is gateway-token-0123", "one of Toolgate's own keys"),
    ],
)
async def test_a_note_with_a_credential_is_refused_and_not_kept(content: str, what: str) -> None:
    notes, settings = Notes(), Settings.of(gateway={"token": "gateway-token-0123"})
    result = await run(MemoryAppendTool(), {"content": content}, memory=notes, settings=settings)
    assert (code_of(result), notes.notes, what in result.message) == ("INVALID_PARAM", [], True), result.message


@pytest.mark.parametrize(
    "content",
    ["the token is in .env", "sk-learn is used", "API_TOKEN comes from the vault", "set client_secret in config.yml"],
)
async def test_a_note_about_a_credential_is_kept(content: str) -> None:
    notes = Notes()
    await run(MemoryAppendTool(), {"content": content}, memory=notes)
    assert notes.notes == [content]


async def test_they_conform() -> None:
    from toolgate import ToolContext

    context = ToolContext(memory=Notes("x"))
    assert await check_tool(MemoryAppendTool(), {"content": "x"}, context=context) == []
    assert await check_tool(MemorySearchTool(), {"query": "x", "limit": 2}, context=context) == []
