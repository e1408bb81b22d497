"""`bash`: its help. The router unwraps the command after it."""

from toolgate.agent_commands.arguments import help_beside

SYNOPSIS = "bash <command>"


def help_text() -> str:
    """The synopsis, and the text of the `.md` file."""
    return f"Usage: {SYNOPSIS}\n\n{help_beside(__file__)}\n"
