"""Sources of command lines for `toolgate sh`: an editor at a terminal, or stdin."""

import asyncio
import codecs
import importlib.util
import os
import re
import sys
from typing import TYPE_CHECKING, Protocol

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from toolgate.cli.sh.calls import ShellCalls

_HEREDOC = re.compile(r"(?<!<)<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2(?!<)")
_CHUNK = 1 << 16
_MAX_LINE = 4 << 20
AGENT_COMMANDS = ("bash", "read", "write", "edit", "todo", "task", "memory", "jobs", "tools")


class EndOfInput(Exception):
    """The end of the input."""


class LineSource(Protocol):
    """Returns one command after the other."""

    interactive: bool

    async def next(self) -> str:
        """Return the next command; raises `EndOfInput` after the last."""
        ...


def line_source(command: str | None, calls: "ShellCalls", project: str) -> LineSource:
    """Return a source: one command, an editor at a terminal, or plain lines."""
    if command is not None:
        return SingleCommand(command)
    person = sys.stdin.isatty() and sys.stdout.isatty()
    if person and importlib.util.find_spec("prompt_toolkit") and os.environ.get("TERM", "dumb") != "dumb":
        return LineEditor(calls, project)
    return PlainLines(sys.stdin.fileno(), f"{project}$ " if person else "")


def is_unfinished(text: str) -> bool:
    """Whether a quote, a heredoc or a line is still open."""
    from toolgate.command.line import read_line

    ends = len(text) - len(text.rstrip("\\"))
    if ends % 2:
        return True
    if "((" not in text:  # in arithmetic, << is a shift
        for tabs, _, word in _HEREDOC.findall(text):
            lines = text.split("\n")[1:]
            if word not in ([line.lstrip("\t") for line in lines] if tabs else lines):
                return True
    return bool(read_line(text.lstrip()).problem)


class SingleCommand:
    """The one command of `-c`."""

    interactive = False

    def __init__(self, command: str) -> None:
        self._command: str | None = command

    async def next(self) -> str:
        """Return the command once."""
        if self._command is None:
            raise EndOfInput
        command, self._command = self._command, None
        return command


class PlainLines:
    """Lines from a descriptor. A command continues until its quotes and heredocs are closed."""

    def __init__(self, fd: int, prompt: str) -> None:
        self._fd = fd
        self._prompt = prompt
        self.interactive = bool(prompt)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._over = False

    async def next(self) -> str:
        """Return the next command."""
        command = await self._line(self._prompt)
        if command is None:
            raise EndOfInput
        while is_unfinished(command):
            more = await self._line("> ")
            if more is None:
                break
            command = f"{command}\n{more}"
        return command

    async def _line(self, prompt: str) -> str | None:
        if self.interactive:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        while "\n" not in self._text and not self._over:
            data = await self._read()
            self._over = not data
            self._text += self._decoder.decode(data, final=self._over)
            if len(self._text) > _MAX_LINE and "\n" not in self._text:
                raise UsageError(translate("a line of stdin is longer than {count} characters", count=f"{_MAX_LINE:,}"))
        if not self._text:
            return None
        line, _, self._text = self._text.partition("\n")
        return line

    async def _read(self) -> bytes:
        """Read without blocking the event loop."""
        try:
            await self._ready()
            return os.read(self._fd, _CHUNK)
        except OSError as error:
            raise UsageError(translate("stdin cannot be read: {strerror}", strerror=error.strerror)) from None

    async def _ready(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._fd, lambda: None if ready.done() else ready.set_result(None))
        except PermissionError:  # a file or /dev/null is always readable; handle signals in between
            await asyncio.sleep(0)
            return
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)


class LineEditor:
    """A line editor with history, search (Ctrl-R) and suggestions."""

    interactive = True

    def __init__(self, calls: "ShellCalls", project: str) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
        from prompt_toolkit.completion import WordCompleter

        from toolgate.cli.sh.colon_commands import NAMES

        self._calls = calls
        self._project = project
        self._session: PromptSession[str] = PromptSession(
            auto_suggest=AutoSuggestFromHistory(),
            completer=WordCompleter([*NAMES, *AGENT_COMMANDS], sentence=True),
            complete_while_typing=False,
            enable_open_in_editor=False,
        )

    async def next(self) -> str:
        """Return what the person typed. Ctrl-C clears the line; Ctrl-D on an empty line is the end."""
        from prompt_toolkit.patch_stdout import patch_stdout

        while True:
            try:
                with patch_stdout(raw=True):
                    command = await self._session.prompt_async(self._prompt())
                    while is_unfinished(command):
                        command += "\n" + await self._session.prompt_async([("ansibrightblack", "> ")])
                return command
            except KeyboardInterrupt:
                continue
            except EOFError:
                raise EndOfInput from None

    def _prompt(self) -> "StyleAndTextTuples":
        cwd = self._calls.cwd
        where = cwd if cwd.startswith("/") else f"{self._project}/{cwd}"
        if cwd == ".":
            where = self._project
        access = self._calls.access
        failed = self._calls.exit_code != 0
        colour = {"read": "ansiblue", "write": "ansibrightblack", "full": "ansired bold"}[access]
        return [
            ("ansicyan bold", where),
            ("", " "),
            (colour, access),
            ("ansired bold" if failed else "ansigreen bold", " ❯ "),
        ]
