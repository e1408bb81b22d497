"""The command line. Each command is a module or a package of this room and is imported only when it runs.

Lives here: the commands, what they print, and exit codes.
May touch: the terminal, standard streams and settings; everything else through the rooms below.
Start reading: `main` here, then the module of a command: `call.py` is a short one.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from toolgate import __version__
from toolgate.language.choice import ENGLISH, LANGUAGES, VARIABLE
from toolgate.language.translate import current, translatable, translate, use

COMMANDS = {
    "serve": translatable("serve the gateway: the web page and its socket"),
    "link": translatable("print a fresh address of the gateway, for another browser"),
    "worker": translatable("run the turns that gateways queue, on this machine"),
    "status": translatable("show the state of workers and queues"),
    "tools": translatable("show which tool may be used in which mode"),
    "chat": translatable("talk to the agent at the terminal, or --print one answer"),
    "sessions": translatable("list, show and export conversations"),
    "servers": translatable("show the MCP servers, their tools, and why a tool is not visible"),
    "mcp": translatable("serve the tools to an agent that speaks MCP"),
    "acp": translatable("run the agent for an editor that speaks ACP (Zed, JetBrains, Neovim)"),
    "call": translatable("call a tool, the way a model does"),
    "eval": translatable("run the tasks of a directory, check what came out, and report"),
    "sh": translatable("use the agent's shell: type what a model would type"),
    "schema": translatable("print the JSON Schema of the envelope"),
    "policy": translatable("explain which rule decides about a call"),
    "undo": translatable("undo what calls changed in files"),
    "doctor": translatable("check this machine, and say how to get what is missing"),
}
"""Help lines by command. A command's name is also its module or package."""

_PACKAGES = {"chat", "sessions", "sh"}
"""Commands that are packages; their arguments are in the module `command`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 failure, 2 usage error."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from toolgate.cli.errors import open_standard_streams

        open_standard_streams()
    _choose_language()
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
    from toolgate.cli.errors import run_command

    return run_command(words[0], lambda: _run(words[0], words[1:]))


def _run(command: str, words: list[str]) -> int:
    from toolgate.cli.parser import Parser

    module = importlib.import_module(
        f"toolgate.cli.{command}.command" if command in _PACKAGES else f"toolgate.cli.{command}"
    )
    parser = Parser(prog=f"toolgate {command}", description=_about(command, module.__doc__))
    module.configure(parser)
    code: int = module.run(parser.parse_args(words))
    return code


def _about(command: str, text: str | None) -> str | None:
    """Return what a command does: all of it in English, in short in other languages."""
    return text if current() == ENGLISH else translate(COMMANDS[command])


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:<{width}}  {translate(summary)}" for name, summary in COMMANDS.items())
    about = translate(
        "The tool runtime for AI agents: it decides what a model may see and run, and answers in one envelope."
    )
    more = translate("toolgate COMMAND --help shows the options of a command; toolgate --version shows the version.")
    return f"{translate('usage: toolgate COMMAND [...]')}\n\n{about}\n\n{rows}\n\n{more}\n"


def _unknown(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    if near:
        return translate("toolgate: no command {word}; did you mean '{near}'?", word=repr(word), near=near[0]) + "\n"
    known = ", ".join(COMMANDS)
    return translate("toolgate: no command {word}; the commands are: {known}.", word=repr(word), known=known) + "\n"


def _choose_language() -> None:
    """Use the language of the environment or the config file. Errors in the config file are reported later."""
    from toolgate.errors import ConfigError
    from toolgate.userfiles import read_config_file

    try:
        file = read_config_file(os.environ) if VARIABLE not in os.environ else None
    except (ConfigError, OSError):
        file = None
    language = file.values.get("language") if file is not None else None
    use(language if isinstance(language, str) and language in LANGUAGES else None)
