"""Jobs that can be typed into: in every layer, as every user."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.support.shells import EVERY_LAYER, Shells
from toolgate.errors import ToolError
from toolgate.shell.command_run import CommandRun
from toolgate.shell.console import Console
from toolgate.shell.session import ShellSession

PATIENCE = 60.0


async def start(session: ShellSession, shells: Shells, command: str, console: Console) -> CommandRun:
    result = await session.execute(command, access=shells.access, background=True, console=console)
    assert result.job_id is not None
    return session.jobs.run(result.job_id)


async def say(run: CommandRun, text: str, until: str) -> None:
    """Type something and wait for the answer."""
    assert run.console is not None
    run.console.take_recent()
    run.console.send(text)
    outcome = await run.console.wait(run.finished, timeout=PATIENCE, text=until, already=False)
    assert outcome == "found", (outcome, run.console.screen.text())


async def first(run: CommandRun, text: str) -> None:
    assert run.console is not None
    outcome = await run.console.wait(run.finished, timeout=PATIENCE, text=text)
    assert outcome == "found", (outcome, run.console.screen.text())


async def ended(run: CommandRun) -> int | None:
    await asyncio.wait([run.finished], timeout=PATIENCE)
    return run.exit_code


@EVERY_LAYER
def test_a_terminal_is_one_for_the_shell_and_its_programs(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[str]:
        console = Console("tty", 90, 30)
        command = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; echo $TERM; stty size; "
        command += "read -p 'name? ' x </dev/tty; echo hi $x"
        run = await start(session, shells, command, console)
        await first(run, "name? ")
        await say(run, "Bob\r", "hi Bob")
        assert await ended(run) == 0
        return console.screen.text().splitlines()

    assert shells.run(script) == ["tty", "xterm-256color", "30 90", "name? Bob", "hi Bob"]


@EVERY_LAYER
def test_the_python_console_answers_and_can_be_interrupted(shells: Shells) -> None:
    async def script(session: ShellSession) -> int | None:
        run = await start(session, shells, "python3 -q", Console("tty"))
        await first(run, ">>> ")
        await say(run, "6 * 7\r", "42\n>>> ")
        # Many short pauses: Python loses an interrupt that comes just before a pause begins.
        await say(run, "import time; print('go', flush=True); [time.sleep(0.01) for _ in range(100_000)]\r", "go\n")
        await say(run, "\x03", "KeyboardInterrupt\n>>> ")
        assert run.console is not None
        run.console.send("raise SystemExit(3)\r")
        return await ended(run)

    assert shells.run(script) == 3


def test_a_shell_in_a_terminal_has_job_control(shells: Shells) -> None:
    async def script(session: ShellSession) -> None:
        run = await start(session, shells, "PS1='ready$ ' bash --norc --noprofile -i", Console("tty"))
        await first(run, "ready$ ")
        await say(run, "bash -c 'echo u''p; cat'\r", "up\n")
        await say(run, "\x1a", "Stopped")
        await say(run, "kill %1; wait; echo fi''n\r", "fin\n")

    shells.run(script)


def test_a_terminal_of_the_host_cannot_be_reached_from_inside(shells: Shells) -> None:
    async def script(session: ShellSession) -> str:
        outer, inner = os.openpty()
        try:
            name = os.ttyname(inner)
            console = Console("tty")
            run = await start(session, shells, f"echo stolen > {name} || echo refused", console)
            await ended(run)
            os.set_blocking(outer, False)
            with pytest.raises(BlockingIOError):
                os.read(outer, 100)
            return console.screen.text()
        finally:
            os.close(outer)
            os.close(inner)

    assert "refused" in shells.run(script)


@EVERY_LAYER
def test_a_background_job_reads_what_is_written_to_it(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[str, int | None]:
        console = Console("pipe")
        run = await start(session, shells, "while read -r line; do echo got $line; done; echo end", console)
        await say(run, "one\n", "got one\n")
        await say(run, "two\n", "got two\n")
        console.end_input()
        code = await ended(run)
        return run.stdout.text(), code

    assert shells.run(script) == ("got one\ngot two\nend\n", 0)


def test_a_resize_reaches_the_program(shells: Shells) -> None:
    async def script(session: ShellSession) -> None:
        console = Console("tty")
        command = "trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done"
        run = await start(session, shells, command, console)
        await first(run, "up")
        console.resize(100, 40)
        await first(run, "40 100")

    shells.run(script)


def test_a_job_is_ended_at_its_own_deadline(shells: Shells) -> None:
    async def script(session: ShellSession) -> str:
        result = await session.execute("sleep 1000", access=shells.access, background=True, deadline=0.3)
        assert result.job_id is not None
        info = await session.jobs.wait(result.job_id, PATIENCE)
        return info.state

    assert shells.run(script) == "ended at its deadline"


@pytest.fixture
async def session(tmp_path: Path) -> ShellSession:
    from toolgate.workspace import Workspace

    return ShellSession(Workspace(tmp_path))


async def test_input_that_the_job_does_not_read_is_refused_at_a_limit(session: ShellSession) -> None:
    async with session:
        console = Console("pipe")
        await session.execute("sleep 1000", background=True, console=console)
        for _ in range(16):
            console.send("x" * 8192)
        with pytest.raises(ToolError, match="does not read its input"):
            console.check("x" * 8192)


async def test_what_still_waits_arrives_before_the_end_of_the_input(session: ShellSession) -> None:
    async with session:
        console = Console("pipe")
        result = await session.execute("until [ -e go ]; do sleep 0.02; done; wc -c", background=True, console=console)
        for _ in range(3):
            console.send("x" * 60_000)
        console.end_input()
        with pytest.raises(ToolError, match="takes no more input"):
            console.check("x")
        await session.execute("touch go")
        await session.jobs.wait(str(result.job_id), PATIENCE)

        assert session.jobs.output(str(result.job_id))[0].strip() == "180000"


async def test_a_line_that_a_terminal_would_cut_is_refused(session: ShellSession) -> None:
    async with session:
        console = Console("tty")
        await session.execute("cat", background=True, console=console)
        with pytest.raises(ToolError, match="which a terminal cuts"):
            console.check("x" * 5000 + "\r")


async def test_a_job_that_has_ended_takes_no_input(session: ShellSession) -> None:
    async with session:
        console = Console("tty")
        result = await session.execute("true", background=True, console=console)
        await session.jobs.wait(str(result.job_id), PATIENCE)
        with pytest.raises(ToolError, match="takes no more input"):
            console.check("x")


async def test_waiting_ends_with_quiet_or_the_timeout(session: ShellSession) -> None:
    async with session:
        console = Console("tty")
        result = await session.execute("echo here; sleep 1000", background=True, console=console)
        run = session.jobs.run(str(result.job_id))

        assert await console.wait(run.finished, timeout=PATIENCE, quiet=0.1, speaks=True) == "quiet"
        assert console.screen.text() == "here"
        assert await console.wait(run.finished, timeout=0.05, text="never") == "timeout"
        await session.jobs.stop(str(result.job_id))
        assert await console.wait(run.finished, timeout=PATIENCE, text="never") == "ended"


async def test_output_in_a_flood_leaves_the_loop_alive(session: ShellSession) -> None:
    async with session:
        console = Console("tty")
        result = await session.execute("yes $'\\e[31mflood\\e[0m'", background=True, console=console)
        await console.wait(session.jobs.run(str(result.job_id)).finished, timeout=PATIENCE, text="flood")
        for _ in range(20):
            before = time.thread_time()  # of the loop alone, however busy the machine is
            await asyncio.sleep(0.01)
            assert time.thread_time() - before < 1
        await session.jobs.stop(str(result.job_id))
        assert console.screen.lines[0] == "flood"


async def test_a_program_is_not_quiet_while_the_kernel_still_has_output_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, its = os.openpty()
    console, looks = Console("tty"), 0
    console.attach(ours, lambda: None)

    def waits(_fd: int) -> bool:
        nonlocal looks
        looks += 1
        if looks == 5:
            console.show(os.read(ours, 100))
        return True

    monkeypatch.setattr("toolgate.shell.console.waits_for_input", waits)
    os.write(its, b"late")
    outcome = await console.wait(asyncio.get_running_loop().create_future(), timeout=600, quiet=600)
    os.close(its)
    os.close(ours)

    assert (outcome, console.take_recent()) == ("quiet", "late")
