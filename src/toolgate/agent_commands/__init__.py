"""Agent commands: tools as words that a model types into Bash (`read`, `edit`, `todo` …).

Lives here: one module per command, and the router that tells them from commands of the shell.
May touch: nothing; it turns a command line into a tool call or hands it to the shell.
Start reading: `router.py`.
"""

from toolgate.agent_commands.apply_patch import APPLY_PATCH
from toolgate.agent_commands.arguments import AgentCommand
from toolgate.agent_commands.edit import EDIT
from toolgate.agent_commands.jobs import JOBS, parse_keep, run_jobs
from toolgate.agent_commands.memory import MEMORY
from toolgate.agent_commands.outcome import Native, Outcome, RoutedCall, SessionCommand, Usage
from toolgate.agent_commands.read import READ
from toolgate.agent_commands.task import TASK
from toolgate.agent_commands.todo import TODO
from toolgate.agent_commands.tools import TOOLS, list_tools
from toolgate.agent_commands.write import WRITE

COMMANDS: dict[str, AgentCommand] = {
    command.name: command for command in (READ, WRITE, EDIT, APPLY_PATCH, TODO, TASK, MEMORY, JOBS, TOOLS)
}

__all__ = [
    "COMMANDS",
    "AgentCommand",
    "Native",
    "Outcome",
    "RoutedCall",
    "SessionCommand",
    "Usage",
    "list_tools",
    "parse_keep",
    "run_jobs",
]
