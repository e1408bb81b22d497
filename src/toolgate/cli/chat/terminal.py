"""The chat at a terminal: a loop of prompts and turns."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolgate.agent.events import TurnDone
from toolgate.cli.chat.approval_prompt import ApprovalPrompt
from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.command import LATEST, settings_for
from toolgate.cli.chat.conversation import (
    Conversation,
    conversation_for,
    project_and_branch,
    resume_command,
    status_parts,
)
from toolgate.cli.chat.editor import Editor, Interrupted
from toolgate.cli.chat.graphics import TerminalAnswer, ask_terminal
from toolgate.cli.chat.keyboard import Keyboard
from toolgate.cli.chat.live_region import LiveRegion
from toolgate.cli.chat.slash_commands import SlashCommands
from toolgate.cli.chat.turn_view import TurnView
from toolgate.cli.chat.welcome import draw_prompt, message_history, session_recap, welcome
from toolgate.cli.errors import UsageError, run_until_signalled
from toolgate.cli.parser import own_tools
from toolgate.cli.sh.line_source import EndOfInput
from toolgate.cli.style import diff_colour
from toolgate.cli.visible import visible
from toolgate.errors import ToolgateError
from toolgate.language.translate import translate
from toolgate.protocol.modes import ApprovalMode

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from toolgate.agent import TurnStream


def converse(args: argparse.Namespace) -> int:
    """Chat until the person leaves."""
    answer = ask_terminal(sys.stdin.fileno(), sys.stdout.fileno())
    return run_until_signalled(_converse(args, answer))


async def _converse(args: argparse.Namespace, answer: TerminalAnswer) -> int:
    from toolgate.compose import assemble
    from toolgate.models import model_from_settings
    from toolgate.models.sdk import SdkModel

    settings = settings_for(args)
    canvas = Canvas(sys.stdout, answer.graphics)
    approval_prompt = ApprovalPrompt(canvas)
    model = model_from_settings(settings.model)
    if isinstance(model, SdkModel):
        model.warm()  # in the background, while the person writes the first message
    async with assemble(
        settings,
        model=model,
        tools=own_tools(args),
        approver=approval_prompt,
        live_output=True,
        remembers_for_project=True,
        nested_output=True,
    ) as stack:
        conversation = await conversation_for(stack, args)
        chat = Chat(conversation, canvas, approval_prompt, args.root)
        chat.typed(answer.typed)
        with _warnings_shown(chat):
            await chat.greet(choose=args.resume == LATEST)
            await chat.talk()
    return 0


class Chat:
    """Connects a person, an agent and the terminal."""

    def __init__(
        self, conversation: Conversation, canvas: Canvas, approval_prompt: ApprovalPrompt, root: Path | None = None
    ) -> None:
        self._conversation = conversation
        self._root = root
        self._canvas = canvas
        self._region = LiveRegion(sys.stdout, canvas)
        self._approval_prompt = approval_prompt
        self._view = TurnView(canvas, self._region, approval_prompt, conversation)
        self._commands = SlashCommands(conversation, self)
        self._keyboard = Keyboard(sys.stdin, sys.stdout)
        approval_prompt.keyboard = self._keyboard
        self._typed_ahead = self._view.typed_ahead = self._keyboard.typed_ahead
        self._typed_ahead.changed = self._view.refresh
        self._place = project_and_branch(conversation.stack)
        self._keyboard.on_shift_tab = self._switch_soon
        self._switching: set[asyncio.Task[None]] = set()

    def typed(self, keys: bytes) -> None:
        """Handle what was typed before there was a prompt."""
        self._keyboard.feed(keys)

    async def greet(self, *, choose: bool) -> None:
        """Print the welcome text, or the end of the continued session."""
        self._region.print(welcome(self._canvas, self._conversation))
        if choose:
            await self._commands.run("/resume")
        elif self._conversation.session is not None:
            await self.recall()

    async def talk(self) -> None:
        """Handle one message after the other."""
        past = await message_history(self._conversation.stack)
        paths, own = self._conversation.complete_path, self._conversation.own_commands
        editor = Editor(self._toolbar, lambda: self.show_call(None), past, self.switch_approval_mode, paths, own)
        while True:
            self._region.print([""])
            try:
                text = await self._next(editor)
                if self._switching:  # what was switched before the message counts for it
                    await asyncio.wait(self._switching)
                if self._commands.knows(text):
                    await self._commands.run(text)
                elif not await self._turn(text):
                    self._typed_ahead.hold()
            except Interrupted as interrupted:
                if interrupted.last:
                    self.say(translate("Press Ctrl-C again, or Ctrl-D, to leave."), "dim")
            except EndOfInput:
                self._farewell()
                return

    async def switch_approval_mode(self) -> None:
        """Switch to the next approval mode (Shift-Tab), also if the message is sent meanwhile."""
        await asyncio.shield(self._switch_soon())

    def _switch_soon(self) -> asyncio.Task[None]:
        """Start the switch in a task. While a turn runs, the new mode counts from its next call on."""
        task = asyncio.get_running_loop().create_task(self._switch())
        self._switching.add(task)
        task.add_done_callback(self._switching.discard)
        return task

    async def _switch(self) -> None:
        modes = list(ApprovalMode)
        following = modes[(modes.index(self._conversation.approval_mode) + 1) % len(modes)]
        try:
            await self._conversation.switch_approval_mode(following)
        except ToolgateError as error:
            self.say(visible(str(error)), "bold red")
        self._view.refresh()

    async def _next(self, editor: Editor) -> str:
        """Return the next queued message, or read one."""
        text = self._typed_ahead.next()
        if text is None:
            return await editor.next(self._typed_ahead.rest())
        editor.remember(text)
        self._region.print(draw_prompt(self._canvas, text))
        return text

    async def _turn(self, text: str) -> bool:
        """Run one turn; return whether it succeeded."""
        try:
            stream = await self._conversation.send(text, lambda line: self.say(line, "dim"))
        except ToolgateError as error:
            self._region.print([""])
            self.say(visible(str(error)), "bold red")
            return False
        return await self.run_turn(stream)

    async def run_turn(self, stream: TurnStream) -> bool:
        """Show a turn to its end; return whether it succeeded. Ctrl-C cancels the turn, not the program."""
        self._region.print([""])
        self._view.begin()
        ended_well = False
        with self._keyboard, self._signals(stream):
            animation = asyncio.get_running_loop().create_task(self._view.animate())
            try:
                async for event in stream:
                    await self._view.prepare(event)
                    self._view.show(event)
                    ended_well = isinstance(event, TurnDone)
            except ToolgateError as error:
                self._view.end()
                self.say(visible(str(error)), "bold red")
            except Exception as error:  # noqa: BLE001 - any failure of a turn is shown, and the chat continues
                self._view.end()
                self.say(
                    translate("unexpected {name}: {error}", name=type(error).__name__, error=visible(str(error))),
                    "bold red",
                )
            finally:
                animation.cancel()
                await asyncio.wait([animation])
                self._view.end()
                with contextlib.suppress(ToolgateError):  # the next turn says what is wrong with the database
                    await self._conversation.refresh_approval_mode()
        self._place = project_and_branch(self._conversation.stack)
        return ended_well

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        """Ask the person for a line."""
        from prompt_toolkit import PromptSession

        try:
            text = await PromptSession[str]().prompt_async(f"{question} ", is_password=hidden)
        except (KeyboardInterrupt, EOFError):
            raise UsageError(translate("Nothing was changed.")) from None
        return text.strip()

    @contextlib.contextmanager
    def _signals(self, stream: TurnStream) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self._view.stopping()
            stream.cancel()

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGWINCH)}
        loop.add_signal_handler(signal.SIGINT, stop)
        loop.add_signal_handler(signal.SIGWINCH, self._view.refresh)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def say(self, text: str, style: str = "") -> None:
        """Print a message of the chat itself."""
        from rich.text import Text

        self._region.print(self._canvas.lines(Text(text, style=style), wide=True))

    def show_diff(self, diff: str) -> None:
        """Print a difference of a file."""
        rows = visible(diff).split("\n") if diff else []
        self._region.print([self._canvas.line("  ", (row.expandtabs(8), diff_colour(row))) for row in rows])

    def show_call(self, number: int | None) -> None:
        """Print a call with its complete output."""
        cards = self._view.cards
        wanted = len(cards) if number is None else number
        if not cards:
            self.say(translate("There is no call: no call was made yet."), "yellow")
        elif not 1 <= wanted <= len(cards):
            count = len(cards)
            self.say(
                translate("There is no call {wanted}: the calls are 1 to {count}.", wanted=wanted, count=count),
                "yellow",
            )
        else:
            self._region.print(cards[wanted - 1].whole(self._canvas))

    async def recall(self) -> None:
        """Show the end of a continued session."""
        self._region.print(await session_recap(self._canvas, self._conversation))

    def _toolbar(self) -> StyleAndTextTuples:
        parts = status_parts(self._conversation, self._place)
        return [("", "  " + " · ".join(visible(part, keep="") for part in parts))]

    def _farewell(self) -> None:
        session = self._conversation.session
        if session is not None:
            command = resume_command(session, self._root)
            self.say(translate("{command} continues this session.", command=visible(command, keep="")), "dim")


class _WarningHandler(logging.Handler):
    """Prints Toolgate's warnings in the chat."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(logging.WARNING)
        self._chat = chat

    def emit(self, record: logging.LogRecord) -> None:
        """Print one warning."""
        self._chat.say(f"! {visible(record.getMessage(), keep='')}", "dim yellow")


@contextlib.contextmanager
def _warnings_shown(chat: Chat) -> Iterator[None]:
    logger, handler = logging.getLogger("toolgate"), _WarningHandler(chat)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
