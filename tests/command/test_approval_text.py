"""Approval requests: nothing that a command contains can be taken for what Toolgate says about it."""

import asyncio
import io
import json
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from tests.support.toolbox import Toolbox
from toolgate import ApprovalRequest
from toolgate.adapters.mcp_server.approvals import form, form_message
from toolgate.cli.terminal_approver import TerminalApprover
from toolgate.cli.visible import excerpt
from toolgate.command.approval_text import GUTTER, request_detail, without_command
from toolgate.testing import AutoApprover
from toolgate.text.visible import visible

FAKES = [
    "in: .   access: read",
    "because: nothing dangerous",
    "with PATH=/usr/bin",
    "runs x.sh (sha256 0000)",
    "asked every time: no",
    "the model says (not verified): fine",
    "the whole command, 3 characters:",
    "Allow? [y/N] y",
    "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b",
    "Bash asks: Run: ls",
]


async def request_for(root: Path, command: str) -> ApprovalRequest:
    approver = AutoApprover(allow=False)
    box = Toolbox(root, approver=approver)
    await box.result("Bash", command=command)
    await box.context.aclose()
    return approver.requests[0]


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize(
    "shape", ["rm x\n\n{}", "{}\nrm x", ": '\n{}\n'; rm x", "rm x <<E\n{}\nE", "rm x #" + " " * 99 + "\n{}"]
)
async def test_no_line_of_a_command_looks_like_a_line_of_the_request(tmp_path: Path, fake: str, shape: str) -> None:
    request = await request_for(tmp_path, shape.format(fake))
    lines = request.detail.split("\n")

    assert not set(fake.split("\n")) & set(lines)
    assert lines[0].startswith(GUTTER)
    assert "in: .   access: write" in lines
    assert "\n" not in request.summary
    assert not any(GUTTER in line for line in without_command(request.detail).split("\n"))
    assert f"\n{fake}\n" not in form_message(request) + "\n"


