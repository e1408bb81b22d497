"""Asking at a terminal: a real one, made with a pseudo-terminal."""

import asyncio
import os
import pty
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from toolgate import Approval, ApprovalRequest
from toolgate.cli.terminal_approver import TerminalApprover, terminal_approver

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


def request(detail: str = "-old\n+new", summary: str = "Edit a.py", agent: str = "") -> ApprovalRequest:
    return ApprovalRequest(
        id="1", tool_name="edit_file", call_id="c", summary=summary, detail=detail, fingerprint="f", agent=agent
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


async def test_what_was_typed_before_the_question_is_no_answer(screen: Screen) -> None:
    screen.type("y\n")
    await asyncio.sleep(0.01)
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    screen.type("n\n")

    assert await decision == NO


async def test_a_withdrawn_question_stops_waiting(screen: Screen) -> None:
    decision = asyncio.ensure_future(screen.approver.decide(request()))
    await screen.until("[y/N] ")

    decision.cancel()

    with pytest.raises(asyncio.CancelledError):
        await decision


def test_without_a_terminal_there_is_nobody_to_ask() -> None:
    assert terminal_approver() is None
