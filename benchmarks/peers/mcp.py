"""The MCP SDK: the server called directly, and through a client in memory. Bad JSON is refused before it."""

lacks = {"dispatch": ("badjson",)}
imports = "from mcp.server.mcpserver import MCPServer"


def _server():
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench")

    @server.tool()
    async def add(a: int, b: int) -> dict[str, int]:
        """Add."""
        return {"sum": a + b}

    return server


def _caller(call_tool):
    import json

    async def call(name, arguments):
        try:
            result = await call_tool(name, json.loads(arguments))
        except Exception as error:
            return repr(error)
        return result.model_dump_json() if hasattr(result, "model_dump_json") else str(result)

    return call


async def _direct():
    return _caller(_server().call_tool)


async def _client():
    from mcp import Client

    client = await Client(_server()).__aenter__()
    return _caller(client.call_tool)


dispatch = {"direct": _direct, "in-memory-client": _client}
