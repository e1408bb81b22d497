"""The sandbox as a boundary: what commands see and may change, in every layer that can promise it."""

import os
import subprocess

import pytest

from tests.support.shells import LAYERS, Shells, shells_for
from toolgate.errors import ToolError
from toolgate.sandbox import choose_layer
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession

VIEWS = ("bwrap", "namespaces")


@pytest.fixture(params=VIEWS)
def layer(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def repository(shells: Shells) -> None:
    subprocess.run(["git", "init", "-q", shells.root], check=True)
    (shells.root / ".git" / "hooks" / "pre-commit").write_text("original")
    for path in (shells.root / ".git", *(shells.root / ".git").rglob("*")):
        os.chown(path, shells.uid, shells.uid) if os.geteuid() == 0 else None


def test_read_access_changes_nothing_in_the_root(shells: Shells) -> None:
    result = shells.command("touch new; echo x > $TMPDIR/scratch && cat $TMPDIR/scratch; mkdir sub/x", access="read")

    assert result.stdout == "x\n"
    assert 'access="write"' in result.hint
    assert [path.name for path in shells.root.rglob("*")] == ["sub"]


def test_full_access_may_write_an_approved_root_and_gits_configuration(shells: Shells) -> None:
    repository(shells)

    async def script(session: ShellSession) -> CommandResult:
        command = f"echo made > {shells.evil}/new; git -c safe.directory='*' config user.name someone"
        return await session.execute(command, access="full", roots=[str(shells.evil)])

    assert shells.run(script).exit_code == 0
    assert (shells.evil / "new").read_text() == "made\n"
    assert "someone" in (shells.root / ".git" / "config").read_text()


def test_the_report_says_what_was_in_force(shells: Shells) -> None:
    report = shells.command("true").sandbox

    assert report is not None
    assert (report.layer, report.access, report.network) == (
        "bwrap" if shells.layer == "bwrap" else "landlock",
        "write",
        False,
    )
    assert "no network" in report.enforced


def test_without_a_sandbox_commands_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.sandbox.bubblewrap.find_bubblewrap", lambda *_: None)
    monkeypatch.setattr("toolgate.sandbox.native_layers.find_native", lambda *_: None)
    with pytest.raises(ToolError, match="so commands are not run"):
        choose_layer("auto")

    assert choose_layer("off").name == "off"


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_claims_nothing_twice(name: str) -> None:
    with shells_for(os.geteuid(), name) as shells:
        report = shells.command("true").sandbox

    assert report is not None
    assert not set(report.enforced) & set(report.missing)
