"""OpenAI Agents SDK. Its run loop, which is not in this path, handles unknown tools."""

lacks = {"dispatch": ("unknown",)}
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


class _Shell:
    """`exec` of its local sandbox session, which keeps all of the output in memory."""

    def __init__(self):
        self._session = None

    async def run(self, command):
        if self._session is None:
            import os

            from agents.sandbox.manifest import Manifest
            from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient

            self._session = await UnixLocalSandboxClient().create(manifest=Manifest(root=os.getcwd()))
            await self._session.start()
        result = await self._session.exec(command, timeout=200)
        assert result.exit_code == 0, result.stderr
        return result.stdout.decode()

    async def close(self):
        pass


shell = _Shell
