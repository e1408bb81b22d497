"""`task`: hand a piece of work to a sub-agent."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, routed
from toolgate.agent_commands.outcome import RoutedCall

_SHORT = 60


def _build(given: Arguments, cwd: str) -> RoutedCall:
    agent, prompt = given.with_content("<agent> <prompt>")
    description = given.options.get("--description")
    if description is None:
        first = prompt.strip().partition("\n")[0]
        description = first if len(first) <= _SHORT else first[: _SHORT - 1] + "…"
    return routed("task", "task", cwd, agent=agent, prompt=prompt, description=str(description))


TASK = AgentCommand(
    name="task",
    synopsis="task <agent> <prompt> [--description TEXT]",
    build=_build,
    help_file=__file__,
    valued=frozenset({"--description"}),
    feeds=True,
)
