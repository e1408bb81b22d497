"""Other people's formats: MCP both ways, tool formats of providers, and other frameworks."""
