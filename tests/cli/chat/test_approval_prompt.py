"""The question in the chat: keys for the choices of *Always*, for a plan, and for a reason."""

import asyncio
import io
from typing import Any

import pytest

from toolgate import Approval, ApprovalChoice, ApprovalMode, ApprovalRequest
from toolgate.cli.chat import approval_prompt
from toolgate.cli.chat.approval_prompt import ApprovalPrompt
from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.typed_ahead import TypedAhead
from toolgate.cli.visible import without_escapes
from toolgate.protocol.approval import Question

CALL = ApprovalChoice(id="call", label="this exact call", rule="session: allow exactly edit_file")
FOLDER = ApprovalChoice(
    id="folder",
    label="edits in src",
    rule='[[rule]]\ntool = "edit_file"\nargs = { path = "src/**" }',
    scopes=("session", "project"),
)


class Keys:
    """A keyboard on which somebody presses one key after the other."""

    def __init__(self, pressed: str) -> None:
        self.typed_ahead = TypedAhead()
        self._pressed = list(pressed)
        self.on_key: Any = None

    def forget(self) -> None:
        """Nothing was typed before."""

    def press(self) -> None:
        if self.on_key is not None and self._pressed:
            self.on_key(self._pressed.pop(0))


async def answered(monkeypatch: Any, pressed: str, **request: Any) -> tuple[Approval, str]:
    monkeypatch.setattr(approval_prompt, "_KEY_PAUSE", 0.001)
    prompt = ApprovalPrompt(Canvas(io.StringIO()))
    keys = Keys(pressed)
    shown: list[str] = []

    def press_soon() -> None:
        asyncio.get_running_loop().call_later(0.005, keys.press)

    prompt.keyboard = keys  # type: ignore[assignment]
    prompt.print = shown.extend
    prompt.changed = press_soon
    about = {"tool_name": "edit_file", "summary": "Edit", "detail": "-a\n+b", **request}
    asked = ApprovalRequest(id="q", call_id="c", fingerprint="f", **about)
    prompt.reached("q")
    async with asyncio.timeout(60):
        return await prompt.decide(asked), "\n".join(shown)


async def test_always_shows_every_rule_and_stores_the_one_that_was_picked(monkeypatch: Any) -> None:
    answer, shown = await answered(monkeypatch, "A2s", choices=(CALL, FOLDER), rule=CALL.rule)
    assert answer == Approval(allowed=True, remember=True, choice="folder", scope="session")
    assert "edits in src" in shown
    assert 'path = "src/**"' in shown
    assert "session: allow exactly edit_file" in shown


async def test_always_can_be_for_the_project_where_that_is_offered(monkeypatch: Any) -> None:
    answer, _ = await answered(monkeypatch, "A2p", choices=(CALL, FOLDER), rule=CALL.rule)
    assert answer == Approval(allowed=True, remember=True, choice="folder", scope="project")
    answer, _ = await answered(monkeypatch, "A1pa", choices=(CALL, FOLDER), rule=CALL.rule)
    assert answer == Approval(allowed=True)


async def test_a_second_capital_a_is_the_exact_call(monkeypatch: Any) -> None:
    answer, _ = await answered(monkeypatch, "AA", choices=(CALL, FOLDER), rule=CALL.rule)
    assert answer == Approval(allowed=True, remember=True)


async def test_another_key_goes_back_to_the_question(monkeypatch: Any) -> None:
    answer, _ = await answered(monkeypatch, "Axa", choices=(CALL, FOLDER), rule=CALL.rule)
    assert answer == Approval(allowed=True)


async def test_nothing_is_always_where_nothing_is_offered(monkeypatch: Any) -> None:
    answer, _ = await answered(monkeypatch, "Aa")
    assert answer == Approval(allowed=True)


async def test_a_no_is_one_key_away_and_has_a_reason(monkeypatch: Any) -> None:
    answer, _ = await answered(monkeypatch, "dno\r")
    assert answer == Approval(allowed=False, message="no")


