"""The words that processes agree on: queues, the workflow, and the version that decides who may take what."""

from __future__ import annotations

from typing import Final

from toolgate.sessions.schema import HEAD

APPLICATION: Final = "toolgate"
WORKFLOW: Final = "turn"
DEFAULT_WORKSPACE: Final = "default"

_FORMAT: Final = 1
"""Raised when turns are recorded in a way that an older worker could not continue."""


def version() -> str:
    """Who may take a turn: the schema's revision and the format of turns. Later ones sort behind earlier ones.

    Packages with the same one take each other's turns, so most upgrades change nothing here.
    """
    return f"{HEAD}.{_FORMAT:04}"


def workspace_of(project: str) -> str:
    """The workspace that a session of this project runs in."""
    return project or DEFAULT_WORKSPACE


def turns_queue(workspace: str) -> str:
    """The queue of a workspace's turns."""
    return f"turns:{workspace}"


def agents_queue(workspace: str) -> str:
    """The queue of a workspace's sub-agents: another one, so that turns that wait for them cannot fill it."""
    return f"agents:{workspace}"
