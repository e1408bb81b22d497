"""The same echo tool three times, as MCP servers: `python -m benchmarks.mcp_echo low-level|high-level|toolgate`.

Each imports what it needs and nothing else: the start is measured, too.
"""

import sys


def low_level() -> None:
    import asyncio

    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="echo", description="Echo.", input_schema=schema)])

    async def call_tool(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = (params.arguments or {})["text"]
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def serve() -> None:
        server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(serve())


def high_level() -> None:
    from mcp.server import MCPServer

    server = MCPServer("bare")

    @server.tool()
    async def echo(text: str) -> str:
        """Echo."""
        return text

    server.run("stdio")


def toolgate() -> None:
    import asyncio
    from pathlib import Path

    from toolgate import ToolMode, ToolRegistry, tool
    from toolgate.adapters.mcp_server import Desk, serve_stdio
    from toolgate.workspace import Workspace

    @tool(name="echo", modes=[ToolMode.coding], read_only=True)
    async def echo(text: str) -> str:
        """Echo."""
        return text

    registry = ToolRegistry()
    registry.register(echo)
    asyncio.run(serve_stdio(Desk(registry, ToolMode.coding, Workspace(Path(__file__).parent))))


if __name__ == "__main__":
    {"low-level": low_level, "high-level": high_level, "toolgate": toolgate}[sys.argv[1]]()
