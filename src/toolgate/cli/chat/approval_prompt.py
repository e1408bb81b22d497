"""Asks the person in the chat for approval: shows exactly what will happen, and reads one key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.cli.chat.answer_words import answer_line
from toolgate.cli.style import diff_colour
from toolgate.cli.terminal_approver import asker
from toolgate.cli.visible import collapse_runs, excerpt, visible
from toolgate.command.approval_text import without_command
from toolgate.language.translate import explained, phrase, translate
from toolgate.protocol.approval import Approval, ApprovalChoice, ApprovalRequest, Question
from toolgate.protocol.modes import ApprovalMode

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas, Piece
    from toolgate.cli.chat.keyboard import Keyboard

PLAN_TOOL = "propose_plan"
_LINES = 40
_WIDTH = 2000
_MAX_REASON = 500
_MAX_ANSWER = 4000
_DECLINED = "the person at the terminal declined"
_KEY_PAUSE = 0.35
"""Seconds without another key before a key counts as an answer."""
_ALLOW, _ALWAYS, _DENY, _ALL, _CHANGE = "ay", "A", "dn", "v", "e"
"""Keys; the first of each group is shown."""


class ApprovalPrompt:
    """The approver of a chat. It asks one question at a time and reads one key."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._lock = asyncio.Lock()
        self._reached: dict[str, asyncio.Event] = {}
        self.keyboard: Keyboard | None = None
        self.print: Callable[[list[str]], None] = lambda _lines: None
        """Prints lines permanently."""
        self.changed: Callable[[], None] = lambda: None
        """Called when `live` has changed."""
        self.seconds_waited = 0.0
        """Total seconds that the person took to answer."""
        self._prompt: list[Piece] = []
        self._printed_answers: dict[str, bool] = {}

    @property
    def is_open(self) -> bool:
        """Whether a question is shown."""
        return bool(self._prompt)

    def live(self) -> list[str]:
        """Return the row with the keys."""
        return [self._canvas.line(*self._prompt)] if self._prompt else []

    def reached(self, request_id: str) -> None:
        """Record that everything before the question is on the screen."""
        self._reached.setdefault(request_id, asyncio.Event()).set()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask after the previous question is answered."""
        if self.keyboard is None:
            return Approval(allowed=False, message="nobody is at the terminal")
        await self._reached.setdefault(request.id, asyncio.Event()).wait()
        del self._reached[request.id]
        async with self._lock:
            began = time.monotonic()
            try:
                answer = await self._ask(request, self.keyboard)
            finally:
                self.seconds_waited += time.monotonic() - began
                self.keyboard.on_key = None
                self._set_prompt()
            self._printed_answers[request.id] = answer.allowed
            asked = request.question is not None
            self.print([answer_line(self._canvas, answer.allowed, answer.message, is_question=asked)])
            return answer

    def has_printed(self, request_id: str, allowed: bool) -> bool:
        """Whether this answer is on the screen already, below its question. Each answer is looked up once."""
        return self._printed_answers.pop(request_id, None) is allowed

    async def _ask(self, request: ApprovalRequest, keyboard: Keyboard) -> Approval:
        detail = visible(request.detail.rstrip("\n"))
        short, cut = excerpt(collapse_runs(detail), lines=_LINES, width=_WIDTH)
        cut = cut or short != detail
        self._show(request, short)
        keyboard.forget()
        keys: asyncio.Queue[str] = asyncio.Queue()
        keyboard.on_key = keys.put_nowait
        if request.question is not None:
            return await self._read_answer(request.question, keys)
        while True:
            self._set_prompt((_question(request), "bold yellow"), *_keys(request, cut=cut))
            key = await self._read_single_key(keys)
            if key in _ALL and cut:
                self.print(self._coloured(detail))
                cut = False
            elif key in _DENY:
                return Approval(allowed=False, message=await self._read_reason(keys))
            elif request.tool_name == PLAN_TOOL:
                if (accepted := await self._accept_plan(request, key, keys)) is not None:
                    return accepted
            elif key in _ALLOW:
                return Approval(allowed=True)
            elif key in _ALWAYS and request.choices and (picked := await self._pick(request, keys)) is not None:
                return picked

    async def _read_answer(self, question: Question, keys: asyncio.Queue[str]) -> Approval:
        """Read the number of an option, or a text. Without a text there is no answer."""
        if question.options:
            numbers = "1" if len(question.options) == 1 else f"1-{len(question.options)}"
            labels: list[Piece] = [
                (numbers, "bold"),
                translate(" pick   "),
                ("e", "bold"),
                translate(" own answer   "),
                ("d", "bold"),
                translate(" decline"),
            ]
            while True:
                self._set_prompt((translate("Your answer? "), "bold yellow"), *labels)
                key = await self._read_single_key(keys)
                if key.isdecimal() and 1 <= int(key) <= len(question.options):
                    return Approval(allowed=True, text=question.options[int(key) - 1])
                if key in _DENY:
                    return Approval(allowed=False, message=_DECLINED)
                if key in _CHANGE:
                    break
        text = await self._read_text(
            translate("Your answer: "), translate("(Enter sends it; empty: no answer) "), keys, _MAX_ANSWER
        )
        return Approval(allowed=bool(text), text=text, message="" if text else _DECLINED)

    async def _accept_plan(self, request: ApprovalRequest, key: str, keys: asyncio.Queue[str]) -> Approval | None:
        """Return the answer to a plan: accepted in one of two approval modes, or with changes. None for other keys."""
        if key in _ALLOW:
            return Approval(allowed=True, approval_mode=ApprovalMode.ask)
        if key in _ALWAYS:
            return Approval(allowed=True, approval_mode=ApprovalMode.accept_edits)
        if key not in _CHANGE:
            return None
        changes = await self._read_text(
            translate("What should be different? "), translate("(Enter accepts it with these changes) "), keys
        )
        text = f"{request.detail}\n\n## Changes that the user wants\n\n{changes}" if changes else ""
        return Approval(allowed=True, approval_mode=ApprovalMode.ask, text=text)

    async def _pick(self, request: ApprovalRequest, keys: asyncio.Queue[str]) -> Approval | None:
        """Show every rule that can be remembered, and read which one and for how long. None returns to the question."""
        for number, choice in enumerate(request.choices, 1):
            self.print([self._canvas.line("  ", (f"{number}", "bold"), f" {visible(phrase(choice.label), keep='')}")])
            self.print(self._coloured(f"{visible(choice.rule)}", style="dim"))
        numbers = [(f"{number}", "bold") for number in range(1, len(request.choices) + 1)]
        if len(numbers) == 1:
            head = translate("Allow exactly this for the rest of the session? ")
            self._set_prompt((head, "bold yellow"), ("A", "bold"), translate(" yes   any other key: back"))
        else:
            shown = [piece for number in numbers for piece in (number, " ")]
            self._set_prompt(
                (translate("Always allow which? "), "bold yellow"), *shown, translate("  any other key: back")
            )
        key = await self._read_single_key(keys)
        if key in _ALWAYS:
            return Approval(allowed=True, remember=True)
        if not (key.isdecimal() and 1 <= int(key) <= len(request.choices)):
            return None
        return await self._pick_scope(request.choices[int(key) - 1], keys)

    async def _pick_scope(self, choice: ApprovalChoice, keys: asyncio.Queue[str]) -> Approval | None:
        head = translate("Always allow {label}? ", label=visible(phrase(choice.label), keep=""))
        offered: list[Piece] = [("s", "bold"), translate(" for this session   ")]
        if "project" in choice.scopes:
            offered += [("p", "bold"), translate(" for this project (in your own policy file)   ")]
        self._set_prompt((head, "bold yellow"), *offered, translate("any other key: back"))
        key = await self._read_single_key(keys)
        if key == "s":
            return Approval(allowed=True, remember=True, choice=choice.id, scope="session")
        if key == "p" and "project" in choice.scopes:
            return Approval(allowed=True, remember=True, choice=choice.id, scope="project")
        return None

    async def _read_single_key(self, keys: asyncio.Queue[str]) -> str:
        """Return the next key that is pressed alone: a person who types text has not answered."""
        while True:
            pressed = await _read_burst(keys)
            if len(pressed) == 1 and len(pressed[0]) == 1:
                return pressed[0]
            assert self.keyboard is not None
            for key in pressed:
                self.keyboard.typed_ahead.key(key)

    async def _read_reason(self, keys: asyncio.Queue[str]) -> str:
        """Read the reason for the denial, which the model reads. Enter alone gives none."""
        return (
            await self._read_text(translate("Why not? "), translate("(Enter: no reason) "), keys)
            or "the person at the terminal denied it"
        )

    async def _read_text(self, head: str, hint: str, keys: asyncio.Queue[str], limit: int = _MAX_REASON) -> str:
        """Read one line."""
        text = ""
        while True:
            self._set_prompt((head, "bold yellow"), (hint, "dim"), visible(text, keep=""), "▏")
            key = await keys.get()
            if key in ("\r", "\n"):
                return text.strip()
            if key in ("\x7f", "\b"):
                text = text[:-1]
            elif key == "\x15":
                text = ""
            else:
                text = (text + "".join(one for one in key if one.isprintable()))[:limit]

    def _set_prompt(self, *parts: Piece) -> None:
        self._prompt = list(parts)
        self.changed()

    def _show(self, request: ApprovalRequest, detail: str) -> None:
        if request.question is not None:
            head = (asker(visible(request.agent, keep="")), "bold yellow")
            self.print([self._canvas.line(("?", "bold yellow"), " ", head), *self._coloured(detail)])
            return
        who = translate(" (sub-agent {agent})", agent=visible(request.agent, keep="")) if request.agent else ""
        name = visible(request.tool_name, keep="")
        summary = visible(phrase(request.summary), keep="")
        head = (translate("{name}{who} asks: ", name=name, who=who), "bold yellow")
        line = self._canvas.line(("?", "bold yellow"), " ", head, summary)
        reason = visible(request.reason, keep="")
        facts = without_command(detail).split("\n")
        already_shown = reason == f"{name} needs permission" or all(
            f"because: {part}" in facts for part in reason.split("; ")
        )
        because = (
            [] if already_shown or not reason else self._coloured(explained(f"\nbecause: {reason}")[1:], style="dim")
        )
        self.print([line, *self._coloured(explained(detail)), *because])

    def _coloured(self, detail: str, style: str = "") -> list[str]:
        """Wrap every line and leave nothing out: what is approved must be visible."""
        from rich.padding import Padding
        from rich.text import Text

        text = Text("\n").join(
            Text(line.expandtabs(8), style=style or diff_colour(line)) for line in detail.split("\n")
        )
        return self._canvas.lines(Padding(text, (0, 0, 0, 2)), wide=True) if detail else []


async def _read_burst(keys: asyncio.Queue[str]) -> list[str]:
    """Return the next key, and those that follow it without a pause."""
    pressed = [await keys.get()]
    while True:
        try:
            async with asyncio.timeout(_KEY_PAUSE):
                pressed.append(await keys.get())
        except TimeoutError:
            return pressed


def _question(request: ApprovalRequest) -> str:
    return translate("Accept the plan? ") if request.tool_name == PLAN_TOOL else translate("Allow? ")


def _keys(request: ApprovalRequest, *, cut: bool) -> list[Piece]:
    if request.tool_name == PLAN_TOOL:
        labels = {
            _ALLOW: translate("accept"),
            _ALWAYS: translate("accept, and its edits"),
            _CHANGE: translate("accept with changes"),
            _DENY: translate("refuse"),
        }
        offered = {**dict.fromkeys(labels, True), _ALL: cut}
    else:
        always = translate("always …") if len(request.choices) > 1 else translate("always, exactly this")
        labels = {_ALLOW: translate("allow"), _ALWAYS: always, _DENY: translate("deny")}
        offered = {_ALLOW: True, _ALWAYS: bool(request.choices), _DENY: True, _ALL: cut}
    labels[_ALL] = translate("view all")
    shown: list[Piece] = []
    for key, label in ((key, label) for key, label in labels.items() if offered[key]):
        shown += [(key[0], "bold"), (f" {label}   ", "")]
    return shown
