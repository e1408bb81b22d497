"""`write`: create or replace a file."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, routed
from toolgate.agent_commands.outcome import RoutedCall


def _build(given: Arguments, cwd: str) -> RoutedCall:
    path, content = given.with_content("<file> <content>")
    return routed("write", "write_file", cwd, path=path, content=content)


WRITE = AgentCommand(
    name="write",
    tool="write_file",
    synopsis="write <file> <content>",
    build=_build,
    help_file=__file__,
    takes_heredoc=True,
)
