"""The answer of `Bash`: status, streams, deadlines, the report of the sandbox."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate import ToolCall
from toolgate.agent_commands import COMMANDS
from toolgate.testing import AutoApprover, violations

KEYS = {"stdout", "stderr", "exit_code", "truncated", "sandbox"}


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


async def test_stdout_stderr_and_exit_code(tools: Toolbox) -> None:
    response = await tools("Bash", command="echo out; echo err >&2")

    assert set(response.data) == KEYS
    assert (response.status, response.data["stdout"], response.data["stderr"], response.data["exit_code"]) == (
        "success",
        "out\n",
        "err\n",
        0,
    )
    assert response.stats["stdout_bytes"] == 4


async def test_the_model_reads_plain_text(tools: Toolbox) -> None:
    assert (await tools.result("Bash", command="echo '\"quoted\"'")).output == '"quoted"\n'
    assert (await tools.result("Bash", command="true")).output == "[Exit code 0.]"
    failed = await tools.result("Bash", command="echo out; echo err >&2; exit 3")
    assert failed.output == "out\n[stderr]\nerr\n[Exit code 3. Read stderr, change the command and try again.]"


@pytest.mark.parametrize(
    ("command", "exit_code", "extras"),
    [
        ("exit 3", 3, {}),
        ("false", 1, {}),
        ("ls missing", 2, {}),
        ("ls --no-such-option", 2, {"failureCategory": "invalid_usage"}),
        ("no-such-command", 127, {"failureCategory": "command_not_found"}),
        ("./not-executable", 126, {"failureCategory": "execution_error"}),
        ("bash -c 'exit 127'", 127, {"failureCategory": "command_not_found"}),
    ],
)
async def test_a_command_that_ran_is_an_answer(
    tools: Toolbox, command: str, exit_code: int, extras: dict[str, str]
) -> None:
    (tools.root / "not-executable").write_text("x")
    result = await tools.result("Bash", command=command)

    assert (result.response.status, result.is_error) == ("partial", False)
    assert (result.response.data["exit_code"], result.extras) == (exit_code, extras)


async def test_a_syntax_error_is_a_usage_error(tools: Toolbox) -> None:
    result = await tools.result("Bash", command='echo "open')

    assert (result.response.status, result.extras) == ("partial", {"failureCategory": "invalid_usage"})
    assert (await tools("Bash", command="echo next")).data["stdout"] == "next\n"


async def test_a_deadline_after_some_output_is_partial(tools: Toolbox) -> None:
    result = await tools.result("Bash", command="echo part; sleep 9", timeout_ms=400)

    assert (result.response.status, result.extras) == ("partial", {"failureCategory": "timeout"})
    assert (result.response.data["stdout"], result.response.data["exit_code"]) == ("part\n", None)
    assert result.response.data["timed_out"] is True
    assert "within 0.4 s" in result.response.text


async def test_a_deadline_without_output_is_an_error(tools: Toolbox) -> None:
    result = await tools.result("Bash", command="sleep 9", timeout_ms=300)

    assert (result.response.error, result.is_error) != (None, False)
    assert result.response.error is not None
    assert (result.response.error.code, result.extras) == ("TIMEOUT", {"failureCategory": "timeout"})
    assert (result.response.data["timed_out"], result.response.data["exit_code"]) == (True, None)
    assert (await tools("Bash", command="echo next")).data["stdout"] == "next\n"


async def test_the_sandbox_is_reported(tools: Toolbox) -> None:
    for access in ("read", "write"):
        sandbox = (await tools("Bash", command="true", access=access)).data["sandbox"]
        assert (sandbox["access"], sandbox["network"]) == (access, False)
        assert sandbox["layer"] in ("bwrap", "landlock")
    assert tools.approver.requests == []


async def test_every_answer_keeps_the_envelopes_rules(tools: Toolbox) -> None:
    (tools.root / "f").write_text("x\n")
    for command in (
        "true",
        "false",
        "nope",
        "read f",
        "read g",
        "edit f x y",
        "edit f",
        "bash",
        "jobs",
        "tools",
        "todo",
    ):
        result = await tools.result("Bash", command=command)
        assert violations(result, root=str(tools.root)) == []


@pytest.mark.parametrize("where", ["/tmp", "..", "~"])
async def test_e14_the_directory_in_the_context_is_never_a_path_outside_the_root(tools: Toolbox, where: str) -> None:
    (tools.root / "sub").mkdir()
    answers = [
        await tools("Bash", command=command)
        for command in (f"cd {where}", "true", "false", "jobs", "tools", "read missing.txt", "read --help", "read")
    ]

    assert {answer.context["cwd"] for answer in answers} == {"(outside the root)"}
    assert [violations(answer) for answer in answers] == [[]] * len(answers)
    back = await tools("Bash", command=f"cd {tools.root}/sub")
    assert back.context["cwd"] == "sub"


@pytest.mark.parametrize("directory", ["sub/deeper", "/tmp"])
@pytest.mark.parametrize("path", ["missing.txt", "../missing.txt", "../../../../etc/passwd", "d"])
@pytest.mark.parametrize("command", ["read {}", "edit {} a b", "write {} content"])
async def test_path_errors_of_agent_commands_quote_the_path_as_it_was_typed(
    tools: Toolbox, directory: str, path: str, command: str
) -> None:
    (tools.root / "sub/deeper/d").mkdir(parents=True)
    (tools.root / "sub/d").mkdir(parents=True)
    await tools("Bash", command=f"cd {directory}")
    answer = await tools("Bash", command=command.format(path))

    if answer.data["exit_code"]:  # a missing file is written
        assert f"'{path}'" in answer.data["stderr"]
        assert str(tools.root) not in answer.data["stderr"]
        assert directory not in answer.data["stderr"]
    else:
        assert (command, path.endswith("missing.txt")) == ("write {} content", True)


PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: f\n+x\n*** End Patch\nEOF"


@pytest.mark.parametrize("command", [f"mkdir -p s && cd s && {PATCH}", "echo x | edit f", "todo list; false; todo"])
async def test_an_agent_command_among_other_commands_is_explained(tools: Toolbox, command: str) -> None:
    result = await tools.result("Bash", command=command)

    assert "is a command of this runtime, not a program: run it on its own" in result.output


async def test_a_patch_in_the_projects_own_absolute_directory(tools: Toolbox) -> None:
    (tools.root / "s").mkdir()
    result = await tools.result("Bash", command=f"cd {tools.root}/s && {PATCH}")
    outside = await tools.result("Bash", command=f"cd /tmp && {PATCH}")

    assert result.output == "Applied the patch (+1 -0 lines):\nA s/f\n"
    assert (tools.root / "s" / "f").read_text() == "x\n"
    assert "'/tmp' is outside the project root" in outside.output


WORDS = {
    "read": "read a.txt",
    "write": "write b.txt x",
    "edit": "edit a.txt old new",
    "apply_patch": "apply_patch '*** Begin Patch'",
    "task": "task explore look",
    "memory": "memory search x",
}
"""An agent command that fits its usage, for every one that needs a tool."""


def test_there_is_an_example_of_every_agent_command_that_needs_a_tool() -> None:
    assert WORDS.keys() == {command.name for command in COMMANDS.values() if command.tool}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("piped", [False, True], ids=["alone", "in a pipe"])
async def test_no_advice_leads_back_to_a_command_whose_tool_is_not_available(
    tmp_path: Path, word: str, piped: bool
) -> None:
    command = f"true | {WORDS[word]}" if piped else WORDS[word]
    async with toolgate.open(tmp_path, mode="coding", only=["Bash"]) as toolset:
        result = await toolset.handle(ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command})))

    assert result.response.status != "success" or word == "read"  # bash has a `read` of its own
    assert not re.search(rf'command="(?:{word}|{COMMANDS[word].tool})\b|run it on its own', result.output)
    if not piped:
        assert result.error_code == "TOOL_NOT_FOUND"
        assert "CORRECTION: " in result.message
        assert "not available here" in result.message


@pytest.mark.parametrize(
    ("command", "only", "advice"),
    [
        ("rg x", None, "There is no program 'rg' here: call the tool 'grep'."),
        ("rg x", ["Bash"], "There is no program 'rg' here: use 'grep -rn PATTERN .'."),
        ("fd x", ["Bash", "glob"], "There is no program 'fd' here: call the tool 'glob'."),
        ("read_file a", None, "'read_file' is a tool, not a program: call it by its name, not through Bash."),
        ("read_file a", ["Bash"], "Read stderr, change the command and try again."),
        ("true | apply_patch", None, "run it on its own, with a quoted heredoc"),
    ],
)
async def test_a_missing_program_is_answered_with_what_the_caller_can_use(
    tmp_path: Path, command: str, only: list[str] | None, advice: str
) -> None:
    async with toolgate.open(tmp_path, mode="coding", only=only, approver=AutoApprover()) as toolset:
        given = {"command": f"PATH=/nowhere; {command}"}
        result = await toolset.handle(ToolCall(id="1", name="Bash", arguments=json.dumps(given)))

    assert advice in result.response.text
