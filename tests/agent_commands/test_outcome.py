"""Help and mistakes of agent commands: the same shape as every answer."""

from toolgate.agent_commands import Usage
from toolgate.agent_commands.answer import usage_response


def test_help_and_mistakes_have_the_same_shape() -> None:
    good = usage_response(Usage(command="read", exit_code=0, text="Usage: read\n"))
    bad = usage_response(Usage(command="read", exit_code=2, text="read: no\n"))
    assert (good.status, good.data["stdout"], good.data["exit_code"]) == ("success", "Usage: read\n", 0)
    assert (bad.status, bad.data["stderr"], bad.data["exit_code"]) == ("partial", "read: no\n", 2)
