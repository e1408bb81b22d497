"""An agent with sessions in memory: python examples/agent.py [DIRECTORY].

A scripted model answers here. `OpenAIModel("gpt-5.5")` or `AnthropicModel("claude-sonnet-5")` of `toolgate.models` take
its place.
"""

import asyncio
import sys

from toolgate import ApprovalRequest, ToolCall, Workspace, builtin_registry
from toolgate.agent import AgentLoop, TextChunk, ToolCallInfo, ToolResultInfo
from toolgate.sessions import InMemorySessions
from toolgate.settings import SessionSettings
from toolgate.testing import ScriptedModel

MODEL = ScriptedModel(
    [
        ["I look around.", ToolCall(id="1", name="ls", arguments="{}")],
        "There is a README and a package.",
    ]
)


async def approve(request: ApprovalRequest) -> bool:
    """Allow what undo can take back."""
    return request.risk == "low"


async def main(root: str) -> None:
    """Take one turn and print its events."""
    with Workspace(root) as workspace:
        async with (
            InMemorySessions(SessionSettings(coding_enabled=True)) as sessions,
            AgentLoop(MODEL, builtin_registry(), sessions, workspace=workspace, approver=approve) as loop,
        ):
            session = await sessions.create("coding")
            async for event in loop.handle_message(session.id, "What is here?"):
                if isinstance(event, TextChunk):
                    print("text:", event.content)
                elif isinstance(event, ToolCallInfo):
                    print("call:", event.tool_name, event.arguments)
                elif isinstance(event, ToolResultInfo):
                    print("result:", event.result.response.status.value)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "."))
