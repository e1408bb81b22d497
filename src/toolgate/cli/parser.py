"""An argument parser with one-line errors."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate
from toolgate.protocol.choices import PROVIDERS

if TYPE_CHECKING:
    from toolgate.tools.base import Tool


class Parser(argparse.ArgumentParser):
    """Reports errors in one line that points to the help, and speaks the person's language."""

    _mixing = False

    def __init__(self, *args: Any, **options: Any) -> None:
        """Like argparse's own, with its headings translated."""
        super().__init__(*args, **options)
        self._positionals.title, self._optionals.title = translate("positional arguments"), translate("options")
        for action in self._actions:
            if action.dest == "help":
                action.help = translate("show this help message and exit")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but take options also between the arguments of a call; after `--` there are none."""
        rest = next((action.dest for action in self._actions if action.nargs == "*"), None)
        if self._mixing or rest is None or args is None:
            return super().parse_known_args(args, namespace)
        words = [*args, "--"]
        end = words.index("--")
        self._mixing = True  # argparse's own function calls this method again
        try:
            parsed, unknown = super().parse_known_intermixed_args(words[:end], namespace)
        except UsageError:
            if end == len(args):
                raise
            return super().parse_known_args(args, namespace)  # the name itself may follow `--`
        finally:
            self._mixing = False
        setattr(parsed, rest, [*getattr(parsed, rest), *words[end + 1 : -1]])
        if any(word.startswith("-") for word in unknown):
            self.error(
                translate(
                    "unrecognized arguments: {words}; put -- before arguments that begin with a dash",
                    words=" ".join(unknown),
                )
            )
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` instead of printing the whole usage."""
        raise UsageError(translate("{message} (see {prog} --help)", message=message, prog=self.prog))


def add_mode(parser: argparse.ArgumentParser, *, default: str) -> None:
    """Add `--mode`."""
    parser.add_argument(
        "--mode",
        choices=("chat_safe", "coding"),
        default=default,
        help=translate("the session's mode (default: {default})", default=default),
    )


def add_root(parser: argparse.ArgumentParser) -> None:
    """Add `--root`."""
    parser.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help=translate("the project root (default: TOOLGATE_WORKSPACE_ROOT, else here)"),
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add `--model`."""
    names = ", ".join(f"{name}:NAME" if provider.key else name for name, provider in PROVIDERS.items())
    claimed = ", ".join(f"{start}… is {one.title}'s" for one in PROVIDERS.values() for start in one.models)
    parser.add_argument("--model", metavar="NAME", help=f"{names}, or a name ({claimed})")


def add_tools(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add `--tools`, which may be repeated. `more` is what else the command takes there."""
    parser.add_argument(
        "--tools",
        action="append",
        default=[],
        metavar="MODULE:ATTRIBUTE",
        help=translate(
            "tools of your own beside the built-in ones and those of installed packages; may be repeated{more}",
            more=more,
        ),
    )


def own_tools(args: argparse.Namespace) -> "list[Tool[Any]]":
    """Return the tools of installed packages and of `--tools`. Raises `ConfigError` for what is not a tool."""
    from toolgate.plugins import load_tools, tools_of

    return tools_of(load_tools(getattr(args, "tools", ())))


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help=translate("print {what} as JSON", what=what))
