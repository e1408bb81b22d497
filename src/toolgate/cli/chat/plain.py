"""The chat without cursor control: every line is a message, and answers are plain text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.command import LATEST, settings_for
from toolgate.cli.chat.conversation import Conversation, conversation_for
from toolgate.cli.chat.headless import HeadlessApprover, print_error
from toolgate.cli.chat.slash_commands import SlashCommands
from toolgate.cli.errors import UsageError, run_until_signalled
from toolgate.cli.parser import own_tools
from toolgate.cli.sh.line_source import EndOfInput, PlainLines
from toolgate.cli.terminal_approver import terminal_approver
from toolgate.cli.visible import prose, visible
from toolgate.errors import MissingPackage, ToolgateError
from toolgate.extras import require_extra
from toolgate.language.translate import translate

if TYPE_CHECKING:
    import argparse

    from toolgate.agent import TurnStream
    from toolgate.protocol.calls import ToolResult


def converse(args: argparse.Namespace) -> int:
    """Answer line by line until the end of stdin."""
    if args.resume == LATEST:
        raise UsageError(translate("--resume needs an id here; toolgate sessions list shows them"))
    return run_until_signalled(_converse(args))


async def _converse(args: argparse.Namespace) -> int:
    from toolgate.compose import assemble
    from toolgate.models import model_from_settings

    settings = settings_for(args)
    approver = terminal_approver() or HeadlessApprover(yes=False, policy_file=settings.policy_file)
    model, tools = model_from_settings(settings.model), own_tools(args)
    async with assemble(settings, model=model, tools=tools, approver=approver) as stack:
        conversation = await conversation_for(stack, args)
        chat = PlainChat(conversation)
        if _is_terminal() and (missing := _missing_package()):
            chat.say(translate("Answers are plain text here. {missing}", missing=missing))
        return await chat.talk(MessageLines(sys.stdin.fileno(), "> " if _is_terminal() else ""))


class MessageLines(PlainLines):
    """Messages, one per line."""

    async def next(self) -> str:
        """Return the next line."""
        line = await self._line(self._prompt)
        if line is None:
            raise EndOfInput
        return line


class PlainChat:
    """Prints answers on stdout, and calls and errors on stderr."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._commands = SlashCommands(conversation, self)
        self._results: list[ToolResult] = []
        self._failed = False

    async def talk(self, lines: MessageLines) -> int:
        """Answer every line; return 1 if the last turn failed."""
        while True:
            try:
                line = await lines.next()
                if self._commands.knows(line):
                    await self._commands.run(line)
                elif line.strip():
                    await self._turn(line)
            except EndOfInput:
                return int(self._failed)

    async def _turn(self, text: str) -> None:
        before = len(self._results)
        await self.run_turn(await self._conversation.send(text, self.say))
        if text.startswith("!") and len(self._results) > before:  # the person's own command: nobody reads it for them
            self.show_call(None)

    async def run_turn(self, stream: TurnStream) -> bool:
        """Print a turn to its end; return whether it succeeded."""
        self._failed = False
        open_line = False
        try:
            async for event in stream:
                if type(event).__name__ == "TextChunk":
                    open_line = self._say(event)
                else:
                    open_line = self._end_line(open_line)
                    self._handle(event)
        except ToolgateError as error:
            self._failed = True
            print_error(str(error))
        self._end_line(open_line)
        return not self._failed

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        """Refuse: every line of the input is a message."""
        raise UsageError(
            translate("a model is set up at a terminal (toolgate chat), on the page, or in the config file")
        )

    def _say(self, event: Any) -> bool:
        text = prose(event.content) if sys.stdout.isatty() else event.content
        sys.stdout.write(text)
        sys.stdout.flush()
        return not text.endswith("\n")

    def _end_line(self, is_open: bool) -> bool:
        if is_open:
            sys.stdout.write("\n")
            sys.stdout.flush()
        return False

    def _handle(self, event: Any) -> None:
        from toolgate.cli.chat.retry_words import describe_retry
        from toolgate.cli.chat.tool_card import describe_call

        name = type(event).__name__
        if name == "ToolCallInfo":
            self.say(f"[{visible(event.tool_name, keep='')} {describe_call(event.arguments)}]")
        elif name == "ToolDenied":
            advice = self._conversation.advice_on_mode or event.next_action
            self.say(translate("[denied: {message} {advice}]", message=event.message, advice=advice))
        elif name == "ToolResultInfo":
            self._results.append(event.result)
            if event.result.is_error:
                self.say(f"[{event.result.response.error.code.value}: {prose(event.result.message)}]")
        elif name == "ModelRetry":
            self.say(f"[{describe_retry(event).format(seconds=f'{event.seconds:g} s')}]")
        elif name == "Compacted":
            self.say(
                translate(
                    "[{before_tokens} → {after_tokens} tokens]",
                    before_tokens=f"{event.before_tokens:,}",
                    after_tokens=f"{event.after_tokens:,}",
                )
            )
        elif name == "TurnDone":
            self._conversation.count(event)
        elif name == "TurnFailed":
            self._failed = True
            print_error(f"{event.code}: {event.message}")

    def say(self, text: str, style: str = "") -> None:
        """Print a message of the chat itself."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def show_call(self, number: int | None) -> None:
        """Print a call's complete output."""
        wanted = len(self._results) if number is None else number
        if not 1 <= wanted <= len(self._results):
            self.say(translate("There is no such call."))
            return
        self.say(visible(self._results[wanted - 1].output))

    def show_diff(self, diff: str) -> None:
        """Print a difference of a file."""
        self.say(visible(diff))

    async def recall(self) -> None:
        """Print which session is continued."""
        session = self._conversation.session
        self.say(translate("Continuing {value}.", value=session.id if session else translate("nothing")))


def _missing_package() -> str:
    """Return what to install for a chat with colours, cards and keys; empty if nothing is missing."""
    try:
        require_extra("cli")
    except MissingPackage as error:
        return str(error)
    return ""


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
