"""Agent commands: tools as words typed into the shell."""

from toolgate.shell.commands.arguments import AgentCommand
from toolgate.shell.commands.edit import EDIT
from toolgate.shell.commands.jobs import JOBS, kept, run_jobs
from toolgate.shell.commands.memory import MEMORY
from toolgate.shell.commands.outcome import Native, Outcome, RoutedCall, SessionCommand, Usage
from toolgate.shell.commands.read import READ
from toolgate.shell.commands.task import TASK
from toolgate.shell.commands.todo import TODO
from toolgate.shell.commands.tools import TOOLS, list_tools
from toolgate.shell.commands.write import WRITE

COMMANDS: dict[str, AgentCommand] = {
    command.name: command for command in (READ, WRITE, EDIT, TODO, TASK, MEMORY, JOBS, TOOLS)
}

__all__ = [
    "COMMANDS",
    "AgentCommand",
    "Native",
    "Outcome",
    "RoutedCall",
    "SessionCommand",
    "Usage",
    "kept",
    "list_tools",
    "run_jobs",
]
