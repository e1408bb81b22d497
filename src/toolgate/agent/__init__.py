"""The agent: the loop, its events, the prompt, sub-agents and compaction.

It calls models and tools, and stores everything through `sessions`. Start reading at `loop.AgentLoop`.
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
