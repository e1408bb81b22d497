"""`Task`: what an agent is asked or which calls are made, in which workspace, and how the outcome is checked."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from toolgate.declared import Declared
from toolgate.errors import ConfigError, ToolError
from toolgate.workspace import Workspace

_STRICT = ConfigDict(frozen=True, extra="forbid")
TASK_FILE = "task.toml"


class TaskCall(Declared):
    """One call of a task without a model."""

    model_config = _STRICT

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)


class Check(Declared):
    """One check: a command that must exit with 0, or a file that must have, or not have, some content."""

    model_config = _STRICT

    command: str | None = None
    file: str | None = None
    exists: bool = True
    """Whether the file must exist."""
    contains: str | None = None
    equals: str | None = None
    matches: str | None = None
    """A regular expression that must be found in the file."""
    timeout: float = Field(default=60, gt=0)
    """Seconds that the command may take."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        about_file = (self.contains, self.equals, self.matches)
        if (self.command is None) == (self.file is None):
            raise ValueError('needs either command = "…" or file = "…"')
        if self.command is not None and (any(value is not None for value in about_file) or not self.exists):
            raise ValueError("a command has no contains, equals, matches or exists: they are for a file")
        if self.matches is not None:
            try:
                re.compile(self.matches)
            except re.error as error:
                raise ValueError(f"matches is not a regular expression: {error}") from None
        return self

    def __str__(self) -> str:
        if self.command is not None:
            return f"command {self.command!r}"
        kinds = {"contains": self.contains, "equals": self.equals, "matches": self.matches}
        conditions = [f"{kind} {value!r:.60}" for kind, value in kinds.items() if value is not None]
        existence = "exists" if self.exists else "does not exist"
        return f"file {self.file!r} {' and '.join(conditions) or existence}"


class Task(Declared):
    """One task."""

    model_config = _STRICT

    name: str = Field(min_length=1)
    description: str = ""
    workspace: Path
    """The directory that every run gets a copy of."""
    mode: Literal["chat_safe", "coding"] = "coding"
    message: str | None = None
    """What the agent is asked."""
    call: tuple[TaskCall, ...] = ()
    """The calls that are made instead, without a model."""
    check: tuple[Check, ...] = Field(min_length=1)
    timeout: float = Field(default=600, gt=0)
    """Seconds that the turn or the calls may take."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.message is None) == (not self.call):
            raise ValueError('needs either message = "…" or [[call]]')
        if not self.workspace.is_dir():
            raise ValueError(f"its workspace {self.workspace} is not a directory")
        return self


def load_tasks(directory: str | os.PathLike[str]) -> list[Task]:
    """Read `*.toml` in a directory and `*/task.toml` below it. Raises `ConfigError` with everything that is wrong."""
    root = Path(directory)
    try:
        with Workspace(root) as workspace:
            found = _files(root)
            problems, tasks = list[str](), list[Task]()
            for path in found:
                try:
                    tasks.append(_task(workspace, root, path))
                except (ValueError, ToolError) as error:
                    problems += _problem_lines(root / path, error)
    except OSError as error:
        raise ConfigError([f"{root}: {error.strerror}. Name a directory with tasks"]) from None
    names = [task.name for task in tasks]
    problems += [
        f"two tasks are called {name!r}: rename one" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    if problems:
        raise ConfigError(problems)
    if not tasks:
        raise ConfigError([f"{root}: there are no tasks in it. A task is NAME.toml or NAME/{TASK_FILE}"])
    return tasks


def _files(root: Path) -> list[str]:
    flat = [path.name for path in root.glob("*.toml")]
    deep = [f"{path.parent.name}/{path.name}" for path in root.glob(f"*/{TASK_FILE}")]
    return sorted([*flat, *deep])


def _task(workspace: Workspace, root: Path, path: str) -> Task:
    import tomllib

    try:
        document = tomllib.loads(workspace.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not TOML: {error}") from None
    directory = (root / path).parent
    name = directory.name if path.endswith(f"/{TASK_FILE}") else Path(path).stem
    folder = document.get("workspace", "workspace")
    if not isinstance(folder, str):
        raise ValueError("workspace must be the name of a directory")
    return Task.model_validate({"name": name, **document, "workspace": (directory / folder).resolve()})


def _problem_lines(path: Path, error: Exception) -> list[str]:
    if not isinstance(error, ValidationError):
        return [f"{path}: {getattr(error, 'message', error)}"]
    lines = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        key = ".".join(map(str, item["loc"]))
        unknown = item["type"] == "extra_forbidden"
        text = "is not a key of a task" if unknown else item["msg"].removeprefix("Value error, ")
        lines.append(f"{path}: {key + ': ' if key else ''}{text}")
    return lines
