"""Reading, writing and editing files, scenario by scenario.

The file scenarios speak of the commands `read`, `write` and `edit`; here the tools behind them are called.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Foreign, call, toolset_of
from toolgate import CallableToolset, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.testing import AutoApprover


def bash() -> Foreign:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    return Foreign(lambda arguments: asyncio.sleep(0, arguments["command"]), schema, name="Bash")


async def test_unknown_tool_gets_a_bash_correction() -> None:
    """未知工具错误应给出 `Bash(command="...")` 纠正示例"""
    result = await toolset_of(bash()).handle(call("UnknownTool"))
    assert "Unknown tool" in result.message
    assert 'Bash(command="UnknownTool <args>")' in result.message


async def test_unknown_tool_is_command_not_found() -> None:
    """未知工具错误应标记 `failureCategory=command_not_found`"""
    result = (await toolset_of(bash()).handle(call("UnknownTool"))).to_dict()
    assert (result["isError"], result["extras"]["failureCategory"]) == (True, "command_not_found")


async def test_broken_json_names_tool_and_parse_error() -> None:
    """参数 JSON 解析失败应包含 `toolName` 与 `parseError`"""
    result = (await toolset_of(bash()).handle(call("Bash", '{"command": '))).to_dict()
    assert result["extras"]["toolName"] == "Bash"
    assert "line 1 column" in result["extras"]["parseError"]


async def test_success_and_failure_keep_the_id() -> None:
    """成功与失败返回都必须保持原始 `toolCallId`"""
    toolset = toolset_of(bash())
    success = await toolset.handle(call("Bash", '{"command": "ls"}', id="id-success"))
    failure = await toolset.handle(call("Bash", "{", id="id-failure"))
    assert (success.to_dict()["toolCallId"], success.is_error) == ("id-success", False)
    assert (failure.to_dict()["toolCallId"], failure.is_error) == ("id-failure", True)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[CallableToolset]:
    workspace = Workspace(tmp_path)
    context = ToolContext(workspace=workspace, mode=ToolMode.coding, approver=AutoApprover())
    yield CallableToolset(builtin_registry(), context)
    workspace.close()


async def use(project: CallableToolset, name: str, **arguments: Any) -> Any:
    return await project.handle(call(name, arguments))


async def test_read_of_a_missing_file_names_the_path(project: CallableToolset) -> None:
    """`read` 缺失文件时错误应包含目标路径"""
    result = await use(project, "read_file", path="path/not-exists.txt")
    assert (result.is_error, result.response.error.code) == (True, "NOT_FOUND")
    assert "path/not-exists.txt" in result.message


async def test_write_to_a_directory_is_refused_with_the_reason(project: CallableToolset, tmp_path: Path) -> None:
    """`write` 目标为目录时应拒绝并返回明确原因"""
    (tmp_path / "folder").mkdir()
    result = await use(project, "write_file", path="folder", content="x")
    assert (result.is_error, result.response.error.code) == (True, "IS_DIRECTORY")
    assert "is a directory, not a" in result.message
    assert list((tmp_path / "folder").iterdir()) == []


async def test_read_far_past_the_end_is_an_empty_window(project: CallableToolset, tmp_path: Path) -> None:
    """`read` 对大偏移量应稳定返回空窗口而非异常"""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    result = await use(project, "read_file", path="a.txt", start_line=10**12)
    assert (result.response.status, result.response.data) == ("success", {"content": "", "truncated": False})


async def test_edit_all_is_literal(project: CallableToolset, tmp_path: Path) -> None:
    """`edit --all` 应对普通文本执行字面量替换"""
    (tmp_path / "a.txt").write_text("a.c abc a.c a*c\n")
    result = await use(project, "edit_file", path="a.txt", old_string="a.c", new_string=r"\1$&", replace_all=True)
    assert result.response.data["replacements"] == 2
    assert (tmp_path / "a.txt").read_text() == "\\1$& abc \\1$& a*c\n"
