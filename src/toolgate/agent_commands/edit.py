"""`edit`: replace exact text in a file."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, routed
from toolgate.agent_commands.outcome import RoutedCall


def _build(given: Arguments, cwd: str) -> RoutedCall:
    path, old, new = given.exactly("<file> <old> <new>")
    which = {"replace_all": True} if "--all" in given.options else {"first_only": True}
    return routed("edit", "edit_file", cwd, path=path, old_string=old, new_string=new, **which)


EDIT = AgentCommand(
    name="edit",
    tool="edit_file",
    synopsis="edit <file> <old> <new> [--all]",
    build=_build,
    help_file=__file__,
    flags=frozenset({"--all"}),
)
