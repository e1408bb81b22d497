"""`tools`: lists the tools that the caller may use."""

import json
from collections.abc import Iterable

from toolgate.agent_commands.arguments import AgentCommand, Arguments
from toolgate.agent_commands.outcome import SessionCommand
from toolgate.protocol.calls import ToolDefinition


def _build(given: Arguments, _: str) -> SessionCommand:
    if given.content is not None:
        given.exactly("")
    return SessionCommand(command="tools", arguments={"query": " ".join(given.operands)})


TOOLS = AgentCommand(name="tools", synopsis="tools [<words>...]", build=_build, help_file=__file__)


def list_tools(definitions: Iterable[ToolDefinition], query: str) -> str:
    """One line for every tool whose name or description has all the words of `query`; a name alone shows its schema."""
    wanted = query.lower().split()
    lines = []
    for definition in definitions:
        if definition.name == query:
            schema = json.dumps(definition.parameters, separators=(",", ":"), ensure_ascii=False)
            return f"{definition.name}: {definition.description.strip()}\n\n{schema}\n"
        text = f"{definition.name} {definition.description}".lower()
        if all(word in text for word in wanted):
            lines.append(f"{definition.name}: {definition.description.strip().partition(chr(10))[0]}\n")
    return "".join(lines) or f"No tool matches {query!r}; 'tools' alone lists all of them.\n"
