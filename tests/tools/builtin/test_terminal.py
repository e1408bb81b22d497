"""`Terminal`: real programs that ask, and what a person is asked before they get an answer."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.protocol.modes import ApprovalMode
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.tools.builtin import bash_job, terminal

PATIENCE = 30_000
NODE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where commands are looked for, with the Node that the tests' requirements install."""


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    made = Toolbox(tmp_path)
    yield made
    await made.context.aclose()


ECHO = "echo ready; cat"
"""A job that repeats what it is told. It says something at its start: an answer waits seconds for that."""


async def start(box: Toolbox, command: str, until: str = "", **options: Any) -> str:
    """Start a job in a terminal, and wait until it shows something."""
    response = await box("Bash", command=command, tty=True, **options)
    job: str = response.data["job_id"]
    if until:
        assert (await box("Terminal", job=job, wait_for=until, timeout_ms=PATIENCE)).status == "success"
    return job


async def say(box: Toolbox, job: str, text: str, until: str, **more: Any) -> str:
    response = await box("Terminal", job=job, text=text, wait_for=until, timeout_ms=PATIENCE, **more)
    assert response.status == "success", response
    screen: str = response.data["screen"]
    return screen


async def test_the_python_console_is_a_conversation(box: Toolbox) -> None:
    job = await start(box, "python3 -q", ">>> ")
    await say(box, job, "x = 6\n", ">>> ")
    screen = await say(box, job, "x * 7\n", "42\n>>> ")  # before its prompt it would not see Ctrl-D
    ended = await box("Terminal", job=job, keys=["C-d"], wait_for="never", timeout_ms=PATIENCE)

    assert "42" in screen
    assert (ended.data["running"], ended.data["exit_code"]) == (False, 0)
    assert box.approver.requests == []


