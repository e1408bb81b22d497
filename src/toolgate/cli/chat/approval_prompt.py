"""Asks the person in the chat for approval: shows exactly what will happen, and reads one key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.cli.style import diff_colour
from toolgate.cli.visible import collapse_runs, excerpt, visible
from toolgate.command.approval_text import without_command
from toolgate.protocol.approval import Approval, ApprovalRequest

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas, Piece
    from toolgate.cli.chat.keyboard import Keyboard

_LINES = 40
_WIDTH = 2000
_MAX_REASON = 500
_KEY_PAUSE = 0.35
"""Seconds without another key before a key counts as an answer."""
_ALLOW, _ALWAYS, _DENY, _ALL = "ay", "A", "dn", "v"
"""Keys; the first of each group is shown."""


class ApprovalPrompt:
    """The approver of a chat. It asks one question at a time and reads one key."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._turn = asyncio.Lock()
        self._shown: dict[str, asyncio.Event] = {}
        self.keyboard: Keyboard | None = None
        self.print: Callable[[list[str]], None] = lambda _lines: None
        """Prints lines permanently."""
        self.changed: Callable[[], None] = lambda: None
        """Called when `live` has changed."""
        self.seconds_waited = 0.0
        """Total seconds that the person took to answer."""
        self._prompt: list[Piece] = []

    @property
    def is_open(self) -> bool:
        """Whether a question is shown."""
        return bool(self._prompt)

    def live(self) -> list[str]:
        """Return the row with the keys."""
        return [self._canvas.line(*self._prompt)] if self._prompt else []

    def reached(self, request_id: str) -> None:
        """Record that everything before the question is on the screen."""
        self._shown.setdefault(request_id, asyncio.Event()).set()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask after the previous question is answered."""
        if self.keyboard is None:
            return Approval(allowed=False, message="nobody is at the terminal")
        await self._shown.setdefault(request.id, asyncio.Event()).wait()
        del self._shown[request.id]
        async with self._turn:
            began = time.monotonic()
            try:
                return await self._ask(request, self.keyboard)
            finally:
                self.seconds_waited += time.monotonic() - began
                self.keyboard.on_key = None
                self._say()

    async def _ask(self, request: ApprovalRequest, keyboard: Keyboard) -> Approval:
        detail = visible(request.detail.rstrip("\n"))
        short, cut = excerpt(collapse_runs(detail), lines=_LINES, width=_WIDTH)
        cut = cut or short != detail
        self._show(request, short)
        keyboard.forget()
        keys: asyncio.Queue[str] = asyncio.Queue()
        keyboard.on_key = keys.put_nowait
        while True:
            self._say(("Allow? ", "bold yellow"), *_choices(cut=cut, always=bool(request.rule)))
            key = await self._read_single_key(keys)
            if key in _ALL and cut:
                self.print(self._coloured(detail))
                cut = False
            elif key in _DENY:
                return Approval(allowed=False, message=await self._read_reason(keys))
            elif key in _ALLOW:
                return Approval(allowed=True)
            elif key in _ALWAYS and request.rule and await self._confirm_rule(request.rule, keys):
                return Approval(allowed=True, remember=True)

    async def _confirm_rule(self, rule: str, keys: asyncio.Queue[str]) -> bool:
        """Show the rule, and confirm before it is stored."""
        self.print(self._coloured(visible(rule, keep=""), style="dim"))
        self._say(
            ("Allow exactly this for the rest of the session? ", "bold yellow"),
            ("A", "bold"),
            " yes   any other key: back",
        )
        return await self._read_single_key(keys) in _ALWAYS

    async def _read_single_key(self, keys: asyncio.Queue[str]) -> str:
        """Return the next key that is pressed alone: a person who types text has not answered."""
        while True:
            pressed = [await keys.get()]
            while True:
                try:
                    async with asyncio.timeout(_KEY_PAUSE):
                        pressed.append(await keys.get())
                except TimeoutError:
                    break
            if len(pressed) == 1 == len(pressed[0]):
                return pressed[0]
            assert self.keyboard is not None
            for key in pressed:
                self.keyboard.typed_ahead.key(key)

    async def _read_reason(self, keys: asyncio.Queue[str]) -> str:
        """Read the reason for the denial, which the model reads. Enter alone gives none."""
        reason = ""
        while True:
            self._say(("Why not? ", "bold yellow"), ("(Enter: no reason) ", "dim"), visible(reason, keep=""), "▏")
            key = await keys.get()
            if key in ("\r", "\n"):
                return reason.strip() or "the person at the terminal denied it"
            if key in ("\x7f", "\b"):
                reason = reason[:-1]
            elif key == "\x15":
                reason = ""
            else:
                reason = (reason + "".join(one for one in key if one.isprintable()))[:_MAX_REASON]

    def _say(self, *parts: Piece) -> None:
        self._prompt = list(parts)
        self.changed()

    def _show(self, request: ApprovalRequest, detail: str) -> None:
        who = f" (sub-agent {visible(request.agent, keep='')})" if request.agent else ""
        name = visible(request.tool_name, keep="")
        head = self._canvas.line(
            ("?", "bold yellow"), " ", (f"{name}{who} asks: ", "bold yellow"), visible(request.summary, keep="")
        )
        said = visible(request.reason, keep="")
        facts = without_command(detail).split("\n")
        told = said == f"{name} needs permission" or all(f"because: {part}" in facts for part in said.split("; "))
        because = [] if told or not said else self._coloured(f"because: {said}", style="dim")
        self.print([head, *self._coloured(detail), *because])

    def _coloured(self, detail: str, style: str = "") -> list[str]:
        """Wrap every line and leave nothing out: what is approved must be visible."""
        from rich.padding import Padding
        from rich.text import Text

        text = Text("\n").join(
            Text(line.expandtabs(8), style=style or diff_colour(line)) for line in detail.split("\n")
        )
        return self._canvas.lines(Padding(text, (0, 0, 0, 2)), wide=True) if detail else []


def _choices(*, cut: bool, always: bool) -> list[Piece]:
    shown: list[Piece] = []
    labels = {_ALLOW: "allow", _ALWAYS: "always, exactly this", _DENY: "deny", _ALL: "view all"}
    offered = {_ALLOW: True, _ALWAYS: always, _DENY: True, _ALL: cut}
    for key, label in ((key, label) for key, label in labels.items() if offered[key]):
        shown += [(key[0], "bold"), (f" {label}   ", "")]
    return shown
