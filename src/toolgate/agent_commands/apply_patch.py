"""`apply_patch`: change several files at once."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, routed
from toolgate.agent_commands.outcome import RoutedCall


def _build(given: Arguments, cwd: str) -> RoutedCall:
    (patch,) = given.with_content("<patch>")
    where = {} if cwd == "." else {"directory": cwd}
    return routed("apply_patch", "apply_patch", cwd, patch=patch, **where)


APPLY_PATCH = AgentCommand(
    name="apply_patch",
    tool="apply_patch",
    synopsis="apply_patch <patch>",
    build=_build,
    help_file=__file__,
    takes_heredoc=True,
)
