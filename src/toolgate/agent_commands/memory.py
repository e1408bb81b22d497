"""`memory`: notes that outlive the session."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, UsageError, routed
from toolgate.agent_commands.outcome import RoutedCall


def _build(given: Arguments, cwd: str) -> RoutedCall:
    verb = given.operands[0] if given.operands else ""
    if verb == "search":
        if len(given.operands) < 2 or given.content is not None:
            given.exactly("search <query>")
        query = " ".join(given.operands[1:])
        limit = {"limit": given.number("--limit", 10, least=1)} if "--limit" in given.options else {}
        return routed("memory", "memory_search", cwd, query=query, **limit)
    if verb in ("append", "add"):
        _, content = given.with_content("append <text>")
        return routed("memory", "memory_append", cwd, content=content)
    raise UsageError(f"'{verb}' is neither search nor append" if verb else "search or append is missing")


MEMORY = AgentCommand(
    name="memory",
    tool="memory_search",
    synopsis="memory search <query> [--limit N] | memory append <text>",
    build=_build,
    help_file=__file__,
    valued=frozenset({"--limit"}),
    takes_heredoc=True,
)