async def test_a_plan_is_accepted_in_a_mode_or_with_changes_or_refused(monkeypatch: Any) -> None:
    plan = {"tool_name": "propose_plan", "detail": "# Plan"}
    assert (await answered(monkeypatch, "a", **plan))[0] == Approval(allowed=True, approval_mode=ApprovalMode.ask)
    accepted, _ = await answered(monkeypatch, "A", **plan)
    assert accepted == Approval(allowed=True, approval_mode=ApprovalMode.accept_edits)
    changed, _ = await answered(monkeypatch, "eless\r", **plan)
    assert (changed.allowed, changed.text.startswith("# Plan"), changed.text.endswith("less")) == (True, True, True)
    assert (await answered(monkeypatch, "dno\r", **plan))[0] == Approval(allowed=False, message="no")


QUESTION = Question(text="Which database?", options=("SQLite", "PostgreSQL"))
ASKS = {"tool_name": "ask_user", "summary": "Which database?", "detail": "Which database?\n1. SQLite\n2. PostgreSQL"}


@pytest.mark.parametrize(
    ("pressed", "answer"),
    [
        ("2", Approval(allowed=True, text="PostgreSQL")),
        ("93", Approval(allowed=False, message="nothing")),
        ("eDuck\r", Approval(allowed=True, text="Duck")),
        ("e\r", Approval(allowed=False, message="the person at the terminal declined")),
        ("ad", Approval(allowed=False, message="the person at the terminal declined")),
    ],
)
async def test_a_question_is_answered_with_a_number_or_a_text(monkeypatch: Any, pressed: str, answer: Approval) -> None:
    if pressed == "93":  # no option has these numbers: the question stays
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await answered(monkeypatch, pressed, question=QUESTION, **ASKS)
        return
    given, shown = await answered(monkeypatch, pressed, question=QUESTION, **ASKS)
    assert given == answer
    assert shown.count("Which database?") == 1
    assert "2. PostgreSQL" in shown


async def test_a_question_without_options_is_answered_with_a_text(monkeypatch: Any) -> None:
    asks = {"tool_name": "ask_user", "summary": "Why?", "detail": "Why?"}
    given, _ = await answered(monkeypatch, "1 day\r", question=Question(text="Why?"), **asks)
    assert given == Approval(allowed=True, text="1 day")


def _request(number: int, **about: Any) -> ApprovalRequest:
    return ApprovalRequest(
        id=f"q{number}", call_id=f"c{number}", fingerprint="f", tool_name="Bash", summary=f"Run: rm {number}", **about
    )


async def test_an_answer_is_shown_below_its_question_before_the_next_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(approval_prompt, "_KEY_PAUSE", 0.001)
    prompt, keys, shown = ApprovalPrompt(Canvas(io.StringIO())), Keys("ad\r"), list[str]()
    prompt.keyboard = keys  # type: ignore[assignment]
    prompt.print = shown.extend

    def press_if_open() -> None:
        if prompt.is_open:
            asyncio.get_running_loop().call_soon(keys.press)

    prompt.changed = press_if_open
    for number in (1, 2):
        prompt.reached(f"q{number}")
    async with asyncio.timeout(60):
        await asyncio.gather(prompt.decide(_request(1, detail="rm 1")), prompt.decide(_request(2, detail="rm 2")))

    kinds = [line.split()[0] for line in map(without_escapes, shown) if line.strip()[0] in "?✓⊘"]
    assert kinds == ["?", "✓", "?", "⊘"]
    assert prompt.has_printed("q1", allowed=True)
    assert not prompt.has_printed("q2", allowed=True)  # an answer that came to nothing is told again


async def test_a_question_of_the_model_is_answered_and_not_allowed(monkeypatch: Any) -> None:
    asked = {"question": Question(text="Which?", options=("a", "b")), "detail": "Which?\n1. a\n2. b"}
    given = without_escapes((await answered(monkeypatch, "2", **asked))[1])
    assert (given.split("\n")[0], given.split("\n")[-1]) == ("? The model asks:", "  ✓ answered")
    declined = without_escapes((await answered(monkeypatch, "d", agent="general", **asked))[1])
    assert declined.startswith("? Sub-agent general asks:")
    assert declined.endswith("⊘ not answered: the person at the terminal declined")
