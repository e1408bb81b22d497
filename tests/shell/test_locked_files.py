"""Locked files: what a sandbox hides, in every layer and as every user."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.sandbox.kit import VIEWED
from tests.sandbox.test_reusable import settled
from tests.support.shells import CANARY, EVERY_LAYER, Shells
from toolgate.command.analysis import analyse
from toolgate.protocol.plan import Access
from toolgate.runtime.policy.globs import PathGlob
from toolgate.shell.locked_files import LockedFiles, Look
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace, file_guard
from toolgate.workspace.file_guard import FileGuard, PathRules


def place(shells: Shells, name: str, text: str = CANARY) -> Path:
    path = shells.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    if os.geteuid() == 0:
        for owned in (path.parent, path):
            os.chown(owned, shells.uid, shells.uid)
    return path


READS = f"cat .env deep/.env plain 2>&1; echo {CANARY[::-1]}; /usr/bin/env cat < .env; dd if=deep/.env 2>&1; true"


@EVERY_LAYER
@pytest.mark.parametrize("access", ["read", "write", "full"])
def test_commands_cannot_read_locked_files_or_the_report_says_so(shells: Shells, access: Access) -> None:
    place(shells, ".env")
    place(shells, "deep/.env")
    place(shells, "plain")
    shells.guarded, shells.denied = True, ("plain",)
    if shells.layer == "landlock" and access == "write":
        access = "read"  # Landlock alone refuses to write

    async def script(session: ShellSession) -> CommandResult:
        await session.secrets_in("true", analyse("true"))
        return await session.execute(READS, access=access)

    result = shells.run(script)
    assert result.sandbox is not None
    if CANARY in result.stdout:
        assert any("can be read" in line for line in result.sandbox.unconfined)
        assert not shells.has_view
    else:
        assert CANARY[::-1] in result.stdout


@VIEWED
def test_unlocked_files_can_be_read_and_written_and_denied_ones_never(shells: Shells) -> None:
    place(shells, ".env")
    place(shells, "plain")
    shells.guarded, shells.denied = True, ("plain",)

    async def script(session: ShellSession) -> CommandResult:
        await session.secrets_in("true", analyse("true"))
        return await session.execute("cat .env plain; echo more >> .env", unlocked=(".env", "plain"))

    result = shells.run(script)
    assert result.stdout == CANARY
    assert (shells.root / ".env").read_text() == CANARY + "more\n"


@VIEWED
def test_a_file_that_appears_is_locked_for_the_next_command(shells: Shells) -> None:
    shells.guarded = True

    async def script(session: ShellSession) -> list[CommandResult]:
        first = await session.execute("cat .env")
        place(shells, ".env")
        return [first, await session.execute("cat .env"), await session.execute("cat .env")]

    results = shells.run(script)
    assert [result.exit_code for result in results] == [1, 1, 1]
    assert CANARY not in repr(results)
    assert "hidden from commands" in results[1].hint


async def test_a_look_holds_until_the_call_waits() -> None:
    others = [asyncio.ensure_future(asyncio.sleep(0)) for _ in range(3)]
    look = Look()
    before = look.holds
    await asyncio.sleep(0)
    assert (before, look.holds) == (True, False)
    await asyncio.gather(*others)


@VIEWED
@pytest.mark.parametrize("quick", [True, False])
def test_a_command_that_waited_for_another_looks_again(
    shells: Shells, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(file_guard, "_MAX_FOLDERS", 1_500 if quick else -1)
    place(shells, "plain")
    shells.guarded = True

    async def second(session: ShellSession) -> CommandResult:
        look = await session.look()
        return await session.execute("cat .env", look=look)

    async def script(session: ShellSession) -> CommandResult:
        await session.execute("true")
        _, result = await asyncio.gather(session.execute("cp plain .env"), second(session))
        return result

    result = shells.run(script)
    assert (result.exit_code, CANARY in result.stdout) == (1, False)


@VIEWED
@pytest.mark.parametrize("command", ["true", "cp plain .env"])
def test_a_shell_that_was_started_before_a_file_appeared_is_not_used(shells: Shells, command: str) -> None:
    place(shells, "plain")
    shells.guarded = True

    async def script(session: ShellSession) -> CommandResult:
        await session.execute("true")
        await session.execute(command)
        await settled(session)
        place(shells, ".env")
        return await session.execute("cat .env")

    result = shells.run(script)
    assert (result.exit_code, CANARY in result.stdout) == (1, False)


@VIEWED
def test_the_directories_of_a_locked_file_cannot_be_moved_away(shells: Shells) -> None:
    place(shells, "deep/.env")
    shells.guarded = True
    results = shells.commands("mv deep away; cat away/.env deep/.env", "cat away/.env deep/.env; ls")
    assert CANARY not in repr(results)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("cat .env", [".env"]),
        ("cat ./.env sub/.env", [".env", "sub/.env"]),
        ("cd sub && cat .env", [".env", "sub/.env"]),
        ("wc -l < '.env'", [".env"]),
        ("cat .e*", [".env", "sub/.env"]),
        ("python3 -c \"print(open('sub/.env').read())\"", ["sub/.env"]),
        ("docker run --env-file=.env x", [".env"]),
        ("git show HEAD:gone/.env", ["gone/.env"]),
        ("echo .env >> .gitignore", []),
        ("cat .env.example; ls -la .env; test -e .env", []),
        ("node -e 'console.log(process.env.HOME)'", []),
        ("git status; git rm --cached .env", []),
        ("make environment", []),
    ],
)
def test_which_secret_files_a_command_names(tmp_path: Path, command: str, named: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for path in (".env", "sub/.env", ".env.example"):
        (tmp_path / path).write_text("A=1")
    guard = FileGuard(Workspace(tmp_path))
    locked = LockedFiles(guard)
    locked.note(guard.found())
    assert list(locked.named(command, analyse(command), ".")) == named


async def test_a_secret_file_is_found_in_a_very_long_command_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(CANARY)
    workspace = Workspace(tmp_path)
    session = ShellSession(workspace, guard=FileGuard(workspace))
    try:
        for words in (1, 2000):
            command = "true; " * words + "cat .env"
            assert await session.secrets_in(command, analyse(command)) == (".env",)
    finally:
        await session.close()


def test_a_hint_about_very_long_words_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    with Workspace(tmp_path) as workspace:
        guard = FileGuard(workspace, lambda: PathRules(denied=(PathGlob("private/**"),)))
        locked = LockedFiles(guard)
        locked.note(guard.found())
        started = time.process_time()
        assert locked.hint("A" * 40_000 + " Permission denied", str(tmp_path)) == ""
        assert time.process_time() - started < 2
        assert "denies" in locked.hint("cat: private/plan: No such file or directory", str(tmp_path))
