"""Adapters to other people's formats: MCP (client and server), the tool formats of providers, and agent frameworks.

This room may use the packages of those formats, and it starts MCP servers; each package is imported on first use.
Start reading in `openai_chat.py` (a format), `mcp_server/server.py` or `mcp_client/servers.py`.
"""
