"""`bash`: its help; what it unwraps is decided by the router."""

from toolgate.agent_commands.arguments import help_beside

SYNOPSIS = "bash <command>"


def help_text() -> str:
    """The synopsis and what there is to say."""
    return f"Usage: {SYNOPSIS}\n\n{help_beside(__file__)}\n"
