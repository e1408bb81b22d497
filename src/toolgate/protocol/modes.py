"""Tool modes, approval modes and tool groups."""

from enum import StrEnum
from typing import Literal, TypeAlias


class ToolMode(StrEnum):
    """What a session may do. Everything that is unknown, missing or unreadable means `chat_safe`."""

    chat_safe = "chat_safe"
    coding = "coding"

    __hash__ = str.__hash__  # both gates look modes up in sets; the enum's own hash is a call into Python


ModeName: TypeAlias = Literal["chat_safe", "coding"]
AnyMode: TypeAlias = ToolMode | ModeName
"""A mode as a program may write it: the enum, or its text."""


class ApprovalMode(StrEnum):
    """What a person wants to be asked about. Only the person chooses it, and may change it at any time."""

    ask = "ask"
    """Every call that needs permission is asked about."""
    accept_edits = "accept_edits"
    """Writes inside the root that undo can take back are not asked about."""
    plan = "plan"
    """Nothing that changes anything is offered or runs; the model ends with a plan."""

    __hash__ = str.__hash__  # the gates look approval modes up in sets, as tool modes


class ToolGroup(StrEnum):
    """What a tool is about; shown to people, never used to decide."""

    code = "code"
    memory = "memory"
    world = "world"
