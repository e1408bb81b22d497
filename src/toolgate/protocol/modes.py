"""Session modes and tool groups."""

from enum import StrEnum


class ToolMode(StrEnum):
    """What a session may do. Everything that is unknown, missing or unreadable means `chat_safe`."""

    chat_safe = "chat_safe"
    coding = "coding"

    __hash__ = str.__hash__  # both gates look modes up in sets; the enum's own hash is a call into Python


class ToolGroup(StrEnum):
    """What a tool is about; shown to people, never used to decide."""

    code = "code"
    memory = "memory"
    world = "world"
