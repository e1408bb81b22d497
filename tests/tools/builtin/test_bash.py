"""`Bash`: commands through the whole pipeline, in a real sandbox."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.settings import Settings
from toolgate.testing import AutoApprover


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


class During:
    """An approver who does something while the question is open, and then agrees."""

    def __init__(self, action: Any) -> None:
        self.action = action

    async def decide(self, request: ApprovalRequest) -> Approval:
        await self.action()
        return Approval(allowed=True)


async def test_s14_a_cancelled_command_keeps_what_it_printed_and_leaves_the_next_alone(tools: Toolbox) -> None:
    printed = asyncio.Event()
    tools.toolset.context.on_output = lambda stream, text: printed.set()
    await tools("Bash", command="cd /tmp; export A=1")
    call = toolgate.ToolCall(id="first", name="Bash", arguments='{"command": "echo part; sleep 60"}')
    pending = tools.toolset.handle(call)
    await asyncio.wait_for(printed.wait(), 60)
    pending.cancel()
    result = await pending

    assert (result.tool_call_id, result.extras) == ("first", {"failureCategory": "cancelled"})
    assert result.response.error is not None
    assert (result.response.error.code, result.response.data["stdout"]) == ("CANCELLED", "part\n")
    assert (await tools("Bash", command="echo ok $A; pwd")).data["stdout"] == "ok 1\n/tmp\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "ls", "timeout_ms": 0},
        {"command": "ls", "timeout_ms": 600_001},
        {"command": "ls", "timeout_ms": 1.5},
        {"command": "ls", "access": "root"},
        {"command": "ls", "background": "yes"},
        {"command": "ls\0"},
        {"command": ["ls"]},
        {"command": "ls", "folder": "/"},
    ],
)
async def test_arguments_that_do_not_fit_run_nothing(tools: Toolbox, arguments: dict[str, Any]) -> None:
    result = await tools.result("Bash", **arguments)

    assert result.response.error is not None
    assert (result.response.error.code, result.extras["failureCategory"]) == ("INVALID_PARAM", "invalid_usage")


async def test_output_streams_as_it_comes(tools: Toolbox) -> None:
    seen: list[tuple[str, str]] = []
    first = asyncio.Event()

    def listen(stream: str, text: str) -> None:
        seen.append((stream, text))
        first.set()

    tools.toolset.context.on_output = listen
    call = toolgate.ToolCall(
        id="1", name="Bash", arguments='{"command": "echo one; until [ -e go ]; do sleep 0.05; done; echo two >&2"}'
    )
    pending = tools.toolset.handle(call)
    await asyncio.wait_for(first.wait(), 60)
    assert seen == [("stdout", "one\n")]
    (tools.root / "go").touch()
    assert (await pending).response.data["stderr"] == "two\n"
    assert seen == [("stdout", "one\n"), ("stderr", "two\n")]


async def test_a_job_outlives_its_call(tools: Toolbox) -> None:
    started = await tools("Bash", command="echo begun; until [ -e go ]; do sleep 0.05; done; exit 4", background=True)
    job = started.data["job_id"]
    assert (started.status, started.data["exit_code"], job in started.text) == ("success", None, True)
    listed = (await tools("Bash", command="jobs")).data["stdout"]
    assert re.fullmatch(rf"{job}  running  \d+ s  \d+ bytes of output  echo begun; .*\n", listed)
    (tools.root / "go").touch()
    waited = await tools("Bash", command=f"jobs wait {job}")

    assert (waited.data["stdout"], waited.data["exit_code"], waited.status) == ("begun\n", 4, "partial")
    assert (await tools("Bash", command=f"jobs output {job}")).data["stdout"] == "begun\n"


async def test_waiting_for_a_job_ends_with_the_call_and_the_job_goes_on(tools: Toolbox) -> None:
    job = (await tools("Bash", command="sleep 60", background=True)).data["job_id"]
    waited = await tools("Bash", command=f"jobs wait {job}", timeout_ms=100)
    assert (f"{job} still runs" in waited.data["stderr"], float(waited.stats["time_ms"]) < 5000) == (True, True)
    stopped = await tools("Bash", command=f"jobs stop {job}")

    assert f"{job}  stopped" in stopped.data["stdout"]


async def test_a_job_that_is_not_known_is_a_failed_command(tools: Toolbox) -> None:
    response = await tools("Bash", command="jobs output nope")

    assert (response.status, response.data["exit_code"]) == ("partial", 1)
    assert response.data["stderr"].startswith("There is no job 'nope'.")


async def test_a_dangerous_job_asks_and_says_that_it_stays(tools: Toolbox) -> None:
    (tools.root / "x").write_text("x")
    await tools("Bash", command="rm x", background=True)

    assert [request.summary for request in tools.approver.requests] == ["Run in the background: rm x"]


async def test_read_access_cannot_write_and_says_what_can(tools: Toolbox) -> None:
    response = await tools("Bash", command="touch x", access="read")

    assert (response.status, (tools.root / "x").exists()) == ("partial", False)
    assert 'it would work with access="write"' in response.text
    assert (await tools("Bash", command="touch x")).data["exit_code"] == 0


async def test_without_network_the_answer_says_so(tools: Toolbox) -> None:
    command = "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'"
    response = await tools("Bash", command=command)

    assert 'There is no network with access="write"' in response.text


async def test_full_access_asks_every_time(tools: Toolbox) -> None:
    for _ in range(2):
        response = await tools("Bash", command="true", access="full")
        assert (response.status, response.data["sandbox"]["access"]) == ("success", "full")
    assert len(tools.approver.requests) == 2
    assert "full access" in tools.approver.requests[0].detail


async def test_protected_paths_cannot_be_written(tools: Toolbox) -> None:
    response = await tools("Bash", command="mkdir -p .git && echo evil > .git/config; echo x > .toolgate/policy.toml")

    assert response.status == "partial"
    assert not (tools.root / ".git/config").exists() or (tools.root / ".git/config").read_text() == ""
    assert not (tools.root / ".toolgate/policy.toml").exists()


async def test_a_shell_that_changed_while_the_person_thought_is_a_conflict(tmp_path: Path) -> None:
    box = Toolbox(tmp_path)
    (tmp_path / "sub").mkdir()
    for path in ("x", "sub/x"):
        (tmp_path / path).write_text("x")
    box.toolset.context.approver = During(lambda: box("Bash", command="cd sub"))
    response = await box("Bash", command="rm x")
    await box.context.aclose()

    assert response.error is not None
    assert (response.error.code, (tmp_path / "x").exists(), (tmp_path / "sub/x").exists()) == ("CONFLICT", True, True)


@pytest.mark.parametrize("padding", [0, 2 << 20])
async def test_a_script_that_changed_while_the_person_thought_is_a_conflict(tmp_path: Path, padding: int) -> None:
    box = Toolbox(tmp_path)
    script = tmp_path / "s.sh"
    script.write_text("echo ok\n" + "#" * padding + "\n")

    async def swap() -> None:
        with script.open("a") as file:
            file.write("touch pwned\n")

    box.toolset.context.approver = During(swap)
    response = await box("Bash", command="bash s.sh", access="full")
    await box.context.aclose()

    assert response.error is not None
    assert (response.error.code, (tmp_path / "pwned").exists()) == ("CONFLICT", False)


async def test_the_request_shows_the_hash_of_a_script(tools: Toolbox) -> None:
    (tools.root / "s.sh").write_text("echo ok\n")
    await tools("Bash", command="bash s.sh", access="full")

    digest = hashlib.sha256(b"echo ok\n").hexdigest()
    assert f"runs s.sh (sha256 {digest})" in tools.approver.requests[0].detail


async def test_changes_of_the_environment_are_shown(tools: Toolbox) -> None:
    await tools("Bash", command="export PATH=$PWD/bin:$PATH GIT_DIR=elsewhere")
    asked = len(tools.approver.requests)
    await tools("Bash", command="true", access="full")
    detail = tools.approver.requests[asked].detail

    assert "with GIT_DIR=elsewhere" in detail
    assert f"with PATH={tools.root}/bin:" in detail


async def test_words_that_the_state_redefines_count_as_what_they_run(tools: Toolbox) -> None:
    (tools.root / "bin").mkdir()
    (tools.root / "bin/cat").write_text("#!/bin/sh\necho shadow\n")
    (tools.root / "bin/cat").chmod(0o755)
    await tools("Bash", command="ls() { command rm -f x; }; shopt -s expand_aliases; alias ll='rm -f x'")
    await tools("Bash", command="export PATH=$PWD/bin:$PATH")
    for command, reason in (("ls", "'rm'"), ("ll", "'rm'"), ("cat x", "'cat' is 'bin/cat' here")):
        asked = len(tools.approver.requests)
        await tools("Bash", command=command)
        assert [reason in request.detail for request in tools.approver.requests[asked:]] == [True]


async def test_functions_of_one_access_are_not_known_to_a_higher_one(tools: Toolbox) -> None:
    await tools("Bash", command="f() { echo mine; }")

    assert (await tools("Bash", command="f", access="read")).data["stdout"] == "mine\n"
    assert (await tools("Bash", command="f", access="full")).data["exit_code"] == 127


async def test_remembering_is_for_exactly_this_command(tmp_path: Path) -> None:
    approver = AutoApprover(remember=True)
    box = Toolbox(tmp_path, approver=approver)
    for command in ("rm -f x", "rm -f x", "rm -f y"):
        await box("Bash", command=command)
    await box("Bash", command="cd /tmp")
    await box("Bash", command="rm -f x")
    await box.context.aclose()

    assert [request.summary for request in approver.requests] == ["Run: rm -f x", "Run: rm -f y", "Run: rm -f x"]


async def test_in_chat_safe_mode_it_is_denied(tmp_path: Path) -> None:
    context = toolgate.ToolContext(workspace=toolgate.Workspace(tmp_path))
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.chat_safe, context)
    for command in ("touch x", "write x y", "bash --help"):
        call = toolgate.ToolCall(id="1", name="Bash", arguments=f'{{"command": "{command}"}}')
        result = await toolset.handle(call)
        assert result.response.error is not None
        assert result.response.error.code == "MODE_DENIED"
        assert context.state.shell is None, "no shell was made for it"
    assert list(tmp_path.iterdir()) == []


async def test_without_a_sandbox_every_command_asks(tmp_path: Path) -> None:
    settings = Settings.defaults()
    settings = settings.model_copy(update={"shell": settings.shell.model_copy(update={"sandbox": "off"})})
    box = Toolbox(tmp_path, settings=settings)
    response = await box("Bash", command="echo hi")
    assert (response.data["stdout"], response.data["sandbox"]["layer"]) == ("hi\n", "off")
    assert "the sandbox does not enforce" in box.approver.requests[0].detail
    box.toolset.context.approver = None
    denied = await box("Bash", command="echo hi")
    await box.context.aclose()

    assert denied.error is not None
    assert denied.error.code == "APPROVAL_DENIED"


async def test_s11_s12_nothing_of_the_host_process_reaches_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_API_TOKEN", "0123456789abcdef")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    box = Toolbox(tmp_path)
    response = await box("Bash", command="env; export -p; cat /proc/self/environ; echo; ls /proc/self/fd")
    await box.context.aclose()
    os.close(reading)
    os.close(writing)

    assert "0123456789abcdef" not in response.to_json()
    assert response.data["stdout"].rstrip().split("\n")[-4:-1] == ["0", "1", "2"]


async def test_a_path_outside_the_project_makes_every_word_a_question(tools: Toolbox) -> None:
    await tools("Bash", command="mkdir -p /tmp/e && export PATH=/tmp/e:$PATH")
    asked = len(tools.approver.requests)

    await tools("Bash", command="ls")
    assert len(tools.approver.requests) == asked + 1
    assert "PATH finds programs in '/tmp/e'" in tools.approver.requests[-1].detail

    await tools("Bash", restart=True)
    await tools("Bash", command="ls")
    assert len(tools.approver.requests) == asked + 1


async def test_a_command_can_have_a_directory_of_its_own(tools: Toolbox) -> None:
    (tools.root / "sub").mkdir()
    here = await tools("Bash", command="pwd; cd /; A=1", cwd="sub")
    after = await tools("Bash", command="pwd; echo $A")

    assert here.data["stdout"] == f"{tools.root}/sub\n"
    assert after.data["stdout"] == f"{tools.root}\n1\n"


@pytest.mark.parametrize("cwd", ["nope", "file", "..", "/etc", "sub/../.."])
async def test_a_directory_that_is_none_of_the_project_is_refused(tools: Toolbox, cwd: str) -> None:
    (tools.root / "file").touch()
    response = await tools("Bash", command="touch ran", cwd=cwd)

    assert response.error is not None
    assert not (tools.root / "ran").exists()


async def test_an_agent_command_is_typed_in_that_directory(tools: Toolbox) -> None:
    (tools.root / "sub").mkdir()
    (tools.root / "sub" / "a.txt").write_text("inside\n")

    assert (await tools("Bash", command="read a.txt", cwd="sub")).data["stdout"] == "     1\tinside"


async def test_a_process_in_the_background_of_a_command_ends_with_it_and_that_is_said(tools: Toolbox) -> None:
    left = await tools("Bash", command="sleep 1000 & echo hi")
    waited = await tools("Bash", command="sleep 0.01 & wait; echo hi")

    assert "ended with this command" in left.data["stderr"]
    assert "background=true" in left.data["stderr"]
    assert waited.data["stderr"] == ""


async def test_a_lone_read_says_that_nobody_answers(tools: Toolbox) -> None:
    response = await tools("Bash", command="read -p 'name? ' x")

    assert response.data["exit_code"] == 1
    assert "nobody can type an answer" in response.text
    followed = await tools.result("Bash", command="read -p 'name? ' x; echo hello $x")
    assert followed.output.startswith("hello\n[Exit code 0. 'read' got no input")
    assert (await tools.result("Bash", command="read -p 'name? ' x <<< Ada; echo hello $x")).output == "hello Ada\n"
    assert "tty=true" in response.text
