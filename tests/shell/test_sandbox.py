"""The sandbox as a boundary: what commands see and may change, in every layer that can promise it."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.privileges import UIDS
from tests.support.shells import CANARY, LAYERS, Shells, processes_with, shells_for
from toolgate.errors import ToolError
from toolgate.process import tree
from toolgate.sandbox import choose_layer
from toolgate.sandbox.bubblewrap import Bubblewrap
from toolgate.sandbox.layer import Wrapper
from toolgate.sandbox.view import View
from toolgate.shell.options import ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

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


ATTACKS = [
    "echo evil > .git/config",
    "echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/new",
    "rm -rf .git/hooks; mkdir .git/hooks && echo evil > .git/hooks/new",
    "mv .git/hooks .git/old; mkdir .git/hooks && echo evil > .git/hooks/new",
    "mv .git .moved; mkdir -p .git/hooks && echo evil > .git/hooks/new",
    "ln -sfn ../sub .git/hooks",
    "git config core.pager evil",
    "chmod -R 777 .git/hooks; echo evil > .git/hooks/pre-commit",
    "mkdir -p .toolgate && echo evil > .toolgate/policy.toml",
    "rmdir .toolgate; ln -s sub .toolgate; echo evil > .toolgate/policy.toml",
    "cp -r .git /tmp/copy; echo evil > /tmp/copy/config; mv /tmp/copy/config .git/config",
    "unshare -rm umount .git/config; echo evil > .git/config",
    "mount -o remount,rw .git/config; echo evil > .git/config",
    'python3 -I -c \'import os; os.rename("sub", ".git/hooks")\'',
]


def protected_state(root: Path) -> list[tuple[str, bytes]]:
    found = []
    for name in (".git/hooks", ".git/config", ".toolgate"):
        for path in sorted([root / name, *(root / name).rglob("*")]):
            if path.is_file():
                found.append((str(path.relative_to(root)), path.read_bytes()))
    return found


def test_protected_paths_that_exist_stay_as_they_are(shells: Shells) -> None:
    repository(shells)
    before = protected_state(shells.root)
    results = shells.commands(*ATTACKS)

    assert protected_state(shells.root) == before
    assert (shells.root / ".git" / "hooks").is_dir()
    assert not any(result.timed_out for result in results)


def test_protected_paths_that_do_not_exist_cannot_be_made(shells: Shells) -> None:
    shells.commands(*ATTACKS, "git init; git init -q sub/../.", "ln -s /etc .git", "echo gitdir: /tmp > .git")

    assert not (shells.root / ".git").exists()
    assert not (shells.root / ".toolgate").exists()
    assert sorted(path.name for path in shells.root.iterdir()) == ["sub"]


def test_mount_points_for_missing_paths_are_gone_after_the_session(shells: Shells) -> None:
    repository(shells)
    shutil.rmtree(shells.root / ".git" / "hooks")

    async def script(session: ShellSession) -> tuple[int | None, bool]:
        result = await session.execute("echo evil > .git/hooks/new")
        return result.exit_code, (shells.root / ".toolgate").exists()

    assert shells.run(script) == (1, True)
    assert not (shells.root / ".toolgate").exists()
    assert not (shells.root / ".git" / "hooks").exists()


def test_a_second_session_keeps_the_mount_points_that_it_shares(shells: Shells) -> None:
    async def script(first: ShellSession) -> tuple[bool, CommandResult]:
        await first.execute("true")
        other = ShellSession(Workspace(shells.root), layer=first._layer, environment={})
        await other.execute("true")
        await first.close()
        still = (shells.root / ".toolgate").exists()
        result = await other.execute("mkdir -p .toolgate/x")
        await other.close()
        return still, result

    still, result = shells.run(script)

    assert still
    assert result.exit_code == 1
    assert not (shells.root / ".toolgate").exists()


def test_what_redirects_gits_configuration_cannot_be_made(shells: Shells) -> None:
    repository(shells)
    result = shells.command("mkdir evil; echo ../evil > .git/commondir")

    assert "Read-only file system" in result.stderr
    assert not (shells.root / ".git" / "commondir").exists()


@pytest.mark.parametrize("name", [".git", ".toolgate"])
def test_a_protected_path_that_is_a_link_stops_writing_access(shells: Shells, name: str) -> None:
    repository(shells)
    target = shells.root / name
    if target.exists():
        target.rename(shells.root / "moved")
    target.symlink_to(shells.root / "sub")

    async def script(session: ShellSession) -> str:
        with pytest.raises(ToolError) as caught:
            await session.execute("true")
        return caught.value.message

    assert "cannot be protected" in shells.run(script)


def test_the_runtimes_own_files_are_hidden_in_every_access(shells: Shells) -> None:
    (shells.root / ".toolgate").mkdir()
    (shells.root / ".toolgate" / "policy.toml").write_text(CANARY)
    (shells.root / "data.db").write_text(CANARY)
    for name in (".toolgate", ".toolgate/policy.toml", "data.db"):
        os.chown(shells.root / name, shells.uid, shells.uid) if os.geteuid() == 0 else None
    shells.options = ShellOptions(hidden=(str(shells.root / "data.db"), str(shells.root / "later.db")))

    async def script(session: ShellSession) -> list[CommandResult]:
        command = "cat .toolgate/policy.toml data.db; echo evil > data.db; echo evil > later.db"
        return [await session.execute(command, access=access) for access in ("read", "write", "full")]

    assert CANARY not in repr(shells.run(script))
    assert (shells.root / "data.db").read_text() == CANARY
    assert not (shells.root / "later.db").exists()


def test_read_access_changes_nothing_in_the_root(shells: Shells) -> None:
    result = shells.command("touch new; echo x > $TMPDIR/scratch && cat $TMPDIR/scratch; mkdir sub/x", access="read")

    assert result.stdout == "x\n"
    assert 'access="write"' in result.hint
    assert [path.name for path in shells.root.rglob("*")] == ["sub"]


def test_nothing_outside_the_root_can_be_read_or_written(shells: Shells) -> None:
    command = (
        f"cat {shells.evil}/secret.txt ../root-evil/secret.txt; ls ..; echo x > {shells.evil}/new; echo x > /etc/new"
    )
    for result in shells.commands(command, access="write") + shells.commands(command, access="full"):
        assert CANARY not in repr(result)
        assert "root-evil" not in result.stdout
    assert [path.name for path in shells.evil.iterdir()] == ["secret.txt"]


def test_links_planted_in_the_private_directories_lead_the_next_set_up_nowhere(shells: Shells) -> None:
    top = shells.root.parts[2]
    shells.commands(
        f"cd /tmp; mv {top} moved; ln -s {shells.evil} {top}; ln -s /oldroot{shells.evil} x; cd ~; mv .cargo c;"
        f"ln -sfn /oldroot{shells.evil} .local; ln -sfn /oldroot{shells.evil} .cargo",
        "true",
        "cd ~; ls",
    )

    assert [path.name for path in shells.evil.iterdir()] == ["secret.txt"]


def test_full_access_may_write_an_approved_root_and_gits_configuration(shells: Shells) -> None:
    repository(shells)

    async def script(session: ShellSession) -> CommandResult:
        command = f"echo made > {shells.evil}/new; git -c safe.directory='*' config user.name someone"
        return await session.execute(command, access="full", roots=[str(shells.evil)])

    assert shells.run(script).exit_code == 0
    assert (shells.evil / "new").read_text() == "made\n"
    assert "someone" in (shells.root / ".git" / "config").read_text()


def test_there_is_no_network_and_the_hint_says_what_would_help(shells: Shells) -> None:
    result, own = shells.commands(
        "python3 -I -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
        "python3 -I -c 'from socket import *; s = create_server((\"\", 0)); create_connection(s.getsockname())'",
    )

    assert result.exit_code == 1
    assert 'access="full"' in result.hint
    assert own.exit_code == 0


def test_abstract_sockets_of_the_host_cannot_be_reached(shells: Shells) -> None:
    import socket

    name = "toolgate-test-" + os.urandom(8).hex()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + {name!r})"
        result = shells.command(f'python3 -I -c "{code}"')

    assert result.exit_code == 1


def test_kernel_settings_cannot_be_written(shells: Shells) -> None:
    results = shells.commands(
        "echo x > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "mount -t tmpfs x /mnt",
        "unshare -rm true",
    )

    assert [result.exit_code == 0 for result in results] == [False] * 4


def test_homes_and_keys_are_hidden(shells: Shells) -> None:
    result = shells.command("ls -A ~ /home 2>/dev/null; cat /etc/shadow ~/.ssh/* /root/.ssh/* 2>/dev/null")

    assert set(result.stdout.split()) <= {".cargo", ".pyenv", ".rustup", ".nvm", "/root:", "/home:"}


def test_the_private_temp_lasts_as_long_as_the_session(shells: Shells) -> None:
    first, second = shells.commands("echo kept > /tmp/f; echo $TMPDIR", "cat /tmp/f")

    assert (first.stdout, second.stdout) == ("/tmp\n", "kept\n")


def test_output_through_device_names_is_not_lost(shells: Shells) -> None:
    result = shells.command("echo one; echo two > /dev/stdout; echo three > /dev/stderr; echo four | tee /dev/stderr")

    assert (result.stdout, result.stderr) == ("one\ntwo\nfour\n", "three\nfour\n")


def test_the_report_says_what_was_in_force(shells: Shells) -> None:
    report = shells.command("true").sandbox

    assert report is not None
    assert (report.layer, report.access, report.network) == (
        "bwrap" if shells.layer == "bwrap" else "landlock",
        "write",
        False,
    )
    assert "no network" in report.enforced


@pytest.mark.parametrize("uid", UIDS)
def test_landlock_alone_refuses_to_write_what_it_cannot_protect(uid: int) -> None:
    with shells_for(uid, "landlock") as shells:

        async def script(session: ShellSession) -> str:
            with pytest.raises(ToolError) as caught:
                await session.execute("true", access="write")
            return caught.value.message

        assert "cannot be enforced" in shells.run(script)


@pytest.mark.parametrize("uid", UIDS)
def test_landlock_alone_enforces_reading(uid: int) -> None:
    with shells_for(uid, "landlock") as shells:
        (shells.root / "f").write_text("readable\n")
        (shells.root / ".toolgate").mkdir()
        (shells.root / ".toolgate" / "p").write_text(CANARY)
        results = shells.commands(
            f"cat f; cat .toolgate/p {shells.evil}/secret.txt /etc/shadow; touch new sub/new;"
            "echo x > $TMPDIR/f; cat $TMPDIR/f",
            "python3 -I -c 'import socket; socket.socket()'",
            "python3 -I -c 'import socket; socket.socket(socket.AF_UNIX)'",
            "kill -0 $PPID",
        )

        assert results[0].stdout == "readable\nx\n"
        assert CANARY not in repr(results)
        assert [result.exit_code for result in results[1:3]] == [1, 1]
        assert sorted(path.name for path in shells.root.rglob("*")) == [".toolgate", "f", "p", "sub"]


def test_without_a_sandbox_commands_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.sandbox.bubblewrap.find_bubblewrap", lambda *_: None)
    monkeypatch.setattr("toolgate.sandbox.native_layers.find_native", lambda *_: None)
    with pytest.raises(ToolError, match="so commands are not run"):
        choose_layer("auto")

    assert choose_layer("off").name == "off"


@pytest.mark.parametrize("root", ["/", "/etc", "/tmp"])
async def test_a_system_directory_is_no_root(root: str) -> None:
    session = ShellSession(Workspace(root), environment={"HOME": "/root"})
    with pytest.raises(ToolError) as caught:
        await session.execute("true")
    await session.close()

    assert "narrower project root" in caught.value.next_step


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_claims_nothing_twice(name: str) -> None:
    with shells_for(os.geteuid(), name) as shells:
        report = shells.command("true").sandbox

    assert report is not None
    assert not set(report.enforced) & set(report.missing)


class HalfMade(Bubblewrap):
    """A set-up that never gets further than having a first process, which is tied to nothing yet."""

    def wrap(self, view: View, info_fd: int) -> Wrapper:
        return Wrapper(["/bin/sh", "-c", "sleep 654321.75 & wait"])


async def test_a_sandbox_that_is_ended_while_it_is_set_up_leaves_nothing(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path), layer=HalfMade("/bin/sh", nested=True))
    starter, _ = session._parts()
    starter.prepare("write", None, 1)
    while not tree.children(starter._spares[0]._process.pid):
        await asyncio.sleep(0.01)
    await session.close()

    assert processes_with("654321.75") == []
