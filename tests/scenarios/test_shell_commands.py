"""Shell commands and agent commands, scenario by scenario; each docstring is the title of its scenario.

Each holds for the handlers of `toolgate.shell` on a real session and for calls of `Bash`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kit import unchanged
from tests.support.toolbox import Toolbox
from toolgate import ToolCall, ToolResult
from toolgate.shell import BashWrapperHandler, CommandResult, CommandRouter


class Listening:
    """A session that notes what it is asked to run."""

    def __init__(self, box: Toolbox) -> None:
        self._session = box.context.shell
        self.received: list[str] = []

    async def execute(self, command: str) -> CommandResult:
        self.received.append(command)
        return await self._session.execute(command)


class Surfaces:
    """The three ways in: the wrapper, the router, and a call of Bash."""

    def __init__(self, box: Toolbox) -> None:
        self.box = box
        self.root = box.root
        self.session = Listening(box)
        self.wrapper = BashWrapperHandler(self.session)
        self.router = CommandRouter(box.context.shell, self._dispatch)

    async def _dispatch(self, call: ToolCall) -> ToolResult:
        return await self.box.toolset.handle(call)

    async def bash(self, command: str) -> CommandResult:
        data = (await self.box("Bash", command=command)).data
        return CommandResult(data["stdout"], data["stderr"], data["exit_code"])

    async def run(self, way: str, command: str) -> tuple[str, str, int | None]:
        runner = {"wrapper": self.wrapper.execute, "router": self.router.execute, "Bash": self.bash}[way]
        result = await runner(command)
        return result.stdout, result.stderr, result.exit_code


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Surfaces]:
    box = Toolbox(tmp_path)
    yield Surfaces(box)
    await box.context.aclose()


ALL = pytest.mark.parametrize("way", ["wrapper", "router", "Bash"])
ROUTED = pytest.mark.parametrize("way", ["router", "Bash"])


async def test_the_wrapper_passes_the_command_on(shell: Surfaces) -> None:
    """`bash <command>` 应去掉前缀后透传给会话执行器"""
    result = await shell.wrapper.execute("bash echo hi")

    assert (shell.session.received, result.stdout) == (["echo hi"], "hi\n")


@ALL
async def test_the_output_is_that_of_the_command(shell: Surfaces, way: str) -> None:
    """`bash <command>` 应去掉前缀后透传给会话执行器"""
    assert await shell.run(way, "bash echo hi") == ("hi\n", "", 0)


@ALL
async def test_bash_alone_is_a_usage_error(shell: Surfaces, way: str) -> None:
    """`bash` 无参数时应返回 Usage 错误"""
    stdout, stderr, exit_code = await shell.run(way, "bash")

    assert (stdout, exit_code != 0, "Usage: bash <command>" in stderr) == ("", True, True)


@ALL
async def test_h_behind_a_command_is_no_help(shell: Surfaces, way: str) -> None:
    """`bash echo -h` 不应被识别为帮助模式"""
    assert await shell.run(way, "bash echo -h") == ("-h\n", "", 0)


@ALL
async def test_help_with_many_spaces(shell: Surfaces, way: str) -> None:
    """`bash    --help`（含多空格）应识别为帮助模式"""
    stdout, stderr, exit_code = await shell.run(way, "bash    --help")

    assert (stdout.startswith("Usage: bash <command>"), stderr, exit_code) == (True, "", 0)
    assert shell.session.received == []


@ROUTED
async def test_a_missing_file_is_named(shell: Surfaces, way: str) -> None:
    """`read` 缺失文件时错误应包含目标路径"""
    for path in ("/path/not-exists.txt", "not-exists.txt"):
        stdout, stderr, exit_code = await shell.run(way, f"read {path}")
        assert (stdout, exit_code, path in stderr) == ("", 1, True)


@ROUTED
async def test_a_directory_is_no_file_to_write(shell: Surfaces, way: str) -> None:
    """`write` 目标为目录时应拒绝并返回明确原因"""
    (shell.root / "directory").mkdir()
    stdout, stderr, exit_code = await shell.run(way, "write directory content")

    assert (stdout, exit_code) == ("", 1)
    assert "'directory' is a directory" in stderr


@ROUTED
@pytest.mark.parametrize("digits", [12, 19, 20, 40, 5000])
async def test_a_very_large_offset_is_an_empty_window(shell: Surfaces, way: str, digits: int) -> None:
    """`read` 对大偏移量应稳定返回空窗口而非异常"""
    (shell.root / "f.txt").write_text("one\ntwo\n")

    assert await shell.run(way, f"read f.txt --offset {'9' * digits}") == ("", "", 0)


@ROUTED
async def test_edit_all_is_literal(shell: Surfaces, way: str) -> None:
    """`edit --all` 应对普通文本执行字面量替换"""
    (shell.root / "f.txt").write_text("a.b axb a.b [a.b]\n")
    _, _, exit_code = await shell.run(way, "edit f.txt a.b c --all")

    assert (exit_code, (shell.root / "f.txt").read_text()) == (0, "c axb c [c]\n")


@ROUTED
async def test_offset_and_limit_give_a_stable_window(shell: Surfaces, way: str) -> None:
    """`read` 同时带 `--offset` 与 `--limit` 时应返回稳定窗口"""
    (shell.root / "f.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    for _ in range(2):
        stdout, _, exit_code = await shell.run(way, "read f.txt --offset 2 --limit 3")
        assert (stdout, exit_code) == ("     3\tline 3\n     4\tline 4\n     5\tline 5", 0)


@ROUTED
async def test_edit_replaces_the_first_match_only(shell: Surfaces, way: str) -> None:
    """`edit` 默认仅替换首个匹配且保留其余匹配"""
    (shell.root / "f.txt").write_text("old old\nold\n")
    _, _, exit_code = await shell.run(way, "edit f.txt old new")

    assert (exit_code, (shell.root / "f.txt").read_text()) == (0, "new old\nold\n")


@ROUTED
async def test_an_edit_that_misses_changes_nothing(shell: Surfaces, way: str) -> None:
    """`edit` 旧字符串不存在时应失败且文件内容不变"""
    (shell.root / "f.txt").write_text("something else\n")
    before = unchanged(shell.root / "f.txt")
    stdout, stderr, exit_code = await shell.run(way, "edit f.txt old_string new_string")

    assert (stdout, exit_code, "not found" in stderr) == ("", 1, True)
    assert unchanged(shell.root / "f.txt") == before


async def test_a_known_tool_is_called_with_its_parsed_arguments(shell: Surfaces) -> None:
    """已知工具调用应解析 JSON 参数并执行 handler"""
    result = await shell.box.toolset.handle(ToolCall(id="call-7", name="Bash", arguments='{"command":"ls"}'))

    assert (result.tool_call_id, result.is_error) == ("call-7", False)
    assert result.response.context["params_input"] == {"command": "ls"}


async def test_a_cancelled_call_does_not_disturb_the_next(shell: Surfaces) -> None:
    """取消调用不应污染后续正常工具执行"""
    pending = shell.box.toolset.handle(ToolCall(id="first", name="Bash", arguments='{"command":"sleep 60"}'))
    pending.cancel()
    cancelled = await pending
    followed = await shell.box.toolset.handle(ToolCall(id="second", name="Bash", arguments='{"command":"echo ok"}'))

    assert (cancelled.tool_call_id, cancelled.is_error) == ("first", True)
    assert (followed.tool_call_id, followed.response.data["stdout"]) == ("second", "ok\n")
