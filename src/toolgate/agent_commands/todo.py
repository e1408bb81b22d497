"""`todo`: the session's to-do list."""

import re

from toolgate.agent_commands.arguments import AgentCommand, Arguments, UsageError, routed
from toolgate.agent_commands.outcome import RoutedCall, SessionCommand

_ITEM = re.compile(r"(?:[-*]\s+)?(?:\[(?P<mark>[ xX>~])\]\s*)?(?P<content>\S.*)", re.DOTALL)
_STATUS = {"x": "completed", ">": "in_progress", "~": "in_progress", " ": "pending", "": "pending"}


def _build(given: Arguments, cwd: str) -> RoutedCall | SessionCommand:
    if given.content is not None and given.operands:
        raise UsageError("items are given twice: as words and as a heredoc")
    texts = given.operands
    if given.content is not None:
        texts = tuple(line for line in given.content.splitlines() if line.strip())
    if "--clear" in given.options:
        if texts:
            raise UsageError("--clear takes no items")
        return routed("todo", "todo", cwd, items=[])
    if not texts:
        return SessionCommand(command="todo")
    return routed("todo", "todo", cwd, items=[_item(text) for text in texts])


def _item(text: str) -> dict[str, str]:
    match = _ITEM.fullmatch(text.strip())
    if match is None:
        raise UsageError("an item is blank")
    return {"content": match["content"], "status": _STATUS[(match["mark"] or "").lower()]}


TODO = AgentCommand(
    name="todo",
    synopsis="todo [<item>...] [--clear]",
    build=_build,
    help_file=__file__,
    flags=frozenset({"--clear"}),
    takes_heredoc=True,
)
