"""OpenAI Agents SDK. Its run loop, which is not in this path, handles unknown tools."""

imports = "from agents import Agent, function_tool"


async def dispatch():
    import json

    from agents import function_tool
    from agents.tool_context import ToolContext

    @function_tool
    async def add(a: int, b: int) -> dict:
        """Add."""
        return {"sum": a + b}

    tools = {add.name: add}

    async def call(name, arguments):
        tool = tools.get(name)
        if tool is None:
            return f"Tool {name} not found"
        context = ToolContext(None, tool_name=name, tool_call_id="c1", tool_arguments=arguments)
        try:
            result = await tool.on_invoke_tool(context, arguments)
        except Exception as error:
            return repr(error)
        return result if isinstance(result, str) else json.dumps(result)

    return call
