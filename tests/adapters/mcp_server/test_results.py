"""The answer to a call, as a client reads it."""

from pathlib import Path

import jsonschema_rs
import pytest

from tests.adapters.mcp_server.kit import ERAS, code, near, text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_is_the_envelope_and_what_the_model_reads(root: Path, era: str) -> None:
    async with near(root, era=era) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
        read = await connected.call_tool("read_file", {"path": "a.txt"})
        missing = await connected.call_tool("read_file", {"path": "b.txt"})
        failed = await connected.call_tool("Bash", {"command": "exit 3"})
    assert text(read) == "Read all 2 lines of 'a.txt'.\n     1\tone\n     2\ttwo"
    assert read.structured_content["data"] == {"content": "     1\tone\n     2\ttwo", "truncated": False}
    assert (read.is_error, missing.is_error, failed.is_error) == (False, True, False)
    assert code(missing) == "NOT_FOUND"
    assert (failed.structured_content["status"], failed.structured_content["data"]["exit_code"]) == ("partial", 3)
    for name, result in (("read_file", read), ("read_file", missing), ("Bash", failed)):
        schema = tools[name].output_schema
        assert schema is not None
        jsonschema_rs.validator_for(schema).validate(result.structured_content)
