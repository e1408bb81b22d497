"""The command line. Each command is a module of this room, imported only when it is asked for."""

import importlib
import sys
from collections.abc import Sequence

from toolgate import __version__

COMMANDS = {
    "serve": "serve the gateway: the web page and its socket",
    "worker": "play the turns that gateways hand out, on this machine",
    "status": "show how workers and queues stand",
    "tools": "show which tool may be used in which mode",
    "chat": "talk to the agent at the terminal, or --print one answer",
    "sessions": "list, show and export conversations",
    "servers": "show the MCP servers, what they offer, and why a tool of theirs is not visible",
    "mcp": "serve the tools to an agent that speaks MCP",
    "call": "call a tool, the way a model does",
    "sh": "sit in the agent's shell and type what a model would type",
    "schema": "print the JSON Schema of the envelope",
    "policy": "explain which rule decides about a call",
    "undo": "take back what calls changed",
    "doctor": "check this machine, and say what to do about what is missing",
}
"""Name of a command, which is also its module or package → one line of help."""

_PACKAGES = {"chat", "sessions", "sh"}
"""Commands that are a package: their arguments are in its module `command`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 it failed, 2 it was not understood."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from toolgate.cli.guard import open_standard_streams

        open_standard_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in {"-h", "--help", "help"}:
        sys.stdout.write(_help())
        return 0
    if words[0] in {"-V", "--version"}:
        sys.stdout.write(f"toolgate {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        sys.stderr.write(_unknown(words[0]))
        return 2
    from toolgate.cli.guard import run_guarded

    return run_guarded(words[0], lambda: _run(words[0], words[1:]))


def _run(command: str, words: list[str]) -> int:
    from toolgate.cli.parser import Parser

    module = importlib.import_module(
        f"toolgate.cli.{command}.command" if command in _PACKAGES else f"toolgate.cli.{command}"
    )
    parser = Parser(prog=f"toolgate {command}", description=module.__doc__)
    module.configure(parser)
    code: int = module.run(parser.parse_args(words))
    return code


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "usage: toolgate COMMAND [...]\n\n"
        "The tool runtime for AI agents: what a model may see, what may run, one envelope to answer in.\n\n"
        f"{rows}\n\n"
        "toolgate COMMAND --help says more; toolgate --version says which one this is.\n"
    )


def _unknown(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    advice = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(COMMANDS)}."
    return f"toolgate: no command {word!r}; {advice}\n"
