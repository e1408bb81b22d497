"""smolagents."""

imports = "from smolagents import ToolCallingAgent, tool"


async def dispatch():
    from smolagents import ToolCallingAgent, tool
    from smolagents.models import Model, parse_json_if_needed
    from smolagents.monitoring import LogLevel

    @tool
    def add(a: int, b: int) -> dict:
        """Add.

        Args:
            a: one number
            b: another
        """
        return {"sum": a + b}

    class Silent(Model):
        def generate(self, *args, **kwargs):
            raise NotImplementedError

    agent = ToolCallingAgent(tools=[add], model=Silent(), verbosity_level=LogLevel.OFF)

    async def call(name, arguments):
        try:
            return str(agent.execute_tool_call(name, parse_json_if_needed(arguments)))
        except Exception as error:
            return repr(error)

    return call
