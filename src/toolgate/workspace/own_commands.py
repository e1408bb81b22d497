"""Custom slash commands: Markdown files of the user and the project that become a message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.text.front_matter import split_front_matter
from toolgate.text.visible import visible
from toolgate.workspace.user_folders import Folder, Source, entries, folders_of, opened, read_text, require_plain

if TYPE_CHECKING:
    from toolgate.workspace.root import Workspace

_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
_MAX_BYTES = 32_768
_MAX_COMMANDS = 100
_MAX_DESCRIPTION = 200
_SHELL = r"!`[^`\n]+`"
_NOT_RUN = "[Parts of this message like !`git status` were not run. Run them with Bash if you need what they print.]"
_PLACEHOLDER = r"\$(ARGUMENTS|[1-9])(?![0-9A-Za-z_])"


class OwnCommand(NamedTuple):
    """A command: its name without the slash, and the message that it stands for."""

    name: str
    description: str
    hint: str
    """What its arguments are, for people."""
    source: Source
    body: str

    def message(self, arguments: str) -> str:
        """Return the message with `$ARGUMENTS` and `$1` to `$9` replaced, or with the arguments after it.

        Shell commands in it, which Claude Code would run, are not run. A note tells the model so.
        """
        message = self._fill_in(arguments)
        return f"{message}\n\n{_NOT_RUN}" if re.search(_SHELL, self.body) else message

    def _fill_in(self, arguments: str) -> str:
        if not re.search(_PLACEHOLDER, self.body):
            return f"{self.body}\n\n{arguments}" if arguments else self.body
        words = _words(arguments)
        values = {str(number): word for number, word in enumerate(words, 1)}
        return re.sub(
            _PLACEHOLDER, lambda found: arguments if found[1] == "ARGUMENTS" else values.get(found[1], ""), self.body
        )


class OwnCommands:
    """The commands of a user in a project. If both have a command of one name, the user's counts."""

    def __init__(self, workspace: Workspace | None = None, user_directory: Path | None = None) -> None:
        self._workspace = workspace
        self._folders = folders_of(workspace, user_directory, "commands")
        self._ignored: set[tuple[str, str]] = set()

    def all(self) -> list[OwnCommand]:
        """The valid commands, as the files are now: the user's before the project's."""
        found: dict[str, OwnCommand] = {}
        for folder in self._folders:
            with opened(folder) as fd:
                for name in [] if fd is None else entries(fd):
                    command = self._read(folder, fd, name) if fd is not None and name.endswith(".md") else None
                    if command is not None and len(found) < _MAX_COMMANDS:
                        found.setdefault(command.name, command)
        return list(found.values())

    def get(self, name: str) -> OwnCommand | None:
        """The command of exactly that name."""
        return (
            next((command for command in self.all() if command.name == name), None)
            if re.fullmatch(_NAME, name)
            else None
        )

    def expand(self, text: str) -> str:
        """Return the message of `/NAME arguments`. Return any other text as it is."""
        word, _, arguments = text.strip().partition(" ")
        command = self.get(word[1:]) if word.startswith("/") else None
        return text if command is None else command.message(arguments.strip())

    def _read(self, folder: Folder, fd: int, name: str) -> OwnCommand | None:
        try:
            if folder.source == "project" and self._workspace is not None:
                require_plain(self._workspace, f"{folder.path}/{name}")
            return _command(
                folder, name.removesuffix(".md"), read_text(fd, name, _MAX_BYTES, follow=folder.follows_links)
            )
        except (OSError, ValueError, ToolError) as error:
            reason = error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error)
            if (name, reason) not in self._ignored and len(self._ignored) < _MAX_COMMANDS:
                self._ignored.add((name, reason))
                shown = visible(name[:100], keep="")
                logger("commands").warning("command_ignored", command=shown, source=folder.source, reason=reason)
            return None


def _command(folder: Folder, name: str, text: str) -> OwnCommand:
    if not re.fullmatch(_NAME, name):
        raise ValueError("its name must be lower-case letters, digits, '-' and '_', at most 64")
    keys, body = split_front_matter(text)
    if not body:
        raise ValueError("it has no text")
    description = keys.get("description") or body.partition("\n")[0].lstrip("# ")
    shown = visible(" ".join(description.split()), keep="")[:_MAX_DESCRIPTION]
    hint = visible(" ".join(keys.get("argument-hint", "").split()), keep="")[:_MAX_DESCRIPTION]
    return OwnCommand(name=name, description=shown, hint=hint, source=folder.source, body=body)


def _words(arguments: str) -> list[str]:
    """The arguments as a shell would split them; a quote without an end is an ordinary character."""
    try:
        import shlex

        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
