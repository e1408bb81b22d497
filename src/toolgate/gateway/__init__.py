"""The gateway: a Starlette app, WebSocket RPC, and the web page."""
