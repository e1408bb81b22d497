"""Hints about programs that wait for input at a terminal, which does not exist."""

import re

from toolgate.shell.hints.finished_command import FinishedCommand

_WANTS = frozenset(
    """
    vi vim nvim view ex nano pico emacs joe mcedit less more most man info top htop btop atop watch screen tmux mc ncdu
    dialog whiptail mutt lynx w3m links minicom picocom script alsamixer crontab visudo vipw passwd su login
    """.split()
)
_NOBODY = (
    "got no input: nobody can type an answer here. Feed it with a pipe or a heredoc, or start the command with "
    "tty=true and type with Terminal."
)
_END_OF_INPUT = re.compile(r"^EOFError: EOF when reading a line$", re.MULTILINE)
"""What Python says of `input()` without input."""


def input_hint(ended: FinishedCommand) -> str:
    """Return that nobody answers the question of a `read -p`, or of a program; empty if it was given input."""
    if any(sign in ended.command for sign in "<|"):
        return ""
    for words in ended.commands:
        if words[0] == "read" and any(word.startswith("-") and "p" in word for word in words[1:]):
            return f"'read' {_NOBODY}"
    return f"The program {_NOBODY}" if ended.exit_code and ended.says(_END_OF_INPUT) else ""


def terminal_hint(ended: FinishedCommand) -> str:
    """Return which program waited. Only for a command that reached its deadline."""
    if ended.exit_code is not None:
        return ""
    for words in ended.commands:
        if words[0] in _WANTS:
            return (
                f"'{words[0]}' wants a terminal, and there is none: use a program or an option that needs no person, "
                "read_file and edit_file for files, or tty=true and Terminal."
            )
    return ""
