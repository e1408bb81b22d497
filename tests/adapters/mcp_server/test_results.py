"""The answer to a call, as a client reads it."""

from base64 import b64decode
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import ERAS, answering, code, near, outcome, text
from tests.support.pictures import png


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_is_what_the_model_reads(root: Path, era: str) -> None:
    async with near(root, era=era) as connected:
        read = await connected.call_tool("read_file", {"path": "a.txt"})
        missing = await connected.call_tool("read_file", {"path": "b.txt"})
        failed = await connected.call_tool("Bash", {"command": "echo out; exit 3"})
    assert text(read) == "Read all 2 lines of 'a.txt'.\n     1\tone\n     2\ttwo"
    assert (read.is_error, missing.is_error, failed.is_error) == (False, True, False)
    assert code(missing) == "NOT_FOUND"
    assert outcome(read) == {"status": "success", "path": "a.txt", "truncated": False}
    assert outcome(failed)["status"] == "partial"
    assert outcome(failed)["exit_code"] == 3
    assert "out" in text(failed)


@pytest.mark.parametrize("era", ERAS)
async def test_no_client_gets_structured_content(root: Path, era: str) -> None:
    """Codex and Claude Code show it to the model instead of the text, Claude Code in both eras."""
    async with near(root, era=era) as connected:
        tools = (await connected.list_tools()).tools
        result = await connected.call_tool("Bash", {"command": "echo hi"})
    assert [tool.name for tool in tools if tool.output_schema is not None] == []
    assert result.structured_content is None
    assert text(result) == "hi\n"


@pytest.mark.parametrize("era", ERAS)
async def test_programs_get_the_outcome_and_never_arguments_or_content(root: Path, era: str) -> None:
    secret = "line that must not come twice\n"
    async with near(root, era=era, elicitation_callback=answering()) as connected:
        results = {
            "write_file": await connected.call_tool("write_file", {"path": "new.txt", "content": secret * 300}),
            "read_file": await connected.call_tool("read_file", {"path": "new.txt"}),
            "Bash": await connected.call_tool("Bash", {"command": "echo hi; exit 3"}),
            "grep": await connected.call_tool("grep", {"pattern": "must"}),
            "edit_file": await connected.call_tool("edit_file", {"path": "no", "old_string": "a", "new_string": "b"}),
        }
    for result in results.values():
        said = str(outcome(result))
        assert "must" not in said
        assert len(said) < 200
    assert outcome(results["Bash"])["exit_code"] == 3
    assert outcome(results["edit_file"])["error_code"] == "NOT_FOUND"


async def test_a_new_file_of_300_lines_is_a_short_answer(root: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(300))
    async with near(root, elicitation_callback=answering()) as connected:
        result = await connected.call_tool("write_file", {"path": "new.txt", "content": content})
    assert len(result.model_dump_json()) < 1500


async def test_an_output_that_was_cut_names_the_file_with_all_of_it(root: Path) -> None:
    async with near(root) as connected:
        result = await connected.call_tool("Bash", {"command": "seq 100000"})
    said = outcome(result)
    assert said["truncated"] is True
    assert said["full_output_path"] in text(result)


@pytest.mark.parametrize("era", ERAS)
async def test_a_picture_is_image_content_after_the_text(root: Path, era: str) -> None:
    (root / "a.png").write_bytes(png(30, 20))
    async with near(root, era=era) as connected:
        result = await connected.call_tool("read_file", {"path": "a.png"})
    said, image = result.content
    assert said.type == "text"
    assert image.type == "image"
    assert (image.mime_type, b64decode(image.data)) == ("image/png", png(30, 20))
