"""`toolgate chat --print`: one message and one answer, for scripts."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.agent.events import AgentEvent, TextChunk, ToolCallInfo, TurnFailed
from toolgate.cli.chat.attachments import attached
from toolgate.cli.chat.command import settings_for
from toolgate.cli.chat.conversation import Conversation, conversation_for
from toolgate.cli.chat.headless import HeadlessApprover, print_error
from toolgate.cli.errors import UsageError, run_until_signalled
from toolgate.cli.parser import own_tools
from toolgate.language.translate import translate
from toolgate.protocol.ids import uuid7

if TYPE_CHECKING:
    import argparse

    from toolgate.compose import Stack


def answer(args: argparse.Namespace, message: str) -> int:
    """Run one turn and print it; return 0 on success."""
    if args.resume == "":
        raise UsageError(translate("--resume needs an id here; toolgate sessions list shows them"))
    return run_until_signalled(_answer(args, message))


async def _answer(args: argparse.Namespace, message: str) -> int:
    from toolgate.compose import assemble
    from toolgate.models import model_from_settings
    from toolgate.models.sdk import SdkModel

    settings = settings_for(args)
    model = model_from_settings(settings.model)
    approver = HeadlessApprover(yes=args.yes, policy_file=settings.policy_file)
    tools = own_tools(args)
    async with assemble(settings, model=model, tools=tools, approver=approver, live_output=args.json) as stack:
        if args.yes:
            _check_sandbox(stack)
        conversation = await conversation_for(stack, args)
        session = await conversation.ensure_session()
        if isinstance(model, SdkModel):
            model.warm()  # not earlier: two imports at the same time take longer than one after the other
        writer: _JsonOutput | _TextOutput = (
            _JsonOutput(sys.stdout.write, sys.stdout.flush) if args.json else _TextOutput(sys.stdout.write)
        )
        writer.begin(conversation)
        named = "" if args.print == "-" else args.print  # files in what was piped are only words
        found = await attached(stack.workspace, named)
        for problem in found.problems:
            print_error(problem)
        content, request_id = message + found.quoted, f"print:{uuid7()}"
        async for event in stack.loop.handle_message(session.id, content, request_id=request_id, images=found.images):
            if not gc.isenabled():
                gc.freeze()
                gc.enable()
            writer.show(event)
        return writer.end()


def _check_sandbox(stack: Stack) -> None:
    """Refuse `--yes` without a sandbox, because nobody watches."""
    from toolgate.shell import ShellSession

    report = ShellSession(stack.workspace, settings=stack.settings).sandbox()
    if report.layer == "off" or report.unconfined:
        why = ", ".join(report.unconfined) or "it is disabled"
        raise UsageError(
            translate(
                "--yes needs a sandbox that confines commands ({why}); toolgate doctor says what is missing", why=why
            )
        )


class _TextOutput:
    """Prints the model's last message on stdout, and errors on stderr."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._text = ""
        self._failed = False

    def begin(self, conversation: Conversation) -> None:
        """Do nothing: there is no text yet."""

    def show(self, event: AgentEvent) -> None:
        """Keep the text of the current message."""
        if isinstance(event, TextChunk):
            self._text += event.content
        elif isinstance(event, ToolCallInfo):
            self._text = ""
        elif isinstance(event, TurnFailed):
            self._failed = True
            print_error(f"{event.code}: {event.message}")

    def end(self) -> int:
        """Print the answer."""
        text = self._text
        if sys.stdout.isatty():
            from toolgate.cli.visible import visible

            text = visible(text)
        if text:
            self._write(text if text.endswith("\n") else text + "\n")
        return int(self._failed)


class _JsonOutput:
    """Prints every event as it arrives, one per line."""

    def __init__(self, write: Callable[[str], object], flush: Callable[[], object]) -> None:
        self._write, self._flush = write, flush
        self._failed = False

    def begin(self, conversation: Conversation) -> None:
        """Print which session this is."""
        session = conversation.session
        assert session is not None
        self._line(
            {
                "type": "session",
                "session_id": session.id,
                "mode": session.mode.value,
                "approval_mode": conversation.approval_mode.value,
                "model": conversation.model_name,
                "project": session.project,
            }
        )

    def show(self, event: AgentEvent) -> None:
        """Print one event."""
        from toolgate.cli.chat.json_events import as_object

        value = as_object(event)
        self._failed = self._failed or value["type"] == "turn_failed"
        self._line(value)

    def end(self) -> int:
        """Return the exit code; everything is already printed."""
        return int(self._failed)

    def _line(self, value: dict[str, Any]) -> None:
        from toolgate.cli.chat.json_events import as_line
        from toolgate.cli.visible import for_terminal

        self._write(for_terminal(as_line(value)) + "\n")
        self._flush()
