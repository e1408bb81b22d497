"""The conversation of a chat: its session, its turns, and the tokens it used."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.agent.pictures import sees_pictures
from toolgate.cli.chat.approval_words import APPROVAL_WORDS
from toolgate.cli.chat.attachments import attached
from toolgate.errors import ModelError, ToolgateError
from toolgate.language.translate import translate
from toolgate.protocol.modes import ApprovalMode, ToolMode

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from toolgate.agent import TurnStream
    from toolgate.agent.events import TurnDone
    from toolgate.compose import Stack
    from toolgate.sessions import Session


class Conversation:
    """A session, created with the first message, and its tokens."""

    def __init__(self, stack: Stack, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> None:
        self.stack = stack
        self.session: Session | None = None
        self._new_mode = mode
        self._new_model = ""
        self.approval_mode = approval_mode
        """What the person wants to be asked about."""
        self.input_tokens = 0
        self.output_tokens = 0
        self.context_tokens = 0
        self.context_limit = 0

    @property
    def mode(self) -> ToolMode:
        """The mode of the session, or of the one that the next message creates."""
        return self.session.mode if self.session is not None else self._new_mode

    @property
    def advice_on_mode(self) -> str:
        """What the person can do if the mode denies a call; empty if another mode would not help."""
        if self.mode is ToolMode.coding:
            return ""
        if self.stack.settings.session.coding_enabled:
            return translate("/new coding starts a session that may use files and commands.")
        return translate("You can start one that may use files and commands: toolgate chat --coding")

    @property
    def model_name(self) -> str:
        """The name of the session's model."""
        chosen = self._new_model if self.session is None else self.session.model
        return chosen.partition(":")[2] or chosen or self.stack.models.default_name

    async def choose_model(self, model: str) -> None:
        """Use another model from the next message on; empty: the default. Raises `ModelError` if it cannot be used."""
        chosen = "" if model in (self.stack.models.default_id, self.stack.models.default_name) else model
        self.stack.models.find(chosen)
        self._new_model = chosen
        if self.session is not None:
            await self.stack.sessions.set_model(self.session.id, chosen)
            self.session = await self.stack.sessions.get(self.session.id)

    @property
    def is_offline(self) -> bool:
        """Whether there is no language model."""
        return self.model_name == "offline"

    @property
    def context_share(self) -> float:
        """The used share of the context: the estimated next request divided by the maximum."""
        return self.context_tokens / (self.context_limit or self.stack.settings.agent.context_tokens)

    @property
    def cost(self) -> float | None:
        """What the session has cost, if both prices are configured; nothing is guessed."""
        prices = self.stack.models.settings
        if prices.input_price is None or prices.output_price is None:
            return None
        return (self.input_tokens * prices.input_price + self.output_tokens * prices.output_price) / 1_000_000

    def start_over(self, mode: ToolMode | None = None) -> None:
        """Let the next message start a new session."""
        self.session = None
        self._new_mode = mode or self._new_mode
        self.input_tokens = self.output_tokens = self.context_tokens = self.context_limit = 0

    async def switch_approval_mode(self, approval_mode: ApprovalMode) -> None:
        """Switch what the person wants to be asked about, at once and also during a turn."""
        if self.session is not None:
            await self.stack.sessions.switch_approval_mode(self.session.id, approval_mode)
        self.approval_mode = approval_mode

    async def refresh_approval_mode(self) -> None:
        """Learn whether the approval mode was switched elsewhere, or by accepting a plan."""
        if self.session is not None:
            self.approval_mode = (await self.stack.sessions.permissions(self.session.id)).approval_mode

    async def resume(self, session: Session) -> None:
        """Continue a session; its tokens so far count."""
        self.start_over()
        self.session = session
        self.context_tokens, self.context_limit = session.context_tokens, session.context_limit
        self.approval_mode = session.approval_mode
        for turn in await self.stack.sessions.turns(session.id):
            self.input_tokens += turn.usage.input_tokens
            self.output_tokens += turn.usage.output_tokens

    async def ensure_session(self) -> Session:
        """Return the session; create it if there is none."""
        if self.session is None:
            stack = self.stack
            self.session = await stack.sessions.create(
                self._new_mode,
                user=stack.user,
                project=stack.project,
                model=self._new_model,
                approval_mode=self.approval_mode,
            )
        return self.session

    async def send(self, text: str, notice: Callable[[str], None]) -> TurnStream:
        """Return a turn, which starts when it is iterated. `!COMMAND` runs a command, and no model is asked.

        Pictures that the message names are sent with it; `notice` is told about each file.
        """
        session_id = (await self.ensure_session()).id
        if text.startswith("!") and (command := text[1:].strip()):
            return self.stack.loop.run_command(session_id, command)
        found = await attached(self.stack.workspace, text)
        for line in found.notices(self.model_name, takes_pictures=self._takes_pictures()):
            notice(line)
        return self.stack.loop.handle_message(session_id, text + found.quoted, images=found.images)

    def _takes_pictures(self) -> bool:
        try:
            model = self.stack.models.find("" if self.session is None else self.session.model)
        except ModelError:  # the turn says so
            return True
        return sees_pictures(model)

    def complete_path(self, typed: str) -> list[str]:
        """Return the paths of the project that fit what was typed; none where they cannot be read."""
        from toolgate.search.path_completion import complete_path
        from toolgate.workspace import Stop

        settings = self.stack.settings
        try:
            return complete_path(Stop(), self.stack.workspace, typed, settings.tool_output.dir, settings.shell.ripgrep)
        except (ToolgateError, OSError):  # the project is gone: the next call says so
            return []

    def own_commands(self) -> list[tuple[str, str]]:
        """Return the slash commands of the user and the project, as the files are now, and what they are for."""
        found = self.stack.loop.commands.all()
        return [(f"/{command.name}", command.description or command.hint) for command in found]

    def count(self, done: TurnDone) -> None:
        """Add the tokens of a turn."""
        self.input_tokens += done.usage.input_tokens
        self.output_tokens += done.usage.output_tokens
        if done.context_limit:  # not after a command that a person typed: no model was asked
            self.context_tokens, self.context_limit = done.context_tokens, done.context_limit


