"""The commands of `toolgate sh` itself, which begin with a colon."""

import re
from typing import TYPE_CHECKING

from toolgate.cli import policy
from toolgate.cli.sh.calls import ShellCalls
from toolgate.cli.sh.line_source import EndOfInput
from toolgate.cli.sh.screen import OutputStreams
from toolgate.language.translate import translatable, translate

if TYPE_CHECKING:
    from toolgate.runtime.pending import PendingResult

HELP = translatable("""\
Type a command as a model would: ls src · bash -c 'make test' · read a.py --limit 20 · edit a.py old new
Agent commands (read, write, edit, todo, task, memory, jobs, tools) explain themselves with --help.

  :explain COMMAND   what would be decided about a command, and why; nothing is run
  :env               the envelope of the last command: what a program sees
  :tools             the tools that may be called here
  :access [ACCESS]   what commands may touch: read, write, or full (which asks every time)
  :bg COMMAND        start a command as a background job; then: jobs · jobs output ID
  :restart           forget the shell's directory, variables and functions
  :quit              leave, like Ctrl-D; Ctrl-C cancels the running command, Ctrl-L clears the screen
""")
NAMES = (":access", ":bg", ":env", ":explain", ":help", ":quit", ":restart", ":tools")
_COMMAND = re.compile(r"\s*(:[a-z]+)(?:\s+(.*?))?\s*", re.DOTALL)
_ACCESSES = ("read", "write", "full")


class ColonCommands:
    """Runs the commands that begin with a colon. A colon alone is bash's own command."""

    def __init__(self, calls: ShellCalls, screen: OutputStreams) -> None:
        self._calls = calls
        self._screen = screen

    def knows(self, line: str) -> bool:
        """Whether the line is a command of `toolgate sh`."""
        return _COMMAND.fullmatch(line) is not None

    async def run(self, line: str) -> "PendingResult | None":
        """Run the command; return the call if it makes one."""
        match = _COMMAND.fullmatch(line)
        assert match is not None
        name, rest = match[1], match[2] or ""
        if name == ":quit":
            raise EndOfInput
        if name == ":restart":
            return self._calls.start(restart=True)
        if name == ":bg" and rest:
            return self._calls.start(rest, background=True)
        if name == ":explain" and rest:
            policy.show(await self._calls.toolset.explain(self._calls.call(rest)))
        elif name == ":access":
            self._access(rest)
        elif name == ":env":
            self._envelope()
        elif name == ":tools":
            self._tools()
        else:
            known = "" if name in NAMES else translate("There is no {name}.\n", name=name)
            self._screen.say(known + translate(HELP))
        return None

    def _access(self, wanted: str) -> None:
        if wanted in _ACCESSES:
            self._calls.access = wanted
        elif wanted:
            choices = ", ".join(_ACCESSES)
            self._screen.say(
                translate(
                    "There is no access '{wanted}'; the choices are: {choices}.\n", wanted=wanted, choices=choices
                )
            )
            return
        self._screen.say(translate("Commands have access {access}.\n", access=self._calls.access))

    def _envelope(self) -> None:
        last = self._calls.last
        self._screen.say(translate("No command has run yet.\n") if last is None else self._screen.envelope(last))

    def _tools(self) -> None:
        for definition in self._calls.toolset.tools:
            first = " ".join(definition.description.split()).partition(". ")[0].rstrip(".")
            self._screen.say(f"{definition.name:<14} {first}\n")
