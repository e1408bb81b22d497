"""`task`: hand a piece of work to a sub-agent."""

from toolgate.agent_commands.arguments import AgentCommand, Arguments, UsageError, routed
from toolgate.agent_commands.outcome import RoutedCall

_SHORT = 60


def _build(given: Arguments, cwd: str) -> RoutedCall:
    known = given.options.get("--id")
    if known is not None:
        return _earlier(given, cwd, str(known))
    agent, prompt = given.with_content("<agent> <prompt>")
    description = given.options.get("--description")
    if description is None:
        first = prompt.strip().partition("\n")[0]
        description = first if len(first) <= _SHORT else first[: _SHORT - 1] + "…"
    more = {"background": True} if "--background" in given.options else {}
    return routed("task", "task", cwd, agent=agent, prompt=prompt, description=str(description), **more)


def _earlier(given: Arguments, cwd: str, known: str) -> RoutedCall:
    """A task that goes on with a prompt, or is looked at without one."""
    if given.content is not None and given.operands:
        raise UsageError("the prompt is given twice: as words and as a heredoc")
    prompt = given.content if given.content is not None else " ".join(given.operands)
    more = {"background": True} if "--background" in given.options else {}
    return routed("task", "task", cwd, id=known, **({"prompt": prompt} if prompt.strip() else {}), **more)


TASK = AgentCommand(
    name="task",
    tool="task",
    synopsis="task <agent> <prompt> [--description TEXT] [--background] | task --id ID [<prompt>] [--background]",
    build=_build,
    help_file=__file__,
    valued=frozenset({"--description", "--id"}),
    flags=frozenset({"--background"}),
    takes_heredoc=True,
)
