"""What every tool response consists of, rule by rule, shown on the built-in tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import call
from toolgate import CallableToolset, ToolContext, ToolMode, ToolResult, Workspace, builtin_registry
from toolgate.settings import Settings, ShellSettings
from toolgate.testing import AutoApprover, check_tool, violations


class Notes:
    async def append(self, content: str) -> None: ...

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        return [{"content": query}] * limit


def context_of(root: Path, **changes: Any) -> ToolContext:
    fields: dict[str, Any] = {"mode": ToolMode.coding, "approver": AutoApprover(), "memory": Notes(), **changes}
    return ToolContext(workspace=Workspace(root), **fields)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src" / "utils").mkdir(parents=True)
    (root / "src" / "main.py").write_text("class A:\n    pass  # TODO\n" * 20)
    (root / "src" / "link").symlink_to("main.py")
    (root / "README.md").write_text("# A project\n")
    return root


@pytest.fixture
def toolset(root: Path) -> Iterator[CallableToolset]:
    context = context_of(root)
    yield CallableToolset(builtin_registry(), context)
    context.require_workspace().close()


async def use(toolset: CallableToolset, name: str, **arguments: Any) -> ToolResult:
    result = await toolset.handle(call(name, arguments))
    assert violations(result, root=str(toolset.context.require_workspace().root)) == []
    return result


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "src/main.py"}),
    ("read_file", {"path": "src/main.py", "start_line": 2, "limit": 3}),
    ("write_file", {"path": "new.txt", "content": "x"}),
    ("write_file", {"path": "new.txt", "content": "x", "dry_run": True}),
    ("edit_file", {"path": "src/main.py", "old_string": "TODO", "new_string": "x", "replace_all": True}),
    ("ls", {}),
    ("ls", {"path": "src", "limit": 1}),
    ("glob", {"pattern": "**/*"}),
    ("glob", {"pattern": "**/*", "limit": 1}),
    ("grep", {"pattern": "TODO"}),
    ("grep", {"pattern": "TODO", "limit": 2}),
    ("grep", {"pattern": "nothing like it"}),
    ("current_time", {}),
    ("memory_search", {"query": "x", "limit": 1}),
    ("memory_append", {"content": "x"}),
    ("todo", {"items": [{"content": "x", "status": "pending"}]}),
]
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {"path": "missing"}, "NOT_FOUND"),
    ("read_file", {"path": "../outside"}, "ACCESS_DENIED"),
    ("read_file", {"path": "src"}, "IS_DIRECTORY"),
    ("write_file", {"path": "src", "content": "x"}, "IS_DIRECTORY"),
    ("write_file", {"path": ".git/hooks/x", "content": "x"}, "ACCESS_DENIED"),
    ("edit_file", {"path": "src/main.py", "old_string": "nothing like it", "new_string": "x"}, "INVALID_PARAM"),
    ("edit_file", {"path": "src/main.py", "old_string": "TODO", "new_string": "x"}, "INVALID_PARAM"),
    ("ls", {"path": "missing"}, "NOT_FOUND"),
    ("glob", {"pattern": "["}, "INVALID_PARAM"),
    ("grep", {"pattern": "("}, "INVALID_PARAM"),
    ("grep", {"pattern": "x", "path": "missing"}, "NOT_FOUND"),
    ("current_time", {"timezone": "Mars"}, "INVALID_PARAM"),
    ("task", {"agent": "a", "prompt": "p"}, "EXECUTION_ERROR"),
]


@pytest.mark.parametrize(("name", "arguments"), GOOD)
async def test_1_every_good_answer_is_a_valid_envelope(
    toolset: CallableToolset, name: str, arguments: dict[str, Any]
) -> None:
    result = await use(toolset, name, **arguments)
    assert not result.is_error
    assert result.response.context["params_input"] == arguments


@pytest.mark.parametrize(("name", "arguments", "code"), BAD)
async def test_1_every_bad_answer_is_a_valid_envelope(
    toolset: CallableToolset, name: str, arguments: dict[str, Any], code: str
) -> None:
    result = await use(toolset, name, **arguments)
    assert result.response.error is not None
    assert result.response.error.code == code


@pytest.mark.parametrize(("name", "arguments"), {name: (name, arguments) for name, arguments in GOOD}.values())
async def test_1_every_built_in_tool_conforms(root: Path, name: str, arguments: dict[str, Any]) -> None:
    tool = builtin_registry().get(name)
    assert tool is not None
    context = context_of(root)
    assert await check_tool(tool, arguments, context=context) == []
    context.require_workspace().close()


async def test_1_1_cwd_is_the_root_for_json_tools(toolset: CallableToolset) -> None:
    result = await use(toolset, "ls", path="src")
    assert (result.response.context["cwd"], result.response.context["path_resolved"]) == (".", "src")


async def test_2_ls_gives_entries(toolset: CallableToolset) -> None:
    result = await use(toolset, "ls", path="src")
    assert result.response.data == {
        "entries": [
            {"path": "src/link", "type": "link"},
            {"path": "src/main.py", "type": "file"},
            {"path": "src/utils/", "type": "dir"},
        ],
        "truncated": False,
    }


async def test_2_glob_gives_posix_paths(toolset: CallableToolset) -> None:
    result = await use(toolset, "glob", pattern="**/*.py")
    assert result.response.data["paths"] == ["src/main.py"]


async def test_2_grep_gives_one_match_a_line(toolset: CallableToolset) -> None:
    result = await use(toolset, "grep", pattern="TODO", limit=1)
    assert result.response.data["matches"] == [{"file": "src/main.py", "line": 2, "text": "    pass  # TODO"}]


async def test_2_read_gives_content(toolset: CallableToolset) -> None:
    result = await use(toolset, "read_file", path="src/main.py", limit=1)
    assert result.response.data["content"] == "     1\tclass A:"


async def test_2_write_and_edit_say_whether_they_applied(toolset: CallableToolset) -> None:
    written = await use(toolset, "write_file", path="a.txt", content="x")
    edited = await use(toolset, "edit_file", path="a.txt", old_string="x", new_string="y")
    assert (written.response.data["applied"], edited.response.data["applied"]) == (True, True)


@pytest.mark.parametrize(
    ("name", "arguments", "total"),
    [
        ("ls", {"path": "src", "limit": 2}, {"total_entries": 3}),
        ("grep", {"pattern": "TODO", "limit": 2}, {"total_matches": 20}),
        ("read_file", {"path": "src/main.py", "limit": 2}, {}),
        ("glob", {"pattern": "**/*", "limit": 1}, {}),
    ],
)
async def test_3_2_1_a_cut_result_is_partial_and_says_how_to_go_on(
    toolset: CallableToolset, name: str, arguments: dict[str, Any], total: dict[str, int]
) -> None:
    result = await use(toolset, name, **arguments)
    assert (result.response.status, result.response.data["truncated"]) == ("partial", True)
    assert {key: result.response.stats[key] for key in total} == total
    assert "limit" in result.response.text or "offset" in result.response.text or "start_line" in result.response.text


async def test_3_2_2_a_fallback_is_partial_and_named(root: Path) -> None:
    settings = Settings.defaults().model_copy(update={"shell": ShellSettings(ripgrep="")})
    context = context_of(root, settings=settings)
    result = await use(CallableToolset(builtin_registry(), context), "grep", pattern="TODO")
    context.require_workspace().close()
    assert (result.response.status, result.response.data["fallback"]) == ("partial", "python")
    assert "ripgrep" in result.response.text
    assert len(result.response.data["matches"]) == 20


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "src/main.py", "content": "x", "dry_run": True}),
        (
            "edit_file",
            {"path": "src/main.py", "old_string": "TODO", "new_string": "x", "replace_all": True, "dry_run": True},
        ),
    ],
)
async def test_3_2_3_a_dry_run_is_partial_and_writes_nothing(
    toolset: CallableToolset, root: Path, name: str, arguments: dict[str, Any]
) -> None:
    file = root / arguments["path"]
    before = file.read_bytes()
    result = await use(toolset, name, **arguments)
    assert (result.response.status, result.response.data["applied"]) == ("partial", False)
    assert "Dry-run only, no actual write performed." in result.response.text
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "arguments", "code"), BAD)
async def test_3_3_an_error_has_code_and_message_and_no_string(
    toolset: CallableToolset, name: str, arguments: dict[str, Any], code: str
) -> None:
    document = json.loads((await use(toolset, name, **arguments)).response.to_json())
    assert document["error"].keys() == {"code", "message"}
    assert document["error"]["code"] == code
    assert document["error"]["message"] in document["text"]


@pytest.mark.parametrize(("name", "arguments", "code"), BAD)
async def test_4_the_text_of_an_error_says_more_than_the_message(
    toolset: CallableToolset, name: str, arguments: dict[str, Any], code: str
) -> None:
    result = await use(toolset, name, **arguments)
    assert len(result.response.text) > len(result.message) or "CORRECTION" in result.message


async def test_5_the_listing_of_the_example(toolset: CallableToolset) -> None:
    result = await use(toolset, "ls", path="src", limit=2)
    document = result.response.to_dict()
    time_ms = document["stats"].pop("time_ms")
    assert float(time_ms) >= 0
    assert document["stats"]["total_entries"] == 3
    assert document["context"] == {"cwd": ".", "params_input": {"path": "src", "limit": 2}, "path_resolved": "src"}
    assert "error" not in document


async def test_the_frameworks_truncation_has_the_fixed_shape(root: Path) -> None:
    settings = Settings.defaults()
    small = settings.tool_output.model_copy(update={"max_lines": 5, "max_bytes": 100})
    context = context_of(root, settings=settings.model_copy(update={"tool_output": small}))
    result = await use(CallableToolset(builtin_registry(), context), "grep", pattern="TODO")
    context.require_workspace().close()
    data = result.response.data
    assert (result.response.status, sorted(data)) == ("partial", ["preview", "truncated", "truncation"])
    assert data["truncation"].keys() == {
        "direction",
        "max_lines",
        "max_bytes",
        "original_lines",
        "original_bytes",
        "kept_lines",
        "kept_bytes",
        "full_output_path",
    }
    assert result.response.context["params_input"] == {"pattern": "TODO"}
