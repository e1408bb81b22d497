"""`TOOLGATE_SHELL_ROOTS`: directories beside the project that full access may write, and the request that says so."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.privileges import UIDS, public_directory, run_as
from tests.support.shells import make_layer
from tests.support.toolbox import Toolbox
from toolgate import ToolResponse
from toolgate.settings import Settings, ShellSettings
from toolgate.shell.options import ShellOptions
from toolgate.shell.session import ShellSession
from toolgate.testing import AutoApprover


def box_with(root: Path, roots: str, layer: str = "bwrap", **context: Any) -> Toolbox:
    shell = ShellSettings.model_validate({"roots": roots})
    policy = root.parent / "data/policy.toml"
    settings = Settings.of(shell=shell, policy_file=policy if policy.exists() else None)
    box = Toolbox(root, settings=settings, **context)
    box.context.state.shell = ShellSession(
        box.context.require_workspace(), options=ShellOptions.of(settings, str(root)), layer=make_layer(layer)
    )
    return box


async def answers(box: Toolbox, *calls: tuple[str, str]) -> list[ToolResponse]:
    try:
        return [await box("Bash", command=command, access=access) for command, access in calls]
    finally:
        await box.context.shell.close()


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
def test_full_access_may_write_there_and_nothing_else_may(uid: int, layer: str) -> None:
    with public_directory() as base:
        for name in ("root", "data"):
            (base / name).mkdir()
        (base / "data/policy.toml").write_text("")
        (base / "data/kept").write_text("kept")
        for path in (base, *base.rglob("*")):
            os.chown(path, uid, uid) if os.geteuid() == 0 else None
        data = base / "data"

        def attempt() -> tuple[list[ToolResponse], list[str]]:
            box = box_with(base / "root", str(data), layer)
            write = f"echo new > {data}/new; cat {data}/kept"
            calls = [
                (write, "write"),
                (write, "full"),
                (f"cat {data}/policy.toml; echo x > {data}/policy.toml", "full"),
            ]
            return asyncio.run(answers(box, *calls)), [request.detail for request in box.approver.requests]

        (outside, full, policy), details = run_as(uid, attempt)
        written = (data / "new").read_text()

    assert outside.data["exit_code"] == 1
    assert "No such file or directory" in outside.data["stderr"]
    assert (full.data["stdout"], full.data["exit_code"], written) == ("kept", 0, "new\n")
    assert full.data["sandbox"]["roots"] == [str(data)]
    assert "roots" not in outside.data["sandbox"]
    assert policy.data["exit_code"] == 1
    assert f"because: it may write '{data}'" in details[-1]


async def test_without_approval_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "data").mkdir()
    box = box_with(tmp_path / "root", str(tmp_path / "data"), approver=AutoApprover(allow=False))

    (response,) = await answers(box, (f"touch {tmp_path}/data/new", "full"))

    assert response.error is not None
    assert response.error.code == "APPROVAL_DENIED"
    assert list((tmp_path / "data").iterdir()) == []


async def test_a_directory_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    box = box_with(tmp_path, "/nonexistent/data")

    (response,) = await answers(box, ("true", "full"))

    assert response.error is not None
    assert response.error.message.startswith("'/nonexistent/data' is to be writable with full access")


@pytest.mark.parametrize("roots", ["data", "/", "/usr/lib", "/etc", "/proc/1"])
def test_only_a_directory_that_is_not_the_systems_can_be_set(roots: str) -> None:
    with pytest.raises(ValueError, match="must"):
        ShellSettings.model_validate({"roots": roots})
