"""What all processes share: the names of the queues, and the version that decides who may claim a turn."""

from __future__ import annotations

from typing import Final

from toolgate.sessions.schema import HEAD

DEFAULT_WORKSPACE: Final = "default"

_FORMAT: Final = 1
"""Increased when turns are stored in a way that an older worker could not resume."""


def version() -> str:
    """The version of stored turns: the schema's revision and the format of turns. Later versions sort after earlier
    ones.

    Workers claim only turns of their own version. Most upgrades do not change it.
    """
    return f"{HEAD}.{_FORMAT:04}"


def workspace_of(project: str) -> str:
    """The workspace that a session of this project runs in."""
    return project or DEFAULT_WORKSPACE


def turns_queue(workspace: str) -> str:
    """The queue for the turns of a workspace."""
    return f"turns:{workspace}"


def agents_queue(workspace: str) -> str:
    """The queue for the sub-agents of a workspace. It is separate, so that turns that wait for sub-agents cannot fill
    it.
    """
    return f"agents:{workspace}"
