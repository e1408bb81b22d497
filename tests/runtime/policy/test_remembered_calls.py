"""What a person allows for the rest of a session is that command with those values, inputs and scripts."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.toolbox import Toolbox
from toolgate import ToolCall
from toolgate.testing import AutoApprover


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    """A session whose person says "always" to everything."""
    for name in ("a", "b", "c.tmp", "d.tmp"):
        (tmp_path / name).write_text(name)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    made = Toolbox(tmp_path, approver=AutoApprover(remember=True))
    yield made
    await made.context.aclose()


async def asked(box: Toolbox, command: str, **arguments: Any) -> int:
    """How many questions a call needs."""
    approver = box.context.approver
    assert isinstance(approver, AutoApprover)
    before = len(approver.requests)
    call = ToolCall(id="c", name="Bash", arguments=json.dumps({"command": command, **arguments}))
    result = await box.toolset.handle(call)
    assert result.response.error is None or result.response.error.code.value == "CONFLICT", result.output
    return len(approver.requests) - before


def last(box: Toolbox) -> Any:
    approver = box.context.approver
    assert isinstance(approver, AutoApprover)
    return approver.requests[-1]


@pytest.mark.parametrize("export", ["", "export "])
async def test_another_value_is_another_command_and_the_question_shows_it(box: Toolbox, export: str) -> None:
    await asked(box, f"{export}D=one")
    assert await asked(box, 'rm -rf "$D"') == 1
    request = last(box)
    await asked(box, f"{export}D=two")

    assert await asked(box, 'rm -rf "$D"') == 1
    assert ("\nwith D=one" if export else "\nwhere D=one") in request.detail
    assert ("\nwith D=two" if export else "\nwhere D=two") in last(box).detail
    assert (request.rule, "asked every time: '$D' may have another value" in request.detail) == ("", True)


@pytest.mark.parametrize(
    "command",
    [
        'rm -rf "$D"',
        "rm -rf ${D:-one}",
        "rm -f *.tmp",
        "rm -f [cd].tmp",
        'rm -f "$(cat list)"',
        "rm -f `cat list`",
        "cat list | xargs rm -f",
        "find . -name '*.tmp' | xargs rm -f",
        "find . -name '*.tmp' -delete",
        "find . -name '*.tmp' -exec rm {} +",
        "while read f; do rm -f $f; done < list",
        "for f in *; do rm -f $f; done",
        "cd - && rm -f a",
        "rm -f ~-/a",
        "rm -f $((1+1))",
        "f() { rm -f $1; }; f a",
        "cat <<E | xargs rm -f\n$D\nE",
    ],
)
async def test_where_something_is_only_known_when_it_runs_always_is_not_offered(box: Toolbox, command: str) -> None:
    (box.root / "list").write_text("a\n")
    await asked(box, "cd one; cd ..")
    assert await asked(box, command) == 1
    request = last(box)
    (box.root / "list").write_text("a\n")

    assert await asked(box, command) == 1
    assert request.rule == ""
    assert "\nasked every time: " in request.detail


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("xargs rm -f < list", "list"),
        ("xargs -a list rm -f", "list"),
        ("xargs -alist rm -f", "list"),
        ("xargs --arg-file=list rm -f", "list"),
        ("rm -f a; bash list", "list"),
        ("rm -f a; . ./list", "list"),
        ("rm -f a; make -f list", "list"),
        ("rm -f a; make -s all", "Makefile"),
        ("rm -f a; make -C one all", "one/Makefile"),
        ("rm -f a; python3 list", "list"),
        ("rm -f a; npm --version", "package.json"),
        ("rm -f a; ./tool list", "list"),
        ("rm -f a; ./tool --config=list", "list"),
        ("cd one; rm -f a; ./tool", "one/tool"),
    ],
)
async def test_another_content_of_a_script_or_an_input_asks_again_and_the_same_does_not(
    box: Toolbox, command: str, file: str
) -> None:
    for name in ("tool", "one/tool"):
        (box.root / name).write_text("#!/bin/sh\n")
        (box.root / name).chmod(0o755)
    (box.root / file).write_text("#x\n")
    (box.root / file).chmod(0o755)
    await asked(box, "cd .")
    assert await asked(box, f"({command})") == 1
    assert last(box).rule != ""
    assert await asked(box, f"({command})") == 0
    (box.root / file).write_text("#y\n")

    assert await asked(box, f"({command})") == 1
    assert f" {file} (sha256 " in last(box).detail


async def test_a_makefile_that_takes_precedence_asks_again(box: Toolbox) -> None:
    (box.root / "Makefile").write_text("publish:\n\ttrue\n")
    assert await asked(box, "make publish") == 1
    assert await asked(box, "make publish") == 0
    (box.root / "GNUmakefile").write_text("publish:\n\ttrue\n")

    assert await asked(box, "make publish") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("true", "cd one"),
        ("true", "export PATH=$PWD/one:$PATH"),
        ("true", "export ANY=1"),
        ("true", "umask 077"),
        ("f() { rm -f a; }", "f() { rm -f b; }"),
        ("f() { rm -f a <<< 1; }", "f() { rm -f a <<< 2; }"),
        ("alias f='rm -f a'", "alias f='rm -f b'"),
        ("true", "CDPATH=/tmp"),
    ],
)
async def test_another_state_of_the_shell_asks_again(box: Toolbox, before: str, after: str) -> None:
    command = "f; cd .; rm -f a"
    await asked(box, before)
    await asked(box, command)
    assert await asked(box, command) == 0
    await asked(box, after)

    assert await asked(box, command) == 1


@pytest.mark.parametrize(
    "changed", [{"access": "read"}, {"timeout_ms": 5000}, {"background": True}, {"restart": True}, {"access": "full"}]
)
async def test_another_way_to_run_asks_again(box: Toolbox, changed: dict[str, Any]) -> None:
    assert await asked(box, "rm -f a") == 1
    assert await asked(box, "rm -f a") == 0

    assert await asked(box, "rm -f a", **changed) == 1


async def test_a_stored_answer_is_not_used_where_something_is_unresolved(box: Toolbox) -> None:
    from toolgate.runtime.policy_source import policy_of

    assert await asked(box, "rm -f *.tmp") == 1
    policy_of(box.context).recall([last(box).fingerprint])

    assert await asked(box, "rm -f *.tmp") == 1


@pytest.mark.parametrize(
    "command",
    [
        "rm -f a",
        "rm -rf one",
        "rm -f {a,b}",
        "rm -f ~/x",
        'rm -f "$PWD/a"',
        "touch a; rm -f a",
        "git clean -n; rm -f a",
    ],
)
async def test_control_a_command_that_is_known_is_asked_about_once(box: Toolbox, command: str) -> None:
    assert await asked(box, command) == 1
    assert last(box).rule.startswith("session: allow exactly Bash ")
    assert await asked(box, command) == 0
    assert "asked every time" not in last(box).detail
