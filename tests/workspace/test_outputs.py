"""Outputs that are too long, through the pipeline, as root and as nobody."""

import json
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from tests.support.privileges import NOBODY, everything_imported
from toolgate import CallableToolset, Tool, ToolCall, ToolContext, ToolMode, ToolResponse, ToolResult, Workspace
from toolgate.protocol.codes import ErrorCode
from toolgate.runtime.truncator import Truncator

UIDS = [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


class NoParams(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Says(Tool[NoParams]):
    """Answers with what it was given."""

    description = "Says something."
    Params = NoParams
    allowed_modes = frozenset({ToolMode.coding})

    def __init__(self, response: ToolResponse, *, name: str = "says", keep: str = "head") -> None:
        self.response = response
        self.name = name  # type: ignore[misc]  # a class attribute of ordinary tools
        self.keep = keep

    async def execute(self, params: NoParams, context: ToolContext) -> ToolResponse:
        return self.response

    def render(self, response: ToolResponse) -> str:
        return response.text


@dataclass
class Place:
    base: Path
    root: Path
    evil: Path
    context: ToolContext

    async def run(self, tool: Says) -> ToolResult:
        return await CallableToolset([tool], self.context).handle(ToolCall(id="c1", name=tool.name, arguments="{}"))

    async def say(self, text: str, **context: Any) -> ToolResult:
        return await self.run(Says(ToolResponse.success({}, text, context=context)))

    def kept(self, result: ToolResult) -> Path:
        return self.root / str(result.response.data["truncation"]["full_output_path"])


@contextmanager
def place_of(uid: int) -> Iterator[Place]:
    """A fresh place, used as this user."""
    everything_imported()
    base = Path(tempfile.mkdtemp())
    root, evil = base / "root", base / "root-evil"
    root.mkdir()
    evil.mkdir()
    mine = os.geteuid()
    if mine == 0:
        for directory in (base, root, evil):
            os.chown(directory, uid, -1)
    workspace = Workspace(root)
    os.seteuid(uid)
    try:
        yield Place(base, root, evil, ToolContext(workspace=workspace, mode=ToolMode.coding))
    finally:
        os.seteuid(mine)
        workspace.close()
        shutil.rmtree(base)


@pytest.fixture(params=UIDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with place_of(request.param) as found:
        yield found


@pytest.fixture
def own_place() -> Iterator[Place]:
    with place_of(os.geteuid()) as found:
        yield found


def lines(count: int) -> str:
    return "\n".join(f"line {number}" for number in range(1, count + 1))


async def test_t01_many_lines(place: Place) -> None:
    result = await place.say(lines(5234))
    truncation = result.response.data["truncation"]
    assert (result.response.status, result.response.data["truncated"], result.is_error) == ("partial", True, False)
    assert (truncation["original_lines"], truncation["kept_lines"]) == (5234, 2000)
    assert result.response.data["preview"] == lines(2000)
    assert f"Next: read_file(path='{truncation['full_output_path']}', start_line=2003)" in result.response.text
    assert result.output == f"{result.response.text}\n\n{lines(2000)}"


async def test_t02_one_long_line(place: Place) -> None:
    result = await place.say("x" * 200_000)
    assert result.response.data["preview"] == "x" * 51_200
    assert "truncated to its beginning: 1 of 1 lines, 51200 of 200000 bytes" in result.response.text


@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
@pytest.mark.parametrize("shift", range(4))
async def test_t03_an_emoji_across_the_limit(place: Place, keep: str, shift: int) -> None:
    text = "x" * shift + "😀" * 30_000 + "y" * shift
    result = await place.run(Says(ToolResponse.success({}, text), keep=keep))
    preview = result.response.data["preview"]
    assert "\ufffd" not in preview
    assert preview.encode().decode() == preview
    if keep != "head_tail":
        assert 51_200 - 3 <= len(preview.encode()) <= 51_200
        assert preview in text


TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("\n\r\u2028\u2029\x85\x0b\x0cé漢😀\x00\x1b"), st.characters(exclude_categories=["Cs"])
    ),
    max_size=60,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.integers(1, 6000), st.sampled_from(["head", "tail", "head_tail"]))
async def test_t04_counts_are_exact(own_place: Place, text: str, times: int, keep: str) -> None:
    text *= times
    result = await own_place.run(Says(ToolResponse.success({}, text), keep=keep))
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    size = len(text.encode())
    if count <= 2000 and size <= 51_200:
        assert (result.response.status, result.output) == ("success", text)
        return
    data = result.response.data
    preview, truncation = data["preview"], data["truncation"]
    assert (truncation["original_lines"], truncation["original_bytes"]) == (count, size)
    shown = preview.count("\n") + (not preview.endswith("\n") and preview != "")
    assert truncation["kept_lines"] == min(shown, count) <= 2000  # the mark of a gap may be a line more than there were
    assert truncation["kept_bytes"] == len(preview.encode()) <= 51_200
    assert "\n".join(json.loads(own_place.kept(result).read_text())["output"]) == text


async def test_t05_an_error_stays_an_error(place: Place) -> None:
    failure = ToolResponse.failure(ErrorCode.EXECUTION_ERROR, "It broke.", text=lines(5000))
    result = await place.run(Says(failure))
    assert result.is_error
    assert result.response.error == failure.error
    assert result.response.data["truncated"] is True
    assert result.message == "It broke."


@pytest.mark.parametrize("text", [lines(5000), "x\r\n" * 3000, "\u2028é" * 40_000, "y" * 200_000, "\n" * 2001])
async def test_t06_the_whole_output_is_kept_privately(place: Place, text: str) -> None:
    result = await place.say(text)
    path = result.response.data["truncation"]["full_output_path"]
    assert re.fullmatch(r"tool-output/tool_\d{8}_\d{6}_says\.json", path)
    assert oct((place.root / path).stat().st_mode) == "0o100600"
    assert "\n".join(json.loads((place.root / path).read_text())["output"]).encode() == text.encode()


async def test_t06_the_directory_ignores_itself(place: Place) -> None:
    await place.say(lines(5000))
    assert (place.root / "tool-output" / ".gitignore").read_text() == "*\n"


async def test_t07_fifty_in_one_second_are_fifty_files(place: Place) -> None:
    toolset = CallableToolset([Says(ToolResponse.success({}, lines(2001)))], place.context)
    calls = [toolset.handle(ToolCall(id=str(number), name="says", arguments="{}")) for number in range(50)]
    paths = {(await call).response.data["truncation"]["full_output_path"] for call in calls}
    assert len(paths) == 50
    assert all((place.root / path).is_file() for path in paths)


@pytest.mark.parametrize("name", ["a/../b", "x\0y", "n" * 300, "../../root-evil/x", "é", "-rf", "", "a\nb"])
def test_t08_a_hostile_tool_name_makes_a_safe_file_name(place: Place, name: str) -> None:
    truncator = Truncator(place.context.settings.tool_output, place.context.workspace)
    response, _ = truncator.apply(name, "head", ToolResponse.success({}, "x"), lines(2001))
    path = response.data["truncation"]["full_output_path"]
    assert re.fullmatch(r"tool-output/tool_\d{8}_\d{6}_[A-Za-z0-9_-]{1,64}\.json", path)
    assert (place.root / path).is_file()


async def test_t09_the_hard_cap_holds_for_tools_that_page_themselves(own_place: Place) -> None:
    text = ("x" * 99 + "\n") * 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await own_place.say(text, truncation_skip=True)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    truncation = result.response.data["truncation"]
    assert (truncation["max_bytes"], truncation["kept_bytes"]) == (1_048_576, 1_048_576)
    assert truncation["original_bytes"] == 100_000_000
    assert grown < 64


async def test_t09_control_up_to_the_cap_the_tool_is_left_alone(place: Place) -> None:
    text = "x" * 1_048_576
    result = await place.say(text, truncation_skip=True)
    assert (result.response.status, result.output) == ("success", text)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (lines(1999), False),
        (lines(2000), False),
        (lines(2000) + "\n", False),
        (lines(2001), True),
        (lines(2000) + "\n\n", True),
        ("x" * 51_199, False),
        ("x" * 51_200, False),
        ("x" * 51_201, True),
        ("é" * 25_600, False),
        ("é" * 25_600 + "x", True),
        ("😀" * 12_800, False),
        ("x" + "😀" * 12_800, True),
    ],
)
async def test_t10_the_limits_are_exact(place: Place, text: str, cut: bool) -> None:
    result = await place.say(text)
    assert (result.response.data.get("truncated", False), result.output == text) == (cut, not cut)


@pytest.mark.parametrize("link", ["absolute", "relative"])
async def test_t11_a_link_in_place_of_the_directory_is_refused(place: Place, link: str) -> None:
    (place.root / "tool-output").symlink_to(place.evil if link == "absolute" else "../root-evil")
    result = await place.say(lines(5000))
    assert result.response.data["preview"] == lines(2000)
    assert result.response.data["truncation"]["full_output_path"] is None
    assert "The rest was not kept: 'tool-output' is a link or a file where a directory should be." in result.output
    assert list(place.evil.iterdir()) == []


async def test_t11_a_directory_without_permission_is_reported(place: Place) -> None:
    if os.geteuid() == 0:
        os.chmod(place.root, 0o555)
        os.chown(place.root, 0, 0)
        os.seteuid(NOBODY)
    else:
        os.chmod(place.root, 0o555)
    result = await place.say(lines(5000))
    assert "The rest was not kept: The operating system does not permit access to 'tool-output'." in result.output


async def test_t12_control_a_short_output_is_shown_whole(place: Place) -> None:
    result = await place.say("all of it")
    assert (result.response.status, result.output) == ("success", "all of it")
    assert list(place.root.iterdir()) == []
