"""The conversation that a chat is in: which session, what its next message starts, and what it has used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.modes import ToolMode

if TYPE_CHECKING:
    import argparse

    from toolgate.agent import TurnStream
    from toolgate.agent.events import TurnDone
    from toolgate.compose import Stack
    from toolgate.sessions import Session


class Conversation:
    """A session, made with the first message, and the tokens that it took."""

    def __init__(self, stack: Stack, mode: ToolMode) -> None:
        self.stack = stack
        self.session: Session | None = None
        self._wanted = mode
        self.input_tokens = 0
        self.output_tokens = 0
        self.context_tokens = 0

    @property
    def mode(self) -> ToolMode:
        """The mode of the session, or that of the one that the next message makes."""
        return self.session.mode if self.session is not None else self._wanted

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return str(getattr(self.stack.model, "name", type(self.stack.model).__name__))

    @property
    def is_offline(self) -> bool:
        """Whether nobody is there to answer in words."""
        return self.model_name == "offline"

    @property
    def context_share(self) -> float:
        """How much of the context is used: the estimate of the next request over what is sent at the most."""
        return self.context_tokens / self.stack.settings.agent.context_tokens

    def start_over(self, mode: ToolMode | None = None) -> None:
        """The next message begins a new session."""
        self.session = None
        self._wanted = mode or self._wanted
        self.input_tokens = self.output_tokens = self.context_tokens = 0

    async def resume(self, session: Session) -> None:
        """Go on with a session; what it has used so far counts."""
        self.start_over()
        self.session = session
        for turn in await self.stack.sessions.turns(session.id):
            self.input_tokens += turn.usage.input_tokens
            self.output_tokens += turn.usage.output_tokens

    async def ensured(self) -> Session:
        """The session, made if there is none."""
        if self.session is None:
            stack = self.stack
            self.session = await stack.sessions.create(self._wanted, user=stack.user, project=stack.project)
        return self.session

    async def send(self, text: str) -> TurnStream:
        """A turn; it begins when it is iterated."""
        return self.stack.loop.handle_message((await self.ensured()).id, text)

    def count(self, done: TurnDone) -> None:
        """Note what a turn took."""
        self.input_tokens += done.usage.input_tokens
        self.output_tokens += done.usage.output_tokens
        self.context_tokens = done.context_tokens


async def conversation_for(stack: Stack, args: argparse.Namespace) -> Conversation:
    """The conversation that the command line asks for: a new one, the latest, or one by its id."""
    from toolgate.cli.guard import UsageError
    from toolgate.cli.sessions.find import find, latest

    conversation = Conversation(stack, ToolMode.coding if args.coding else ToolMode.chat_safe)
    if args.latest:
        session = await latest(stack)
        if session is None:
            raise UsageError("there is no session of this project to go on with; start without --continue")
        await conversation.resume(session)
    elif args.resume:
        await conversation.resume(await find(stack.sessions, args.resume))
    return conversation
