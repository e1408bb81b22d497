"""Reading and editing files, scenario by scenario.

The file scenarios speak of the commands `read` and `edit`; here the tools behind them are called.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Foreign, Patient, call, toolset_of
from toolgate import CallableToolset, ToolContext, ToolDefinition, ToolMode, Workspace, builtin_registry
from toolgate.testing import AutoApprover

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def bash() -> Foreign:
    return Foreign(lambda arguments: asyncio.sleep(0, arguments["command"]), SCHEMA, name="Bash")


def test_tools_are_the_definitions() -> None:
    """`tools` 应暴露底层工具定义数组"""
    assert toolset_of(bash()).tools == [ToolDefinition(name="Bash", description="Foreign.", parameters=SCHEMA)]


async def test_a_known_tool_gets_the_parsed_arguments() -> None:
    """已知工具调用应解析 JSON 参数并执行 handler"""
    tool = bash()
    result = await toolset_of(tool).handle(call("Bash", '{"command":"ls"}', id="call-7"))
    assert tool.calls == [{"command": "ls"}]
    assert (result.to_dict()["toolCallId"], result.response.data) == ("call-7", {"result": "ls"})


async def test_an_unknown_tool_is_an_answer_and_no_exception() -> None:
    """未知工具调用应返回可修复错误而非抛异常"""
    result = await toolset_of(bash()).handle(call("Unknown"))
    assert result.is_error
    assert "Unknown tool" in result.message
    assert "CORRECTION" in result.message


async def test_broken_json_is_invalid_usage() -> None:
    """`arguments` 非法 JSON 时应归类为 `invalid_usage`"""
    result = await toolset_of(bash()).handle(call("Bash", "{broken"))
    assert (result.is_error, result.extras["failureCategory"]) == (True, "invalid_usage")


async def test_broken_json_does_not_call_the_handler() -> None:
    """参数 JSON 解析失败时不应调用底层 handler"""
    tool = bash()
    await toolset_of(tool).handle(call("Bash", "{broken"))
    assert len(tool.calls) == 0


@pytest.mark.parametrize("arguments", ["{broken", "{}", '{"command": 7}'])
async def test_the_message_says_invalid_parameters(arguments: str) -> None:
    """参数错误消息应包含 `Invalid parameters` 关键字"""
    result = await toolset_of(bash()).handle(call("Bash", arguments))
    assert "Invalid parameters" in result.message
    assert 'call Bash with {"command": "…"}' in result.message


async def test_cancel_reaches_the_tools_own_cancel() -> None:
    """工具 Promise 携带 `cancel` 时应透传给 `toolset.handle` 返回值"""
    made: list[Patient] = []

    def start(arguments: dict[str, Any]) -> Patient:
        made.append(Patient())
        return made[0]

    pending = toolset_of(Foreign(start, SCHEMA, name="Bash")).handle(call("Bash", '{"command": "sleep"}', id="call-9"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    pending.cancel()
    result = await pending
    assert made[0].cancels == 1
    assert (pending.tool_call_id, result.tool_call_id) == ("call-9", "call-9")


async def test_a_cancelled_call_does_not_spoil_the_next_one() -> None:
    """取消调用不应污染后续正常工具执行"""
    toolset = toolset_of(Foreign(lambda _: Patient(), name="slow"), bash())
    pending = toolset.handle(call("slow"))
    await asyncio.sleep(0)
    pending.cancel()
    await pending
    result = await toolset.handle(call("Bash", '{"command": "ls"}', id="next"))
    assert (result.tool_call_id, result.is_error) == ("next", False)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[CallableToolset]:
    workspace = Workspace(tmp_path)
    context = ToolContext(workspace=workspace, mode=ToolMode.coding, approver=AutoApprover())
    yield CallableToolset(builtin_registry(), context)
    workspace.close()


async def use(project: CallableToolset, name: str, **arguments: Any) -> Any:
    return await project.handle(call(name, arguments))


async def test_read_with_offset_and_limit_is_a_stable_window(project: CallableToolset, tmp_path: Path) -> None:
    """`read` 同时带 `--offset` 与 `--limit` 时应返回稳定窗口"""
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 10)))
    result = await use(project, "read_file", path="a.txt", start_line=3, limit=3)
    assert result.response.data["content"] == "     3\tline 3\n     4\tline 4\n     5\tline 5"


async def test_edit_refuses_what_is_ambiguous_and_keeps_the_rest(project: CallableToolset, tmp_path: Path) -> None:
    """`edit` 默认仅替换首个匹配且保留其余匹配: the command does; the tool asks which one is meant."""
    (tmp_path / "a.txt").write_text("x\nx\nx\n")
    result = await use(project, "edit_file", path="a.txt", old_string="x", new_string="y")
    assert (result.response.error.code, (tmp_path / "a.txt").read_text()) == ("INVALID_PARAM", "x\nx\nx\n")
    first = await use(project, "edit_file", path="a.txt", old_string="x", new_string="y", first_only=True)
    assert (first.is_error, (tmp_path / "a.txt").read_text()) == (False, "y\nx\nx\n")


async def test_edit_of_what_is_not_there_fails_and_changes_nothing(project: CallableToolset, tmp_path: Path) -> None:
    """`edit` 旧字符串不存在时应失败且文件内容不变"""
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo")
    before = (tmp_path / "a.txt").stat().st_mtime_ns
    result = await use(project, "edit_file", path="a.txt", old_string="three", new_string="3")
    assert (result.is_error, result.response.error.code) == (True, "INVALID_PARAM")
    assert "not found" in result.message
    assert ((tmp_path / "a.txt").read_bytes(), (tmp_path / "a.txt").stat().st_mtime_ns) == (b"one\r\ntwo", before)
