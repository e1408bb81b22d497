"""The commands of the chat itself, which begin with a slash. A model's text is never one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from toolgate.cli.chat.approval_words import APPROVAL_HELP, APPROVAL_WORDS
from toolgate.cli.chat.model_command import ModelCommand
from toolgate.cli.chat.permissions import permissions_command
from toolgate.cli.chat.session_commands import SessionCommands
from toolgate.cli.errors import UsageError
from toolgate.cli.sessions.find import find, short
from toolgate.cli.sessions.listing import age
from toolgate.cli.sh.line_source import EndOfInput
from toolgate.cli.visible import visible
from toolgate.errors import ToolError, ToolgateError, UndoRefused
from toolgate.language.translate import translatable, translate
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.tools.declaration import asks_when

if TYPE_CHECKING:
    from toolgate.agent import TurnStream
    from toolgate.cli.chat.conversation import Conversation

COMMANDS = {
    "/help": ("", translatable("show the commands and keys")),
    "/new": ("[coding | chat_safe]", translatable("start a new session")),
    "/sessions": ("", translatable("list the latest sessions of this project")),
    "/resume": ("ID | N", translatable("continue a session; N is its number in /sessions")),
    "/rename": ("TITLE", translatable("rename this session")),
    "/show": ("[N]", translatable("show a call with its complete output; without a number, the last one (Ctrl-O)")),
    "/tools": ("", translatable("list the tools of this session")),
    "/model": (
        "[NAME | N | default | setup]",
        translatable("list the models, choose one for this session, or set one up"),
    ),
    "/compact": ("[undo]", translatable("let the model summarise the conversation so far, to make room")),
    "/mode": ("", translatable("show the mode, and what it allows")),
    "/approvals": ("[ask | accept_edits | plan]", translatable("show or switch what you are asked about (Shift-Tab)")),
    "/permissions": ("[remove N]", translatable("list what you have allowed for good, or take it back")),
    "/diff": ("[PATH]", translatable("show what this session changed in files")),
    "/undo": (
        "[call | turn | session | PATH]",
        translatable("undo what the last turn changed in files, or all changes of one file"),
    ),
    "/rewind": (
        "[N [files]]",
        translatable("go back to before message N; with files, also take back what was written since"),
    ),
    "/fork": ("[N]", translatable("continue in a new session from before message N, or from here")),
    "/export": ("[markdown | json] [FILE]", translatable("save this session to a file")),
    "/status": ("", translatable("show the project, the model, the session and what was used")),
    "/quit": ("", translatable("leave (Ctrl-D)")),
}
"""Command → its arguments, and what it does."""
_KEYS = translatable(
    "Enter sends · Alt-Enter starts a new line · Ctrl-C cancels a turn · Ctrl-O shows the last call · "
    "Shift-Tab switches what you are asked about · Ctrl-D leaves\n"
    "@ completes the path of a file · !COMMAND runs a command yourself, in the agent's shell"
)
_LISTED = 10


class CommandHost(Protocol):
    """What the commands need from the chat."""

    def say(self, text: str, style: str = "") -> None:
        """Print a message of the chat itself."""
        ...

    def show_call(self, number: int | None) -> None:
        """Print a call with its complete output; the last one without a number."""
        ...

    def show_diff(self, diff: str) -> None:
        """Print a difference of a file."""
        ...

    async def recall(self) -> None:
        """Show the end of a continued session."""
        ...

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        """Ask the person for a line. Raises `UsageError` if there is nobody to ask, or they do not answer."""
        ...

    async def run_turn(self, stream: TurnStream) -> bool:
        """Show a turn to its end; return whether it succeeded."""
        ...


class SlashCommands(SessionCommands):
    """Runs the chat's commands."""

    def __init__(self, conversation: Conversation, host: CommandHost) -> None:
        self._conversation = conversation
        self._host = host
        self._listed: list[str] = []

    def knows(self, line: str) -> bool:
        """Whether a line is a command of the chat; paths, text of several lines and custom commands are not."""
        word, _, rest = line.strip().partition(" ")
        if not word.startswith("/") or "\n" in rest or "/" in word[1:]:
            return False
        return word in COMMANDS or self._conversation.stack.loop.commands.get(word[1:]) is None

    async def run(self, line: str) -> None:
        """Run a command. Errors are printed, and the chat continues."""
        word, _, rest = line.strip().partition(" ")
        names = [name for name in COMMANDS if name.startswith(word)] if len(word) > 1 else []
        name = names[0] if len(names) == 1 else ""
        if word in COMMANDS:
            name = word
        if not name:
            self._host.say(
                translate("There is no {word}. /help lists the commands.", word=visible(word, keep="")), "yellow"
            )
            return
        try:
            await getattr(self, f"_{name[1:]}")(rest.strip())
        except (UsageError, ToolgateError) as error:
            step = f" {error.next_step}" if isinstance(error, ToolError) else ""
            self._host.say(f"{visible(str(error))}{step}", "yellow")

    async def _help(self, _rest: str) -> None:
        rows = [(f"{name} {words}".strip(), translate(summary)) for name, (words, summary) in COMMANDS.items()]
        own = self._conversation.stack.loop.commands.all()
        rows += [
            (f"/{command.name} {command.hint}".strip(), f"{command.description} ({command.source})")
            for command in own
            if f"/{command.name}" not in COMMANDS
        ]
        width = max(len(usage) for usage, _ in rows)
        self._host.say("\n".join(f"  {usage:<{width}}  {summary}" for usage, summary in rows))
        self._host.say(translate(_KEYS), "dim")

    async def _quit(self, _rest: str) -> None:
        raise EndOfInput

    async def _new(self, rest: str) -> None:
        if rest and rest not in list(ToolMode):
            raise UsageError(
                translate(
                    "there is no mode {rest}; the modes are: {toolmode}", rest=repr(rest), toolmode=", ".join(ToolMode)
                )
            )
        wanted = ToolMode(rest) if rest else None
        if wanted is ToolMode.coding and not self._conversation.stack.settings.session.coding_enabled:
            raise UsageError(translate("coding is not enabled here: start with toolgate chat --coding"))
        self._conversation.start_over(wanted)
        self._host.say(
            translate("The next message starts a new session in {value}.", value=self._conversation.mode.value), "dim"
        )

    async def _sessions(self, _rest: str) -> None:
        stack = self._conversation.stack
        found = await stack.sessions.list(user=stack.user, project=stack.project, limit=_LISTED)
        self._listed = [session.id for session in found]
        if not found:
            self._host.say(translate("This project has no sessions yet."), "dim")
        now, current = time.time(), self._conversation.session
        for number, session in enumerate(found, 1):
            here = translate("  ← here") if current is not None and current.id == session.id else ""
            facts = f"{short(session.id)}  {age(now - session.updated_at):>6}  {session.mode.value:<9}"
            self._host.say(f"{number:>3}  {facts}  {visible(session.title, keep='') or '–'}{here}")

    async def _resume(self, rest: str) -> None:
        if not rest:
            await self._sessions("")
            self._host.say(translate("/resume N continues one of them."), "dim")
            return
        position = int(rest) - 1 if rest.isdecimal() and len(rest) < 4 else -1
        typed = self._listed[position] if 0 <= position < len(self._listed) else rest
        await self._conversation.resume(await find(self._conversation.stack.sessions, typed, in_chat=True))
        await self._host.recall()

    async def _rename(self, rest: str) -> None:
        from toolgate.cli.sessions.rename import rename

        session, stack = self._conversation.session, self._conversation.stack
        if session is None:
            raise UsageError(translate("the session starts with the first message; rename it then"))
        title = await rename(stack.sessions, session, rest, stack.settings)
        self._host.say(translate("This session is now called {title}.", title=visible(title, keep="")), "dim")

    async def _show(self, rest: str) -> None:
        number = rest.removeprefix("#")
        if rest and not number.isdecimal():
            raise UsageError(translate("/show takes the number of a call, such as /show 3"))
        self._host.show_call(int(number) if number else None)

    async def _tools(self, _rest: str) -> None:
        conversation = self._conversation
        registry = conversation.stack.registry
        tools = registry.list_declarations(conversation.mode, conversation.approval_mode)
        width = max((len(tool.name) for tool in tools), default=0)
        for tool in tools:
            first = " ".join(tool.definition.description.split()).partition(". ")[0].rstrip(".")
            found, declared = registry.get(tool.name), registry.declaration(tool.name)
            when = "never" if found is None or declared is None else asks_when(found, declared)
            asks = {"always": translate(" (asks)"), "risky": translate(" (asks if it is risky)"), "never": ""}[when]
            self._host.say(f"  {tool.name:<{width}}  {first}{asks}")

    async def _model(self, rest: str) -> None:
        await ModelCommand(self._conversation, self._host).run(rest)

    async def _compact(self, rest: str) -> None:
        session, stack = self._conversation.session, self._conversation.stack
        if rest not in ("", "undo"):
            raise UsageError(translate("/compact takes nothing, or undo"))
        if session is None:
            raise UsageError(translate("there is nothing to summarise yet"))
        if not rest:
            await self._host.run_turn(stack.loop.compact(session.id))
        elif await stack.sessions.restore_context(session.id):
            self._host.say(translate("The model reads the original messages again."), "dim")
        else:
            self._host.say(translate("There is no summary to take back."), "dim")

    async def _mode(self, _rest: str) -> None:
        conversation = self._conversation
        if conversation.mode is ToolMode.coding:
            words = translate("coding: files and commands of this project, confined; risky calls need your approval.")
        elif conversation.stack.settings.session.coding_enabled:
            words = translate("chat_safe: no files and no commands. /new coding starts a session that has them.")
        else:
            words = translate(
                "chat_safe: no files and no commands. toolgate chat --coding starts sessions that have them."
            )
        self._host.say(translate("{words} The mode of a session never changes.", words=words))

    async def _approvals(self, rest: str) -> None:
        if rest and rest not in list(ApprovalMode):
            raise UsageError(translate("/approvals takes one of: {approvalmode}", approvalmode=", ".join(ApprovalMode)))
        if rest:
            await self._conversation.switch_approval_mode(ApprovalMode(rest))
        now = self._conversation.approval_mode
        self._host.say(
            translate(
                "{approval_words}: {approval_help} Shift-Tab switches.",
                approval_words=translate(APPROVAL_WORDS[now]),
                approval_help=translate(APPROVAL_HELP[now]),
            )
        )

    async def _permissions(self, rest: str) -> None:
        await permissions_command(self._conversation, self._host.say, rest)

    async def _undo(self, rest: str) -> None:
        from toolgate.workspace.undo import undo

        last = rest or "turn"
        if last not in ("call", "turn", "session"):
            await self.undo_file(rest)
            return
        if self._conversation.session is None:
            raise UsageError(translate("nothing has been changed in this session"))
        try:
            undone = undo(self._conversation.stack.workspace, last, session_id=self._conversation.session.id)  # type: ignore[arg-type]
        except UndoRefused as refused:
            raise UsageError(str(refused)) from None
        for one in undone:
            self._host.say(f"{one.action}  {visible(one.path, keep='')}")
        if not undone:
            self._host.say(translate("There is nothing to undo."), "dim")
