"""An editor that drives an agent over ACP: it shows the agent's questions, answers them, and can cancel."""

from tests.adapters.outside.agents import Driver, Json, Place

_PROMPT = 3


class Editor:
    """One session of an agent."""

    def __init__(self, agent: Driver, session: str) -> None:
        self.agent = agent
        self.session = session

    async def begin(self, text: str = "do it") -> None:
        """Start a turn."""
        prompt = [{"type": "text", "text": text}]
        params = {"sessionId": self.session, "prompt": prompt}
        await self.agent.send(jsonrpc="2.0", id=_PROMPT, method="session/prompt", params=params)

    async def answer(self, *kinds: str) -> list[Json]:
        """Answer the agent's questions with one kind of option each; return the tool calls that they are about."""
        asked = []
        for kind in kinds:
            question = await self.agent.question("session/request_permission")
            options = question["params"]["options"]
            picked = next(option["optionId"] for option in options if option["kind"] == kind)
            outcome = {"outcome": "selected", "optionId": picked}
            await self.agent.send(jsonrpc="2.0", id=question["id"], result={"outcome": outcome})
            asked.append(question["params"]["toolCall"])
        return asked

    async def cancel(self) -> None:
        """Cancel the turn, as a user does."""
        await self.agent.send(jsonrpc="2.0", method="session/cancel", params={"sessionId": self.session})

    async def end(self) -> str:
        """Wait for the end of the turn, in which nothing more may be asked; return why it ended."""
        known = len(self.agent.seen)
        answer = await self.agent.until(lambda message: message.get("id") == _PROMPT and "method" not in message)
        later = [message.get("method") for message in self.agent.seen[known:]]
        assert "session/request_permission" not in later
        return str(answer["result"]["stopReason"])


async def connect(agent: Driver, at: Place) -> Editor:
    """Begin a session on the project."""
    await agent.request(1, "initialize", protocolVersion=1, clientCapabilities={})
    created = await agent.request(2, "session/new", cwd=str(at.root), mcpServers=[])
    return Editor(agent, created["sessionId"])
