"""The agent: the loop, its events, the prompt, sub-agents and compaction.

Lives here: everything between a message of a person and the end of its turn.
May touch: models, tools through their toolset, and sessions through `SessionStore`; nothing of them directly.
Start reading: `loop.py` (`AgentLoop`), then `turn.py` (one turn).
"""

from toolgate.agent.definition import AgentDefinition, Agents, builtin_agents
from toolgate.agent.events import (
    Activity,
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    Compacted,
    ModelRetry,
    TextChunk,
    ToolCallInfo,
    ToolOutput,
    ToolResultInfo,
    TurnDone,
    TurnFailed,
)
from toolgate.agent.loop import AgentLoop
from toolgate.agent.prompt import PromptBuilder
from toolgate.agent.stream import TurnStream
from toolgate.protocol.calls import ToolDenied

__all__ = [
    "Activity",
    "AgentDefinition",
    "AgentEvent",
    "AgentLoop",
    "Agents",
    "ApprovalRequested",
    "ApprovalResolved",
    "Compacted",
    "ModelRetry",
    "PromptBuilder",
    "TextChunk",
    "ToolCallInfo",
    "ToolDenied",
    "ToolOutput",
    "ToolResultInfo",
    "TurnDone",
    "TurnFailed",
    "TurnStream",
    "builtin_agents",
]
