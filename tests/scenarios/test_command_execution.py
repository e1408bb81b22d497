"""Running commands through the tool `Bash`, scenario by scenario."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.shells import processes_with
from tests.support.toolbox import Toolbox
from toolgate.testing import AutoApprover


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


async def test_execute_command(tools: Toolbox) -> None:
    """执行命令 / Execute Command"""
    response = await tools("Bash", command="echo $PPID; echo out; echo err >&2; exit 5")

    assert response.data["stdout"].endswith("\nout\n")
    assert (response.data["stderr"], response.data["exit_code"]) == ("err\n", 5)


async def test_timeout_control(tools: Toolbox) -> None:
    """超时控制 / Timeout Control"""
    mark = "31557600.4171"
    result = await tools.result("Bash", command=f"setsid sleep {mark} & sleep {mark}", timeout_ms=500)

    assert result.response.error is not None
    assert (result.response.error.code, result.extras["failureCategory"]) == ("TIMEOUT", "timeout")
    assert processes_with(f"sleep {mark}") == []


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf data",
        "git push --force",
        "chmod -R 777 .",
        "kill 1",
        "truncate -s 0 data/f",
        "git reset --hard",
        "npm publish",
    ],
)
async def test_permission_check(tmp_path: Path, command: str) -> None:
    """权限检查 / Permission Check"""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/f").write_text("kept")
    approver = AutoApprover(allow=False)
    box = Toolbox(tmp_path, approver=approver)
    response = await box("Bash", command=command)

    assert response.error is not None
    assert (response.error.code, (tmp_path / "data/f").read_text()) == ("APPROVAL_DENIED", "kept")
    assert [request.detail.split("\n")[0] for request in approver.requests] == [command]


async def test_permission_check_runs_after_a_yes(tools: Toolbox) -> None:
    """权限检查 / Permission Check"""
    (tools.root / "f").write_text("x")
    response = await tools("Bash", command="rm f")

    assert (response.status, (tools.root / "f").exists(), len(tools.approver.requests)) == ("success", False, 1)
