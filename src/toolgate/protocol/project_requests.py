"""Requests about the project: what it is, its files, and what a session has changed in them.

They read and never ask the model. They need `coding` to be enabled, not a session in that mode: the person looks.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from toolgate.protocol.request_base import OfSession, Params

_PATH = Field(default=".", max_length=4096, description="Relative to the project root.")


class ProjectInfo(Params):
    """The project of this gateway: `{name, root_label, branch, sandbox, coding_enabled, suggestions: [text]}`.

    `sandbox` is empty while the gateway finds out what confines commands: ask again after a second.
    """

    mode: Literal["chat_safe", "coding"] | None = Field(
        default=None, description="The mode that the suggestions are for; without it, the most that is enabled."
    )


class FilesList(OfSession):
    """One directory: `{path, entries: [{name, path, kind: "file" | "dir" | "link"}], truncated}`."""

    path: str = _PATH


class FilesRead(OfSession):
    """Lines of a text file: `{path, content, start_line, lines, total_lines, language, truncated}`."""

    path: str = Field(max_length=4096, description="Relative to the project root.")
    start_line: int = Field(default=1, ge=1, le=2**31)


class FilesComplete(OfSession):
    """Paths that fit what was typed so far, best first: `{paths}`; directories end with `/`."""

    query: str = Field(max_length=1000)


class ChangesList(OfSession):
    """What the session and its sub-agents have changed in files, as far as it was not taken back.

    Answers `{files: [{path, kind: "created" | "modified" | "removed", added, removed, diff, calls: [{call_id, added,
    removed}]}], added, removed}`. Changes that commands made are not in it: only tools write to the journal.
    """


class ChangesUndo(OfSession):
    """Take changes back: of one file, of one call, or all; answers `{restored: [path], refused: [{path, reason}]}`.

    `SESSION_BUSY` while a turn runs.
    """

    path: str | None = Field(default=None, max_length=4096)
    call_id: str | None = Field(default=None, max_length=1000)
    all: bool = False


class CommandsList(OfSession):
    """The commands that a composer can offer after `/`: `{commands: [{name, description, own?}]}`.

    `own` are commands from files: send `/NAME arguments` as a message.
    """


PROJECT_METHODS: dict[str, type[Params]] = {
    "project.info": ProjectInfo,
    "files.list": FilesList,
    "files.read": FilesRead,
    "files.complete": FilesComplete,
    "changes.list": ChangesList,
    "changes.undo": ChangesUndo,
    "commands.list": CommandsList,
}
"""Name of a method → its parameters."""