async def conversation_for(stack: Stack, args: argparse.Namespace) -> Conversation:
    """Return the conversation that the command line asks for: new, latest, or by id."""
    from toolgate.cli.errors import UsageError
    from toolgate.cli.sessions.find import find, latest

    wanted = None if args.approval_mode is None else ApprovalMode(args.approval_mode)
    mode = ToolMode.coding if args.coding else ToolMode.chat_safe
    conversation = Conversation(stack, mode, wanted or ApprovalMode.ask)
    if args.latest:
        asked_for = ToolMode.coding if args.coding else None
        session = await latest(stack, asked_for, interactive=args.print is None)
        if session is None:
            kind = translate("session in coding mode") if args.coding else translate("session")
            raise UsageError(translate("this project has no {kind} to continue; start without --continue", kind=kind))
        await conversation.resume(session)
    elif args.resume:
        await conversation.resume(await find(stack.sessions, args.resume))
    if wanted is not None and conversation.session is not None:
        await conversation.switch_approval_mode(wanted)
    return conversation


def resume_command(session: Session, root: Path | None) -> str:
    """Return the command line that continues a session in its mode; `root` is the `--root` that was given."""
    coding = ["--coding"] if session.mode is ToolMode.coding else []
    place = [] if root is None else ["--root", str(root)]
    return shlex.join(["toolgate", "chat", *coding, *place, "--resume", session.id])


def project_and_branch(stack: Stack) -> str:
    """Return the project and its branch."""
    from toolgate.gateway.project import branch, project_name

    name, found = project_name(str(stack.workspace.root)), branch(stack.workspace)
    return f"{name} ({found})" if found else name


def status_parts(conversation: Conversation, place: str) -> list[str]:
    """Return what is always shown: mode, model, project and branch, context, tokens, and the cost if it is known."""
    used = conversation.input_tokens + conversation.output_tokens
    limit = conversation.context_limit or conversation.stack.settings.agent.context_tokens
    context = translate(
        "context {context_share} of {limit}k", context_share=f"{conversation.context_share:.0%}", limit=limit // 1000
    )
    approvals = translate(APPROVAL_WORDS[conversation.approval_mode])
    parts = [conversation.mode.value, approvals, conversation.model_name, place, context]
    parts += [translate("{used} tokens", used=f"{used:,}")] if used else []
    return parts + ([translate("cost {cost}", cost=f"{conversation.cost:.4f}")] if conversation.cost else [])
