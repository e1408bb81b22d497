"""`read`: lines of a file."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, routed
from toolgate.agent_commands.outcome import RoutedCall


def _build(given: Arguments, cwd: str) -> RoutedCall:
    (path,) = given.exactly("<file>")
    window = {"start_line": given.number("--offset", 0) + 1}
    if "--limit" in given.options:
        window["limit"] = given.number("--limit", 1, least=1)
    return routed("read", "read_file", cwd, path=path, **window)


READ = AgentCommand(
    name="read",
    tool="read_file",
    synopsis="read <file> [--offset N] [--limit N]",
    build=_build,
    help_file=__file__,
    valued=frozenset({"--offset", "--limit"}),
)
