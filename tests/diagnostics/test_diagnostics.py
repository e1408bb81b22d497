"""Diagnostics after an edit, with real programs in a real sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import call
from toolgate import CallableToolset
from toolgate.settings import Settings
from toolgate.testing import AutoApprover


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    (made / "app.py").write_text("one\nbad old\nthree\n")
    return made


@asynccontextmanager
async def opened(root: Path, **diagnostics: Any) -> AsyncIterator[CallableToolset]:
    settings = Settings.of(diagnostics=diagnostics)
    async with toolgate.open(root, mode="coding", approver=AutoApprover(), settings=settings) as toolset:
        yield toolset


LINT = "grep -n bad {file} | sed 's|^\\([0-9]*\\):.*|app.py:\\1:1: B1 something bad|'"
"""A checker that finds one kind of problem."""


async def test_only_new_problems_are_in_the_result(root: Path) -> None:
    async with opened(root, command=LINT) as toolset:
        edit = {"path": "app.py", "old_string": "one\n", "new_string": "zero\nbad new\n"}
        result = await toolset.handle(call("edit_file", edit))
        assert result.response.data["diagnostics"] == [
            {"path": "app.py", "line": 2, "checker": "command", "message": "B1 something bad"}
        ]
        assert "The change causes 1 new problem:\napp.py:2: B1 something bad (command)" in result.output
        clean = {"path": "app.py", "old_string": "three", "new_string": "four"}
        result = await toolset.handle(call("edit_file", clean, id="c2"))
        assert result.response.data["diagnostics"] == []
        assert "problem" not in result.output
        fixed = await toolset.handle(call("write_file", {"path": "app.py", "content": "good\n"}, id="c3"))
        assert fixed.response.data["diagnostics"] == []


async def test_new_files_and_patches_are_checked(root: Path) -> None:
    command = "grep -n bad {file} /dev/null | sed 's|^./||; s|:bad.*|:1: B1 something bad|'"
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+bad\n*** Update File: app.py\n@@\n-three\n+bad three\n*** End Patch\n"
    )
    async with opened(root, command=command) as toolset:
        result = await toolset.handle(call("apply_patch", {"patch": patch}))
        found = {(item["path"], item["line"]) for item in result.response.data["diagnostics"]}
        assert found == {("new.py", 1), ("app.py", 3)}


async def test_without_a_setting_nothing_is_run(root: Path) -> None:
    async with opened(root) as toolset:
        result = await toolset.handle(call("write_file", {"path": "new.py", "content": "bad"}))
        assert "diagnostics" not in result.response.data


async def test_d02_a_checker_that_hangs_is_ended_and_the_change_is_made(root: Path) -> None:
    async with opened(root, command="sleep 600; cat {file}", timeout=0.5) as toolset:
        result = await toolset.handle(call("write_file", {"path": "new.py", "content": "bad"}))
        assert result.response.status == "success"
        assert "command did not end within 0.5 seconds" in result.output
    assert (root / "new.py").read_text() == "bad"


async def test_d03_a_checker_writes_nothing_and_has_no_network_and_no_secrets(root: Path) -> None:
    (root / ".env").write_text("TOKEN=hunter2-0123456789")
    attack = (
        "echo x > {file}.written; echo x > /tmp/../{file}; exec 3<>/dev/tcp/127.0.0.1/22; "
        "cat .e* | sed 's|^|app.py:1: |'; true"
    )
    before = sorted(path.name for path in root.iterdir())
    async with opened(root, command=attack) as toolset:
        edit = {"path": "app.py", "old_string": "three", "new_string": "four"}
        result = await toolset.handle(call("edit_file", edit))
        assert result.response.status == "success", result.output
        assert "hunter2" not in result.output + result.response.to_json()
    assert [path.name for path in sorted(root.iterdir()) if path.name not in before and path.name != ".toolgate"] == []
    assert (root / "app.py").read_text() == "one\nbad old\nfour\n"


async def test_d04_without_a_sandbox_no_checker_is_run(root: Path) -> None:
    settings = Settings.of(diagnostics={"command": "touch ran"}, shell={"sandbox": "off"})
    async with toolgate.open(root, mode="coding", approver=AutoApprover(), settings=settings) as toolset:
        result = await toolset.handle(call("write_file", {"path": "new.py", "content": "x"}))
        assert "could not be run: the sandbox does not confine it" in result.output
    assert not (root / "ran").exists()


async def test_d05_the_session_shell_does_not_steer_a_checker(root: Path) -> None:
    async with opened(root, command=LINT) as toolset:
        planted = "cd /tmp; grep() { echo app.py:9: planted; }; export -f grep; alias grep=false; export GREP_COLORS=x"
        await toolset.handle(call("Bash", {"command": planted}))
        edit = {"path": "app.py", "old_string": "one", "new_string": "bad one"}
        result = await toolset.handle(call("edit_file", edit, id="c2"))
        assert [item["line"] for item in result.response.data["diagnostics"]] == [1]


async def test_ruff_is_found_on_path_and_says_what_is_new(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ruff"
    program.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        "grep -n bad \"$last\" | sed 's|^\\([0-9]*\\):.*|app.py:\\1:1: F821 Undefined name|'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    settings = Settings.of(diagnostics={"checkers": ["auto"]}, shell={"readable": [str(folder)]})
    async with toolgate.open(root, mode="coding", approver=AutoApprover(), settings=settings) as toolset:
        edit = {"path": "app.py", "old_string": "one", "new_string": "bad one"}
        result = await toolset.handle(call("edit_file", edit))
        assert "app.py:1: F821 Undefined name (ruff)" in result.output


async def test_d02_a_checker_that_cannot_be_run_is_named_and_the_change_is_made(root: Path) -> None:
    async with opened(root, command="no-such-checker {file}") as toolset:
        result = await toolset.handle(call("write_file", {"path": "new.py", "content": "bad"}))

    assert result.response.status == "success"
    assert "command could not be run: bash: line 1: no-such-checker: command not found." in result.output
