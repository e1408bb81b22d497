"""Inspect AI."""

imports = "from inspect_ai.model import execute_tools; from inspect_ai.tool import tool"


async def dispatch():
    import json

    from inspect_ai.model import ChatMessageAssistant, execute_tools
    from inspect_ai.model._call_tools import parse_tool_call
    from inspect_ai.tool import tool

    @tool
    def add():
        async def execute(a: int, b: int) -> str:
            """Add.

            Args:
                a: one number
                b: another
            """
            return json.dumps({"sum": a + b})

        return execute

    tools = [add()]

    async def call(name, arguments):
        parsed = parse_tool_call("c1", name, arguments)
        result = await execute_tools([ChatMessageAssistant(content="", tool_calls=[parsed])], tools)
        message = result.messages[0]
        return message.text or str(message.error)

    return call
