"""Asking at a terminal: a real one, made with a pseudo-terminal."""

import asyncio
import os
import pty
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from toolgate import Approval, ApprovalChoice, ApprovalRequest
from toolgate.cli.terminal_approver import TerminalApprover, terminal_approver
from toolgate.protocol.approval import Question

NO = Approval(allowed=False, message="not allowed at the terminal")


@dataclass
class Screen:
    """The person's side of the terminal."""

    approver: TerminalApprover
    fd: int

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    async def until(self, text: str) -> str:
        """Everything shown up to and including `text`."""
        shown = ""
        while text not in shown:
            await asyncio.sleep(0)
            try:
                shown += os.read(self.fd, 65536).decode()
            except BlockingIOError:
                await asyncio.sleep(0.005)
        return re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")


@pytest.fixture
def screen() -> Iterator[Screen]:
    person, program = pty.openpty()
    os.set_blocking(person, False)
    with os.fdopen(program, "r", closefd=False) as source, os.fdopen(os.dup(program), "w") as terminal:
        yield Screen(TerminalApprover(source, terminal), person)
    os.close(program)
    os.close(person)


def request(detail: str = "-old\n+new", summary: str = "Edit a.py", **more: Any) -> ApprovalRequest:
    return ApprovalRequest(
        id="1", tool_name="edit_file", call_id="c", summary=summary, detail=detail, fingerprint="f", **more
    )


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", Approval(allowed=True)),
        ("YES\n", Approval(allowed=True)),
        ("n\n", NO),
        ("\n", NO),
        ("yep\n", NO),
        ("v\n", NO),
        ("\x04", NO),
    ],
)
async def test_only_yes_is_yes(screen: Screen, typed: str, answer: Approval) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    screen.type(typed)

    assert await decision == answer


async def test_the_question_shows_tool_agent_summary_and_detail(screen: Screen) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request(agent="explore")))

    shown = await screen.until("[y/N] ")

    screen.type("n\n")
    await decision
    assert shown == "\nedit_file for explore asks: Edit a.py\n  -old\n  +new\nAllow? [y/N] "


async def test_a09_control_characters_in_the_question_are_visible(screen: Screen) -> None:
    tricky = request(summary="ls\r\x1b[2K", detail="rm x\r\u202els")
    decision = asyncio.ensure_future(screen.approver.decide(tricky))

    shown = await screen.until("[y/N] ")

    screen.type("n\n")
    await decision
    assert "asks: ls\\r\\x1b[2K\n  rm x\\r\\u202els\n" in shown


async def test_a07_a_payload_behind_a_wall_of_spaces_is_shown_and_all_of_it_can_be_seen(screen: Screen) -> None:
    detail = "ls" + " " * 3000 + "; rm x"
    decision = asyncio.ensure_future(screen.approver.decide(request(detail=detail)))

    short = await screen.until("all of it] ")
    screen.type("v\n")
    whole = await screen.until("all of it] ")
    screen.type("y\n")

    assert "  ls ⟨3000 blanks⟩ ; rm x\n" in short
    assert detail in whole
    assert await decision == Approval(allowed=True)


CALL = ApprovalChoice(id="call", label="this exact call", rule="session: allow exactly edit_file")
FOLDER = ApprovalChoice(
    id="folder", label="edits in src\r", rule="tool = 'edit_file'\npath = 'src/**'", scopes=("session", "project")
)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1\n", Approval(allowed=True, remember=True, choice="call", scope="session")),
        ("2\n", Approval(allowed=True, remember=True, choice="folder", scope="session")),
        (" 3 \n", Approval(allowed=True, remember=True, choice="folder", scope="project")),
    ],
)
async def test_always_shows_every_rule_and_remembers_the_one_that_is_named(
    screen: Screen, typed: str, answer: Approval
) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request(choices=(CALL, FOLDER))))
    await screen.until("[y/N/a for always] ")
    screen.type("a\n")

    shown = await screen.until("[1-3, anything else: back] ")
    screen.type(typed)

    assert await decision == answer
    assert shown.partition("1  ")[2] == (
        "this exact call, for this session\n  session: allow exactly edit_file\n"
        "2  edits in src\\r, for this session\n  tool = 'edit_file'\n  path = 'src/**'\n"
        "3  edits in src\\r, for this project\n  tool = 'edit_file'\n  path = 'src/**'\n"
        "Always allow which? [1-3, anything else: back] "
    )


@pytest.mark.parametrize("typed", ["\n", "0\n", "4\n", "-1\n", "y\n", "1 2\n", "²\n", "\x04"])
async def test_what_names_no_rule_goes_back_to_the_question(screen: Screen, typed: str) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request(choices=(CALL, FOLDER))))
    await screen.until("always] ")
    screen.type("always\n")
    await screen.until("back] ")
    screen.type(typed)
    await screen.until("[y/N/a for always] ")
    assert not decision.done()

    screen.type("n\n")

    assert await decision == NO


async def test_always_is_a_no_where_nothing_is_offered(screen: Screen) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    screen.type("a\n")

    assert await decision == NO


async def test_what_was_typed_before_the_question_is_no_answer(screen: Screen) -> None:
    screen.type("y\n")
    await asyncio.sleep(0.01)
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    screen.type("n\n")

    assert await decision == NO


async def test_two_questions_are_asked_one_after_the_other(screen: Screen) -> None:
    first = asyncio.ensure_future(screen.approver.decide(request(summary="Edit a.py")))
    second = asyncio.ensure_future(screen.approver.decide(request(summary="Edit b.py")))
    shown = await screen.until("[y/N] ")
    screen.type("y\n")
    later = await screen.until("[y/N] ")
    screen.type("n\n")

    assert (await first, await second) == (Approval(allowed=True), NO)
    assert ("a.py" in shown, "b.py" in shown, "b.py" in later) == (True, False, True)


async def test_a_withdrawn_question_stops_waiting(screen: Screen) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    decision.cancel()

    with pytest.raises(asyncio.CancelledError):
        await decision


def test_without_a_terminal_there_is_nobody_to_ask() -> None:
    assert terminal_approver() is None


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2\n", Approval(allowed=True, text="PostgreSQL")),
        ("3\n", Approval(allowed=True, text="3")),
        ("a third one\n", Approval(allowed=True, text="a third one")),
        ("\n", Approval(allowed=False, message="the person at the terminal declined")),
        ("\x04", Approval(allowed=False, message="the person at the terminal declined")),
    ],
)
async def test_a_question_is_answered_with_a_number_or_a_text(screen: Screen, typed: str, answer: Approval) -> None:
    question = Question(text="Which?", options=("SQLite", "PostgreSQL"))
    asks = request("Which?\n1. SQLite\n2. PostgreSQL", "Which?", question=question)
    decision = asyncio.ensure_future(screen.approver.decide(asks))
    shown = await screen.until("no answer] ")
    screen.type(typed)
    assert await decision == answer
    assert (shown.count("Which?"), "2. PostgreSQL" in shown) == (1, True)
