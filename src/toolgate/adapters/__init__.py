"""Adapters to other people's formats: MCP (client and server), ACP, providers' tool formats, and agent frameworks.

Lives here: one module per format or framework, and one package per protocol; each imports its package on first use.
May touch: standard input and output, sockets, and the programs of MCP servers, which `sandbox/` and `process/` start.
Start reading: `openai_chat.py` (a format), `mcp_server/server.py` or `mcp_client/servers.py`.
"""