@pytest.mark.parametrize("name", ["a   access: read", "a\nin: .   access: read"])
async def test_the_name_of_a_directory_does_not_look_like_an_access(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    approver = AutoApprover(allow=False)
    box = Toolbox(tmp_path, approver=approver)
    await box.result("Bash", command=f"cd '{name}'")
    await box.result("Bash", command="rm x")
    await box.context.aclose()

    assert "   access: read" not in approver.requests[0].detail


def test_a_value_stays_on_its_line() -> None:
    detail = request_detail(
        "rm x", environment={"A": "1\nbecause: nothing"}, values={"B": "\x1b[2J\nin: .   access: read"}
    )

    assert [line for line in detail.split("\n") if line.startswith(("with", "where"))] == [
        "where B=\\x1b[2J\\nin: .   access: read",
        "with A=1\\nbecause: nothing",
    ]


class Screen(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "command",
    [
        "\n".join(f"echo {number}" for number in range(500)) + "\nrm -rf the-end",
        "echo " + "a b " * 5000 + "; rm -rf the-end",
    ],
    ids=["lines", "words"],
)
async def test_the_terminal_shows_the_end_of_a_long_command(tmp_path: Path, command: str) -> None:
    request = await request_for(tmp_path, command)
    person, program = pty.openpty()
    screen = Screen()
    with os.fdopen(program, "r") as source:
        decision = asyncio.ensure_future(TerminalApprover(source, screen).decide(request))
        while "Allow?" not in screen.getvalue():
            await asyncio.sleep(0)
        shown = screen.getvalue()
        os.write(person, b"v\n")
        while screen.getvalue().count("Allow?") < 2:
            await asyncio.sleep(0.001)
        everything = screen.getvalue()[len(shown) :]
        os.write(person, b"n\n")
        assert not (await decision).allowed
    os.close(person)

    assert "rm -rf the-end" in request.summary
    assert shown.split("asks: ")[1].count("rm -rf the-end") >= 2
    assert "left out⟩" in shown
    assert "in: .   access: write" in shown
    assert len(shown) < 8000
    assert everything.count("left out⟩") == 0
    assert not any(line.startswith(("in:", GUTTER, "echo")) for line in everything.split("\n"))


def test_many_facts_do_not_push_the_command_out_of_sight() -> None:
    command = "\n".join(f"echo {number}" for number in range(100))
    detail = request_detail(command, reasons=[f"reason {number}" for number in range(100)])
    short, cut = excerpt(detail, lines=40, width=2000)

    assert cut
    assert {"│ echo 0", "│ echo 99", "because: reason 99", "⟨80 lines left out⟩"} <= set(short.split("\n"))
    assert len(short.split("\n")) <= 44


@pytest.mark.parametrize(("command", "offered"), [("rm -f a", True), ("rm -f *", False)])
async def test_a_form_offers_to_remember_only_what_can_be(tmp_path: Path, command: str, offered: bool) -> None:
    assert (
        "allow for this session" in form(await request_for(tmp_path, command))["properties"]["decision"]["enum"]
    ) is offered


async def test_arguments_of_a_tool_without_a_plan_stay_in_their_quotes(tmp_path: Path) -> None:
    import toolgate

    @toolgate.tool(name="deploy", modes={toolgate.ToolMode.coding}, requires_permission=True)
    def deploy(note: str) -> str:
        """Deploy.

        Args:
            note: Any text.
        """
        return note

    approver = AutoApprover(allow=False)
    registry = toolgate.ToolRegistry()
    registry.register(deploy)
    context: Any = toolgate.ToolContext(mode=toolgate.ToolMode.coding, approver=approver)
    arguments = json.dumps({"note": "x\nbecause: nothing\n│ ls"})
    await registry.toolset(toolgate.ToolMode.coding, context).handle(
        toolgate.ToolCall(id="1", name="deploy", arguments=arguments)
    )

    assert approver.requests[0].detail == '{\n  "note": "x\\nbecause: nothing\\n│ ls"\n}'


@pytest.mark.parametrize(("blank", "count"), [(" ", "5000 blanks"), ("\n", "5000 line breaks"), ("\t", "5000 blanks")])
def test_a07_blank_space_is_counted_and_the_payload_is_in_sight(blank: str, count: str) -> None:
    command = f"ls{blank * 5000}; rm -rf ."
    detail = request_detail(command)
    first, _, whole = detail.partition("the whole command")
    assert count in first
    assert "; rm -rf ." in first
    assert len(first) < 300
    assert "; rm -rf ." in whole
    assert len(whole) > 5000


def test_a07_a_run_of_one_symbol_is_counted_too() -> None:
    detail = request_detail(f"echo {'-' * 3000}; rm x").partition("the whole command")[0]
    assert "-⟨repeated 3000 times⟩; rm x" in detail


def test_a08_the_command_is_shown_from_its_bytes_and_what_the_model_says_is_labelled() -> None:
    detail = request_detail("rm -rf .", description="list files")
    assert detail.splitlines()[0] == "rm -rf ."
    assert "the model says (not verified): list files" in detail


def test_a08_a_description_cannot_look_like_the_request() -> None:
    detail = request_detail("rm -rf .", description="x\n\nls\nin: .   access: read")
    assert detail.splitlines()[-1] == "the model says (not verified): x\\n\\nls\\nin: .   access: read"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Kb", "a\\x1b[2Kb"),
        ("a\rb", "a\\rb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb", "a\\u200bb"),
        ("a\u00a0b", "a\\xa0b"),
        ("a\u3164b", "a\\u3164b"),
        ("a\x00b", "a\\x00b"),
        ("a\ud800b", "a\\ud800b"),
        ("a\u2028b", "a\\u2028b"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("é 漢字 ok", "é 漢字 ok"),
        ("a\tb\n", "a\tb\n"),
    ],
)
def test_a09_what_hides_or_reorders_is_shown_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
