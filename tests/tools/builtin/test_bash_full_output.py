"""Output of `Bash`: what is shown, and where the whole of it is."""

import errno
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.shell.options import ShellOptions
from toolgate.shell.session import ShellSession
from toolgate.testing import violations


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


def small(box: Toolbox, **options: Any) -> None:
    """A shell with other limits."""
    session = ShellSession(toolgate.Workspace(box.root), options=ShellOptions(**options))
    box.context.state.shell = session


async def test_s15_bytes_that_are_no_text_are_replaced_and_it_says_so(tools: Toolbox) -> None:
    result = await tools.result("Bash", command=r"printf '\xff\xfe\0\xc3'")

    assert (result.response.status, result.response.data["stdout"]) == ("success", "\ufffd" * 4)
    assert "Bytes that are not UTF-8 text are shown as \ufffd." in result.output
    assert violations(result, root=str(tools.root)) == []


async def test_long_output_is_cut_in_the_middle(tools: Toolbox) -> None:
    result = await tools.result("Bash", command="seq 5234; exit 7")
    data = result.response.data

    assert (result.response.status, data["truncated"], data["exit_code"]) == ("partial", True, 7)
    assert (data["truncation"]["direction"], data["truncation"]["original_lines"]) == ("head_tail", 5235)
    assert data["preview"].startswith("1\n2\n3\n")
    assert "\n5234\n[Exit code 7." in data["preview"]
    assert data["sandbox"]["access"] == "write"
    assert result.message.startswith("Exit code 7.")


async def test_output_beyond_memory_is_whole_in_a_file(tools: Toolbox) -> None:
    result = await tools.result("Bash", command="seq 200000; seq 100 >&2")
    path = result.response.data["full_output"]["stdout"]
    whole = tools.root / path

    assert re.fullmatch(r"tool-output/tool_\d{8}_\d{6}_Bash_stdout\.log", path)
    assert whole.read_text() == "".join(f"{number}\n" for number in range(1, 200_001))
    assert (oct(whole.stat().st_mode & 0o777), list(result.response.data["full_output"])) == ("0o600", ["stdout"])
    assert f"(1,288,895 bytes, 200,000 lines); all of it is in '{path}'" in result.message
    assert "More of it is in" in result.message
    read = await tools("read_file", path=path, start_line=123_456, limit=1)
    assert read.data["content"] == "123456\t123456"
    assert (await tools("grep", pattern="^150000$", path=path)).data["matches"][0]["line"] == 150_000


async def test_both_streams_can_be_long(tools: Toolbox) -> None:
    small(tools, kept_bytes=1000)
    response = await tools("Bash", command="seq 1000; seq 2000 >&2")
    paths = response.data["full_output"]

    assert {name: (tools.root / path).read_text().count("\n") for name, path in paths.items()} == {
        "stdout": 1000,
        "stderr": 2000,
    }
    assert response.data["truncated"] is True


async def test_what_goes_beyond_the_cap_is_said(tools: Toolbox) -> None:
    small(tools, kept_bytes=1000, stored_bytes=3000)
    response = await tools("Bash", command="seq 1000")

    assert (tools.root / response.data["full_output"]["stdout"]).stat().st_size == 3000
    assert "the first 3,000 bytes are in" in response.text
    assert "The rest was not kept." in response.text


async def test_output_without_room_in_the_temporary_directory_is_said_to_be_lost(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_file = SessionDirectory.new_file

    def no_room(self: SessionDirectory, kind: str) -> tuple[str, int]:
        if kind != "output":
            return new_file(self, kind)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    small(tools, kept_bytes=1000)
    await tools("Bash", command="true")
    monkeypatch.setattr(SessionDirectory, "new_file", no_room)
    response = await tools("Bash", command="seq 1000")

    assert (response.status, "full_output" in response.data) == ("partial", False)
    assert "the rest was not kept: there was no room for it in the directory for temporary files" in response.text


async def test_a_directory_that_cannot_be_used_costs_the_rest_and_nothing_else(tools: Toolbox, tmp_path: Path) -> None:
    small(tools, kept_bytes=1000)
    elsewhere = tmp_path.with_name(tmp_path.name + "-elsewhere")
    elsewhere.mkdir()
    (tools.root / "tool-output").symlink_to(elsewhere)
    response = await tools("Bash", command="seq 1000")

    assert (response.data["exit_code"], "full_output" in response.data, list(elsewhere.iterdir())) == (0, False, [])
    assert "the rest was not kept: 'tool-output' is a link" in response.text


async def test_the_long_output_of_a_job_is_whole_in_a_file(tools: Toolbox) -> None:
    small(tools, kept_bytes=1000)
    job = (await tools("Bash", command="seq 1000", background=True)).data["job_id"]
    response = await tools("Bash", command=f"jobs wait {job}")

    assert (response.status, response.data["truncated"]) == ("partial", True)
    assert (tools.root / response.data["full_output"]["stdout"]).read_text().endswith("\n1000\n")


async def test_s05_an_endless_command_is_ended_counted_and_bounded(tools: Toolbox) -> None:
    small(tools, stored_bytes=8 << 20)
    result = await tools.result("Bash", command="yes", timeout_ms=400)
    data = result.response.data

    assert (result.response.status, data["timed_out"], data["exit_code"]) == ("partial", True, None)
    assert result.extras == {"failureCategory": "timeout"}
    assert (tools.root / data["full_output"]["stdout"]).stat().st_size == 8 << 20
    assert re.search(r"stdout is too long to show whole \([\d,]{9,} bytes, [\d,]{9,} lines\)", result.message)
    assert len(result.output) < 60_000


async def test_no_result_names_the_private_directory_of_the_session(tools: Toolbox) -> None:
    small(tools, kept_bytes=1000)
    for command in ("seq 1000", "cd /no/such; seq 1000 >&2", "yes"):
        result = await tools.result("Bash", command=command, timeout_ms=300)
        assert "/tmp/toolgate-" not in result.response.to_json() + result.output
