"""`memory_search`."""

from typing import Any

import pytest

from tests.kit import code_of, run
from tests.tools.builtin.kit import Notes
from toolgate.tools.builtin.memory_search import MemorySearchTool


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


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": "x", "limit": 0}, {"query": "x", "limit": 101}, {}])
async def test_a_search_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    notes = Notes()
    assert code_of(await run(MemorySearchTool(), arguments, memory=notes)) == "INVALID_PARAM"
    assert notes.limits == []
