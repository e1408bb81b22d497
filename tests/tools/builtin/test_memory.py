"""`memory_append` and `memory_search`."""

from typing import Any

import pytest

from tests.kit import code_of, run
from toolgate import ToolGroup, ToolMode
from toolgate.testing import check_tool, violations
from toolgate.tools.builtin.memory_append import MemoryAppendTool
from toolgate.tools.builtin.memory_search import MemorySearchTool


class Notes:
    """A memory in a list."""

    def __init__(self, *notes: str) -> None:
        self.notes = list(notes)
        self.limits: list[int] = []

    async def append(self, content: str) -> None:
        self.notes.append(content)

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.limits.append(limit)
        return [{"content": note} for note in self.notes if query in note][:limit]


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


async def test_nothing_found_is_a_success_with_advice() -> None:
    result = await run(MemorySearchTool(), {"query": "tea"}, memory=Notes())
    assert (result.response.status, result.response.data["matches"]) == ("success", [])
    assert "Found 0 notes" in result.response.text


async def test_more_than_the_limit_is_partial_and_says_so() -> None:
    notes = Notes(*(f"tea {number}" for number in range(5)))
    result = await run(MemorySearchTool(), {"query": "tea", "limit": 3}, memory=notes)
    assert (result.response.status, len(result.response.data["matches"])) == ("partial", 3)
    assert result.response.data["truncated"] is True
    assert "limit" in result.response.text


async def test_exactly_the_limit_is_whole() -> None:
    notes = Notes(*(f"tea {number}" for number in range(3)))
    result = await run(MemorySearchTool(), {"query": "tea", "limit": 3}, memory=notes)
    assert (result.response.status, result.response.data["truncated"]) == ("success", False)


@pytest.mark.parametrize("content", ["", " ", "\n\t", "x" * 20_001])
async def test_a_note_that_is_none_is_refused(content: str) -> None:
    notes = Notes()
    result = await run(MemoryAppendTool(), {"content": content}, memory=notes)
    assert (code_of(result), notes.notes) == ("INVALID_PARAM", [])


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": "x", "limit": 0}, {"query": "x", "limit": 101}, {}])
async def test_a_search_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    notes = Notes()
    assert code_of(await run(MemorySearchTool(), arguments, memory=notes)) == "INVALID_PARAM"
    assert notes.limits == []


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


async def test_they_conform() -> None:
    from toolgate import ToolContext

    context = ToolContext(memory=Notes("x"))
    assert await check_tool(MemoryAppendTool(), {"content": "x"}, context=context) == []
    assert await check_tool(MemorySearchTool(), {"query": "x", "limit": 2}, context=context) == []