async def test_the_node_console_is_a_conversation(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", NODE)
    job = await start(box, "node", "> ")
    await say(box, job, "const x = 6\n", "undefined\n> ")
    screen = await say(box, job, "x * 7\n", "42\n> ")

    assert "42" in screen
    assert box.approver.requests == []


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 on this machine")
async def test_the_sqlite_console_is_a_conversation(box: Toolbox) -> None:
    job = await start(box, "sqlite3 shop.db", "sqlite> ")
    await say(box, job, "create table t (n); insert into t values (40);\n", "sqlite> ")
    screen = await say(box, job, "select n + 2 from t;\n", "42\n")
    await box("Terminal", job=job, text=".quit\n", wait_for="never", timeout_ms=PATIENCE)

    assert "42" in screen
    assert (box.root / "shop.db").stat().st_size > 0


async def test_npm_init_asks_its_questions(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", NODE)
    job = await start(box, "npm init", "package name: ")
    await say(box, job, "my-app\n", "version: ")
    await say(box, job, "2.0.0\n", "description: ")
    for question in ("entry point: ", "test command: ", "git repository: ", "keywords: ", "author: ", "license: "):
        await say(box, job, "\n", question)
    while "Is this OK?" not in (await box("Terminal", job=job)).data["screen"]:
        await box("Terminal", job=job, text="\n")  # newer versions ask for the type as well
    ended = await box("Terminal", job=job, text="\n", wait_for="never", timeout_ms=PATIENCE)

    assert (ended.data["running"], ended.data["exit_code"]) == (False, 0)
    package = json.loads((box.root / "package.json").read_text())
    assert (package["name"], package["version"]) == ("my-app", "2.0.0")
    assert box.approver.requests == []


@pytest.mark.parametrize(
    ("command", "text", "shown"),
    [
        ("bash --norc --noprofile", "sleep 0.1; echo o''k\n", "ok"),
        ("python3 -q", "import time; time.sleep(0.1); 6 * 7\n", "42"),
        ("read -p 'name? ' x; echo hi $x; read y", "Bob\n", "hi Bob"),
        ("cat", "abc\n", "abc\nabc"),
    ],
)
async def test_a_program_that_waits_for_input_is_answered_at_once(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch, command: str, text: str, shown: str
) -> None:
    hour = 3600.0
    for module in (terminal, bash_job):
        monkeypatch.setattr(module, "QUIET", hour)
    monkeypatch.setattr(bash_job, "_FIRST_SCREEN", hour)
    job = await start(box, command)
    typed = await box("Terminal", job=job, text=text, timeout_ms=600_000)
    looked = await box("Terminal", job=job, timeout_ms=600_000)

    assert shown in typed.data["screen"]
    assert (typed.text, looked.text) == (f"{job} is running.", f"{job} is running.")


async def test_the_first_answer_of_a_terminal_is_its_screen(box: Toolbox) -> None:
    result = await box.result("Bash", command="read -p 'name? ' x; echo hi $x", tty=True)

    assert "name?" in result.output
    assert "Type with Terminal" in result.output
    assert "hi Bob" in await say(box, "job-1", "Bob\n", "hi Bob")


async def test_a_command_that_ends_at_once_says_so(box: Toolbox) -> None:
    response = await box("Bash", command="echo here; exit 3", tty=True)

    assert (response.data["stdout"], response.data["exit_code"]) == ("here", 3)
    assert "ended with exit code 3" in response.text


async def test_the_debugger_of_python(box: Toolbox) -> None:
    (box.root / "app.py").write_text("total = 0\nfor n in range(3):\n    total += n\nprint('total', total)\n")
    job = await start(box, "python3 -m pdb app.py", "(Pdb)")
    await say(box, job, "b 4\n", "Breakpoint 1")
    await say(box, job, "c\n", "(Pdb)")
    screen = await say(box, job, "p total + 39\n", "42")
    stopped = await box("Terminal", job=job, stop=True)

    assert "42" in screen
    assert (stopped.data["running"], stopped.text) == (False, f"{job} stopped.")


def make_repository(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=T", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    for name in ("one", "two", "three"):
        (root / name).write_text(name)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", name], check=True)
    subprocess.run(["git", "-C", str(root), "config", "user.name", "T"], check=True)
    subprocess.run(["git", "-C", str(root), "config", "user.email", "t@example.com"], check=True)


def subjects(root: Path) -> list[str]:
    log = subprocess.run(["git", "-C", str(root), "log", "--format=%s"], capture_output=True, text=True, check=True)
    return log.stdout.split()


EDITOR = """#!/usr/bin/env python3
import sys
lines = open(sys.argv[1]).read().splitlines()
for number, line in enumerate(lines):
    if line and not line.startswith("#"):
        answer = input(f"{line}? ")
        if answer:
            lines[number] = line.replace("pick", answer, 1)
open(sys.argv[1], "w").write("\\n".join(lines) + "\\n")
"""


async def test_an_interactive_rebase_with_an_editor(box: Toolbox) -> None:
    make_repository(box.root)
    editor = box.root / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    (box.root / ".git" / "info" / "exclude").write_text("editor\n")
    command = "GIT_SEQUENCE_EDITOR=./editor git rebase -i HEAD~2"
    job = await start(box, command, "two? ", access="full")
    await say(box, job, "drop\n", "three? ")
    await say(box, job, "\n", "Successfully rebased")

    assert subjects(box.root) == ["three", "one"]
    assert len(box.approver.requests) == 3  # the command, and each of the two answers: it has full access


async def test_a_full_screen_program_is_shown_as_a_person_sees_it(box: Toolbox) -> None:
    (box.root / "menu.py").write_text(
        "import curses\n"
        "def main(screen):\n"
        "    at = 0\n"
        "    while True:\n"
        "        screen.erase()\n"
        "        for number, name in enumerate(['apple', 'pear', 'plum']):\n"
        "            screen.addstr(number, 0, ('> ' if number == at else '  ') + name)\n"
        "        screen.refresh()\n"
        "        key = screen.getch()\n"
        "        if key in (10, 13):\n"
        "            return at\n"
        "        at = (at + (key == curses.KEY_DOWN) - (key == curses.KEY_UP)) % 3\n"
        "print('chosen', curses.wrapper(main))\n"
    )
    job = await start(box, "./menu || python3 menu.py", "plum")
    first = await box("Terminal", job=job)
    moved = await say(box, job, "", "> pear", keys=["Down"])  # "pear" alone is there before
    done = await say(box, job, "", "chosen", keys=["Enter"])

    assert first.data["screen"].splitlines() == ["> apple", "  pear", "  plum"]
    assert moved.splitlines() == ["  apple", "> pear", "  plum"]
    assert "chosen 1" in done


async def test_text_that_removes_files_is_asked_about_and_a_denial_types_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    box = Toolbox(tmp_path, approver=AutoApprover(allow=False))
    job = await start(box, "bash --norc --noprofile")
    response = await box("Terminal", job=job, text="rm x\n")
    await say(box, job, "echo o''k\n", "ok")
    await box.context.aclose()

    assert response.error is not None
    assert response.error.code == "APPROVAL_DENIED"
    assert (tmp_path / "x").exists()


async def test_a_person_sees_the_exact_text_and_the_job(box: Toolbox) -> None:
    job = await start(box, "bash --norc --noprofile")
    await box("Terminal", job=job, text="rm -f x\n", keys=["C-c"])
    request = box.approver.requests[-1]

    assert "rm -f x" in request.detail
    assert f"typed into {job}: bash --norc --noprofile   keys: C-c" in request.detail
    assert "it removes files" in request.detail
    assert "asked every time" in request.detail


async def test_jobs_write_goes_through_the_same_gate(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    box = Toolbox(tmp_path, approver=AutoApprover(allow=False))
    job = await start(box, "bash --norc --noprofile")
    denied = await box("Bash", command=f"jobs write {job} 'rm x'")
    allowed = await box("Bash", command=f"jobs write {job} 'echo o''k'")
    await box.context.aclose()

    assert denied.error is not None
    assert (denied.error.code, (tmp_path / "x").exists()) == ("APPROVAL_DENIED", True)
    assert allowed.data["exit_code"] == 0


async def test_jobs_write_ends_the_input_of_a_pipe(box: Toolbox) -> None:
    started = await box("Bash", command="cat; echo end", background=True)
    job = started.data["job_id"]
    await box("Bash", command=f"jobs write {job} <<'E'\none\ntwo\nE")
    await box("Bash", command=f"jobs write {job} --eof")
    waited = await box("Bash", command=f"jobs wait {job}")

    assert (waited.data["stdout"], waited.data["exit_code"]) == ("one\ntwo\nend\n", 0)


async def test_the_output_of_a_running_job_says_that_it_runs(box: Toolbox) -> None:
    await box("Bash", command="sleep 1000", background=True)
    running = await box("Bash", command="jobs output job-1")
    await box("Bash", command="jobs stop job-1")
    stopped = await box("Bash", command="jobs output job-1")

    assert "job-1 is still running" in running.data["stderr"]
    assert stopped.data["stderr"] == ""


async def test_a_job_has_the_deadline_of_its_call_only_if_that_names_one(box: Toolbox) -> None:
    await box("Bash", command="sleep 1000", background=True, timeout_ms=200)
    await box("Bash", command="sleep 1000", background=True)
    waited = await box("Bash", command="jobs wait job-1 --timeout 30")
    listed = await box("Bash", command="jobs")

    assert waited.data["exit_code"] is None
    assert "job-1  ended at its deadline" in listed.data["stdout"]
    assert "job-2  running" in listed.data["stdout"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"job": "job-9", "text": "x"}, "NOT_FOUND"),
        ({"job": "job-1", "keys": ["Nope"]}, "INVALID_PARAM"),
        ({"job": "job-1", "text": "x", "stop": True}, "INVALID_PARAM"),
        ({"job": "job-1", "columns": -1}, "INVALID_PARAM"),
        ({"job": "job-1", "text": "x" * 70_000}, "INVALID_PARAM"),
        ({"job": "job-1", "text": "x" * 5000}, "INVALID_PARAM"),
        ({"job": "", "text": "x"}, "NOT_FOUND"),
        ({"job": "job-1", "keys": ["Up"] * 101}, "INVALID_PARAM"),
        ({"text": "x"}, "INVALID_PARAM"),
    ],
)
async def test_bad_input_is_refused_and_the_job_goes_on(box: Toolbox, arguments: dict[str, Any], code: str) -> None:
    job = await start(box, ECHO)
    response = await box("Terminal", **arguments)

    assert response.error is not None
    assert response.error.code == code
    assert "hello" in await say(box, job, "hello\n", "hello")


async def test_a_rule_against_a_command_holds_for_what_is_typed(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[[rule]]\ntool = "Bash"\nwords = ["echo"]\ndecision = "deny"\n')
    settings = Settings.defaults().model_copy(update={"policy_file": tmp_path / "policy.toml"})
    (tmp_path / "root").mkdir()
    box = Toolbox(tmp_path / "root", settings=settings)
    job = await start(box, "bash --norc --noprofile")
    denied = await box("Terminal", job=job, text="echo hi\n")
    allowed = await box("Terminal", job=job, text="true\n")
    await box.context.aclose()

    assert denied.error is not None
    assert denied.error.code == "APPROVAL_DENIED"
    assert allowed.status == "success"


async def test_in_plan_mode_only_jobs_that_cannot_change_anything_get_input(box: Toolbox) -> None:
    writes = await start(box, ECHO)
    reads = await start(box, ECHO, access="read")
    box.context.approval_mode = ApprovalMode.plan
    denied = await box("Terminal", job=writes, text="x\n")
    looked = await box("Terminal", job=writes)
    allowed = await box("Terminal", job=reads, text="x\n")

    assert denied.error is not None
    assert (looked.status, allowed.status) == ("success", "success")


async def test_what_a_program_draws_after_a_resize_is_shown(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "QUIET", 3600.0)
    (box.root / "app.py").write_text(
        "import os, signal, time\n"
        "def draw(*_):\n"
        "    time.sleep(0.05)\n"
        "    print('columns:', os.get_terminal_size().columns)\n"
        "signal.signal(signal.SIGWINCH, draw)\n"
        "input('ready')\n"
    )
    job = await start(box, "python3 app.py", "ready")
    resized = await box("Terminal", job=job, columns=50, timeout_ms=600_000)

    assert "columns: 50" in resized.data["screen"]


async def test_the_screen_can_be_resized(box: Toolbox) -> None:
    job = await start(box, ECHO)
    await box("Terminal", job=job, columns=10, rows=8)
    screen = await say(box, job, "0123456789ab\n", "ab")

    assert screen.splitlines()[1:3] == ["0123456789", "ab"]


async def test_a_job_without_input_says_how_to_get_one(box: Toolbox) -> None:
    await box("Bash", command="jobs keep sleep 1000", timeout_ms=200)
    response = await box("Terminal", job="job-1", text="x")

    assert response.error is not None
    assert "tty=true" in response.error.message + response.text


async def test_chat_safe_has_no_terminal(tmp_path: Path) -> None:
    context = toolgate.ToolContext(workspace=toolgate.Workspace(tmp_path))
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.chat_safe, context)
    call = toolgate.ToolCall(id="c1", name="Terminal", arguments='{"job": "job-1"}')
    response = (await toolset.handle(call)).response

    assert response.error is not None
    assert response.error.code == "MODE_DENIED"


async def test_a_program_that_the_sandbox_stopped_says_which_access_it_needs(box: Toolbox) -> None:
    make_repository(box.root)
    result = await box.result("Bash", command="git rebase -i HEAD~2", tty=True)

    assert "Read-only file system" in result.output
    assert 'access="full"' in result.output
