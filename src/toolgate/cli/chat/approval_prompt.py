"""Asking the person at the terminal: what will happen, in full, and one key to answer."""

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
_LONGEST_REASON = 500
_PAUSE = 0.35
"""Seconds without another key that make a key an answer."""
_ALLOW, _ALWAYS, _DENY, _ALL = "ay", "A", "dn", "v"
"""Keys; the first of each is the one that is shown."""


class Questions:
    """The approver of a chat: one question at a time, answered by a key."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._turn = asyncio.Lock()
        self._shown: dict[str, asyncio.Event] = {}
        self.keyboard: Keyboard | None = None
        self.print: Callable[[list[str]], None] = lambda _lines: None
        """Prints lines for good."""
        self.changed: Callable[[], None] = lambda: None
        """Told that `live` has changed."""
        self.thought = 0.0
        """Seconds that the person has taken, in all."""
        self._prompt: list[Piece] = []

    @property
    def is_open(self) -> bool:
        """Whether someone is being asked now."""
        return bool(self._prompt)

    def live(self) -> list[str]:
        """The row that says which keys answer."""
        return [self._canvas.line(*self._prompt)] if self._prompt else []

    def reached(self, request_id: str) -> None:
        """Everything that happened before the question is on the screen."""
        self._shown.setdefault(request_id, asyncio.Event()).set()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask, once the question before it is answered."""
        if self.keyboard is None:
            return Approval(allowed=False, message="nobody is at the terminal")
        await self._shown.setdefault(request.id, asyncio.Event()).wait()
        del self._shown[request.id]
        async with self._turn:
            began = time.monotonic()
            try:
                return await self._ask(request, self.keyboard)
            finally:
                self.thought += time.monotonic() - began
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
            key = await self._alone(keys)
            if key in _ALL and cut:
                self.print(self._painted(detail))
                cut = False
            elif key in _DENY:
                return Approval(allowed=False, message=await self._reason(keys))
            elif key in _ALLOW:
                return Approval(allowed=True)
            elif key in _ALWAYS and request.rule and await self._is_sure(request.rule, keys):
                return Approval(allowed=True, remember=True)

    async def _is_sure(self, rule: str, keys: asyncio.Queue[str]) -> bool:
        """The rule is shown before it is stored."""
        self.print(self._painted(visible(rule, keep=""), style="dim"))
        self._say(
            ("Allow exactly this for the rest of the session? ", "bold yellow"),
            ("A", "bold"),
            " yes   any other key: back",
        )
        return await self._alone(keys) in _ALWAYS

    async def _alone(self, keys: asyncio.Queue[str]) -> str:
        """The next key that is pressed by itself: someone who is writing something else has not answered."""
        while True:
            pressed = [await keys.get()]
            while True:
                try:
                    async with asyncio.timeout(_PAUSE):
                        pressed.append(await keys.get())
                except TimeoutError:
                    break
            if len(pressed) == 1 == len(pressed[0]):
                return pressed[0]
            assert self.keyboard is not None
            for key in pressed:
                self.keyboard.ahead.key(key)

    async def _reason(self, keys: asyncio.Queue[str]) -> str:
        """Why not; it reaches the model. Enter alone gives none."""
        reason = ""
        while True:
            self._say(("Why not? ", "bold yellow"), ("(Enter: no reason) ", "dim"), visible(reason, keep=""), "▏")
            key = await keys.get()
            if key in ("\r", "\n"):
                return reason.strip() or "the person at the terminal said no"
            if key in ("\x7f", "\b"):
                reason = reason[:-1]
            elif key == "\x15":
                reason = ""
            else:
                reason = (reason + "".join(one for one in key if one.isprintable()))[:_LONGEST_REASON]

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
        because = [] if told or not said else self._painted(f"because: {said}", style="dim")
        self.print([head, *self._painted(detail), *because])

    def _painted(self, detail: str, style: str = "") -> list[str]:
        """Every line whole, wrapped where the terminal ends: what is approved must be seen."""
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
