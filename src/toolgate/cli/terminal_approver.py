"""Asks the person at the terminal for approval."""

import asyncio
import sys
from typing import TextIO

from toolgate.cli.style import Style, diff_colour
from toolgate.cli.visible import collapse_runs, excerpt, visible
from toolgate.language.translate import explained, phrase, translatable, translate
from toolgate.protocol.approval import Approval, ApprovalChoice, ApprovalRequest, Question, Scope
from toolgate.protocol.ports import Approver
from toolgate.system import termios

_LINES = 40
_WIDTH = 2000
_SCOPES: dict[Scope, str] = {"session": translatable("session"), "project": translatable("project")}


def terminal_approver() -> Approver | None:
    """Return an approver if there is a terminal. Without one, calls that need permission are denied."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return TerminalApprover(sys.stdin, sys.stderr)


class TerminalApprover:
    """Shows what will happen and waits for `y`. Any other answer, or none, denies the call."""

    def __init__(self, source: TextIO | None = None, screen: TextIO | None = None) -> None:
        """Answers are read from `source` (default: stdin); questions are shown on `screen` (default: stderr)."""
        self._source = source if source is not None else sys.stdin
        self._screen = screen if screen is not None else sys.stderr
        self._style = Style(self._screen)
        self._turn = asyncio.Lock()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask once; `v` shows the complete detail and asks again. Without a terminal the answer is no."""
        if not (self._source.isatty() and self._screen.isatty()):
            return Approval(allowed=False, message="there is no terminal to ask at")
        async with self._turn:  # two questions at the same time could not be told apart
            return await self._decide(request)

    async def _decide(self, request: ApprovalRequest) -> Approval:
        if request.question is not None:
            return await self._answer(request, request.question)
        detail = visible(request.detail.rstrip("\n"))
        short, cut = excerpt(collapse_runs(detail), lines=_LINES, width=_WIDTH)
        cut = cut or short != detail
        self._show(request, short)
        while True:
            always = translate("/a for always") if request.choices else ""
            self._ask(translate("y/N{always}/v to see all of it", always=always) if cut else f"y/N{always}")
            answer = (await self._line()).strip().lower()
            if answer == "v" and cut:
                self._write(self._indented(detail))
                continue
            if answer in {"a", "always"} and request.choices:
                picked = await self._pick(request)
                if picked is not None:
                    return picked
                continue
            return Approval(
                allowed=answer in {"y", "yes"}, message="" if answer in {"y", "yes"} else "not allowed at the terminal"
            )

    async def _answer(self, request: ApprovalRequest, asked: Question) -> Approval:
        """Show a question and read one line: the number of an option, or any text. An empty line declines."""
        self._show(request, collapse_runs(visible(request.detail.rstrip("\n"))))
        hint = (
            translate("1-{count} or your own text, empty: no answer", count=len(asked.options))
            if asked.options
            else translate("empty: no answer")
        )
        self._ask(hint, translatable("Your answer?"))
        said = (await self._line()).strip()
        if said.isdecimal() and 1 <= int(said) <= len(asked.options):
            said = asked.options[int(said) - 1]
        return Approval(allowed=bool(said), text=said, message="" if said else "the person at the terminal declined")

    async def _pick(self, request: ApprovalRequest) -> Approval | None:
        """Show every rule that can be remembered, and read which one and for how long; None: ask again."""
        offered: list[tuple[ApprovalChoice, Scope]] = []
        for choice in request.choices:
            for scope in choice.scopes:
                offered.append((choice, scope))
                words = translate(
                    "{count}  {label}, for this {scope}",
                    count=len(offered),
                    label=visible(phrase(choice.label), keep=""),
                    scope=translate(_SCOPES[scope]),
                )
                self._write(f"{self._style(words, 'bold')}\n{self._indented(visible(choice.rule))}")
        self._ask(translate("1-{count}, anything else: back", count=len(offered)), translatable("Always allow which?"))
        answer = (await self._line()).strip()
        if not (answer.isdecimal() and 1 <= int(answer) <= len(offered)):
            return None
        choice, scope = offered[int(answer) - 1]
        return Approval(allowed=True, remember=True, choice=choice.id, scope=scope)

    def _show(self, request: ApprovalRequest, detail: str) -> None:
        self._write(f"\n{self._style(_head(request), 'bold', 'yellow')}\n")
        if detail:
            self._write(self._indented(detail if request.question else explained(detail)))

    def _indented(self, detail: str) -> str:
        """Indent by two columns, so that no line looks like one of Toolgate's own."""
        return "".join(f"  {self._coloured(line)}\n" for line in detail.split("\n"))

    def _coloured(self, line: str) -> str:
        colour = diff_colour(line)
        return self._style(line, colour) if colour else line

    def _ask(self, choices: str, question: str = translatable("Allow?")) -> None:
        # Input that was typed before the question was visible is not an answer to it.
        termios.tcflush(self._source.fileno(), termios.TCIFLUSH)
        self._write(f"{self._style(translate(question), 'bold')} [{choices}] ")

    def _write(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()

    async def _line(self) -> str:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            if not line.done():
                line.set_result(self._source.readline())

        # A thread that waits in input() could not be cancelled.
        loop.add_reader(self._source.fileno(), read)
        try:
            return await line
        finally:
            loop.remove_reader(self._source.fileno())


def asker(agent: str) -> str:
    """Say who asks a question; `agent` is empty for the main agent."""
    return translate("Sub-agent {agent} asks:", agent=agent) if agent else translate("The model asks:")


def _head(request: ApprovalRequest) -> str:
    agent = visible(request.agent, keep="")
    if request.question is not None:
        return asker(agent)
    who = translate(" for {agent}", agent=agent) if agent else ""
    return translate(
        "{tool_name}{who} asks: {summary}",
        tool_name=visible(request.tool_name, keep=""),
        who=who,
        summary=visible(phrase(request.summary), keep=""),
    )
