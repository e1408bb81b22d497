"""Commands that nobody was asked about do not decide what an approved one does."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.kit import VIEWED
from tests.sandbox.test_reusable import settled
from tests.shell.kit import Session
from tests.support.arena import arena_for
from tests.support.privileges import UIDS, run_as
from tests.support.shells import CANARY, LAYERS, Shells, make_layer
from toolgate.shell import state_dump
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

FORGED = r"""
POSIXLY_CORRECT=:${SHELLOPTS}:${BASHOPTS}
{ %s; } > $TMPDIR/dump
/usr/bin/env -u PYTHONPATH python3 -I - <<'END'
import os
parts = open(os.environ["TMPDIR"] + "/dump", "rb").read().split(b"\0")
parts[6] = %r
os.write(os.open("/run/toolgate/state", os.O_WRONLY), b"\0".join(parts))
END
kill -9 $$
"""
"""A command that writes its own state: what should be functions is other code."""


def forge(code: bytes) -> str:
    return FORGED % (state_dump.CODE, code)


def in_session(uid: int, layer: str, script: Callable[[Session], Awaitable[Any]], **environment: str) -> Any:
    async def run(root: Path) -> Any:
        session = Session(root, layer, environment)
        try:
            return await script(session)
        finally:
            await session.shell.close()

    with arena_for(uid) as arena:
        return run_as(uid, lambda: asyncio.run(run(arena.root)))


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize(
    ("layer", "access"),
    [("bwrap", "read"), ("bwrap", "write"), ("namespaces", "read"), ("namespaces", "write"), ("landlock", "read")],
)
def test_full_access_finds_no_file_that_a_lower_access_left_in_home_or_temp(uid: int, layer: str, access: str) -> None:
    files = "~/.curlrc ~/.gitconfig ~/.netrc ~/.npmrc ~/.bashrc ~/.config/pip/pip.conf ~/.local/bin/curl $TMPDIR/left"

    async def script(session: Session) -> tuple[str, str, str]:
        made = f"mkdir -p ~/.config/pip ~/.local/bin; for f in {files}; do echo planted > $f; done"
        await session.run(made, access=access)
        own = await session.run(f"cat {files} | sort | uniq -c", access=access)
        full = await session.run("ls -A ~ $TMPDIR; find ~ $TMPDIR -type f", access="full")
        again = await session.run("cat ~/.curlrc", access=access)
        return own, full, again

    own, full, again = in_session(uid, layer, script, HOME="/home/somebody", PATH="/usr/bin:/bin")

    assert own.split() == ["8", "planted"]  # a control: they are there in the session that made them
    assert not any(name in full for name in (".curlrc", ".gitconfig", "pip.conf", "curl", "left", ".bashrc"))
    assert again == "planted\n"


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "off"])
def test_what_full_access_leaves_at_home_is_there_for_the_next_full_one_only(layer: str) -> None:
    async def script(session: Session) -> tuple[str, str]:
        await session.run("echo kept > ~/.token; echo kept > $TMPDIR/download", access="full")
        higher = await session.run("cat ~/.token $TMPDIR/download", access="full")
        lower = await session.run("cat ~/.token $TMPDIR/download 2>/dev/null || echo none")
        return higher, lower

    assert in_session(os.geteuid(), layer, script) == ("kept\nkept\n", "none\n")


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
def test_a_job_of_a_lower_access_does_not_reach_the_home_of_full_access(layer: str) -> None:
    async def script(session: Session) -> str:
        loop = "while :; do echo planted > ~/.curlrc; echo planted > /tmp/x; echo up > up; done"
        await session.run(loop, background=True)
        while not (session.box.root / "up").exists():
            await asyncio.sleep(0.01)
        return await session.run("sleep 0.2; ls -A ~ /tmp", access="full")

    assert "curlrc" not in in_session(os.geteuid(), layer, script)


@pytest.mark.parametrize(
    "command",
    [
        "f() { echo stolen; }; export -f f; ls() { echo stolen; }; export -f ls",
        "alias ls='echo stolen'; shopt -s expand_aliases",
        "PS4='$(echo stolen >&2)'; set -x",
        "PROMPT_COMMAND='echo stolen'",
        "shopt -s dotglob nullglob; GLOBIGNORE='*'; set -a",
        "IFS=abc; CDPATH=/tmp; trap 'echo stolen' EXIT DEBUG; set -f",
        "declare -n ref=PATH; declare -i n=1; enable -n echo; hash -p /bin/echo ls",
    ],
)
async def test_code_and_options_of_a_lower_access_stay_there(tmp_path: Path, command: str) -> None:
    (tmp_path / "a").write_text("")
    session = Session(tmp_path, "bwrap")
    shown = 'ls a; type ls; shopt dotglob nullglob expand_aliases; echo "$-"; printf "%s|" * "$IFS" "$CDPATH"; trap; f'
    clean = await session.run(shown, access="full")
    await session.run(command, access="read")

    assert await session.run(shown, access="full") == clean
    assert "stolen" not in clean
    await session.shell.close()


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
@pytest.mark.parametrize("uid", UIDS)
def test_a_directory_of_path_that_commands_could_fill_is_not_looked_up(uid: int, layer: str) -> None:
    entries = ["/home/somebody/.local/bin", "/home/somebody", "/tmp/bin", "/var/tmp/bin", "/tmp", "/usr/bin", "/bin"]

    async def script(session: Session) -> tuple[str, str]:
        plant = "for d in ~/.local/bin ~ /tmp/bin /tmp; do mkdir -p $d; printf '#!/bin/sh\\necho planted\\n' > $d/id;"
        await session.run(f"{plant} chmod +x $d/id; done", access="read")
        return await session.run("id -u; echo $PATH"), await session.run("id -u", access="full")

    written, full = in_session(uid, layer, script, HOME="/home/somebody", PATH=":".join(entries))

    assert written == f"{uid}\n/usr/bin:/bin\n"
    assert full == f"{uid}\n"


@pytest.mark.parametrize("place", ["$PWD/bin", "/tmp/bin", "$HOME/bin"])
async def test_a_word_that_path_now_finds_elsewhere_is_asked_about_and_the_place_is_shown(
    tmp_path: Path, place: str
) -> None:
    session = Session(tmp_path, "bwrap")
    plant = f"mkdir -p {place}; printf '#!/bin/sh\\necho planted\\n' > {place}/cat; chmod +x {place}/cat"
    await session.run(f'{plant}; export PATH="$PATH"')
    await session.run(f'p={place}; export PATH="$p:$PATH"')
    detail = await session.asked("cat control")

    assert "\nwith PATH=" in detail
    assert "because: 'cat' is 'bin/cat' here" in detail or "because: PATH finds programs in" in detail
    await session.shell.close()


def test_a_home_that_is_carried_to_another_process_is_not_the_old_private_one(tmp_path: Path) -> None:
    async def run() -> tuple[str, str]:
        async with ShellSession(Workspace(tmp_path), layer=make_layer("landlock"), environment={"HOME": "/x"}) as one:
            await one.execute("export A=1; echo x > ~/.x", access="read")
            text = one.export_state()
            assert text is not None
            async with ShellSession(
                Workspace(tmp_path), layer=make_layer("landlock"), environment={"HOME": "/x"}
            ) as two:
                two.import_state(text)
                full = await two.execute("echo $A; echo x > ~/.y && ls -A ~", access="full")
                read = await two.execute("echo $A; ls -A ~", access="read")
        return full.stdout, read.stdout

    assert asyncio.run(run()) == ("1\n.y\n", "1\n")


@VIEWED
def test_code_that_was_left_as_a_state_does_not_run_between_the_commands(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[bool, bool]:
        await session.execute("true", 60)
        await settled(session)
        await session.execute(forge(b"echo > ran\nf() { :; }\n"), 60)
        starter, history = session._parts()
        assert history.for_access("write").functions.startswith(b"echo > ran")
        while not (starter._spares and starter._spares[0]._is_checked):
            starter.prepare("write", history.for_access("write"), 1)
            await asyncio.sleep(0.005)
        loaded = starter._spares[0].loaded
        await session.execute("true", 60)
        return loaded is None, (shells.root / "ran").exists()

    assert shells.run(script) == (True, True)  # it runs with the next command, as a function of it could


@VIEWED
@pytest.mark.parametrize(
    ("before", "command"),
    [
        pytest.param(forge(b"cat .e?v >> leak\n"), "cat .env", id="code instead of functions"),
        pytest.param(forge(b"function cat { command cat $1 | tee -a leak; }\n"), "cat .env", id="unseen function"),
        pytest.param("cat() { command cat $1 | tee -a leak; }; export -f cat", "bash -c 'cat .env'", id="exported"),
        pytest.param("command_not_found_handle() { cat .e?v >> leak; }", "cat .env; nothing", id="not found"),
        pytest.param("PS4='$(cat .e?v >> leak)'; set -x", "cat .env", id="traced"),
        pytest.param(
            "mkdir bin; ln -s $(type -P tee) bin/sum; export -n PATH; PATH=$PWD/bin:$PATH",
            "sum leak < .env",
            id="path",
        ),
    ],
)
def test_a_command_that_may_read_a_secret_runs_no_code_that_nobody_was_shown(
    shells: Shells, before: str, command: str
) -> None:
    shells.guarded = True
    secret = shells.root / ".env"
    secret.write_text(CANARY)
    secret.chmod(0o644)
    os.chown(secret, shells.uid, shells.uid) if os.geteuid() == 0 else None

    async def script(session: ShellSession) -> str:
        await session.execute(before, 60)
        await session.execute(command, 60, unlocked=(".env",))
        return (await session.execute("cat leak", 60)).stdout

    assert CANARY not in shells.run(script)


@VIEWED
def test_the_answer_says_that_functions_were_left_out(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[str]:
        await session.execute(forge(b"echo\nf() { :; }\n"), 60)
        return [(await session.execute("true", 60, unlocked=names)).stderr for names in ((".env",), ())]

    first, second = shells.run(script)
    assert "the shell's functions were left out" in first
    assert second == ""


@VIEWED
def test_functions_that_a_person_is_shown_stay_when_a_secret_is_read(shells: Shells) -> None:
    shells.guarded = True

    async def script(session: ShellSession) -> list[str]:
        await session.execute("show() { cat .env; }; alias also=show", 60)
        (shells.root / ".env").write_text(CANARY)
        (shells.root / ".env").chmod(0o644)
        return [(await session.execute(line, 60, unlocked=(".env",))).stdout for line in ("show", "also")]

    assert shells.run(script) == [CANARY, CANARY]
