"""The MCP filesystem server, over standard input and output."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """One server with the project as its only directory."""

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        from benchmarks.peers.install import npm_package

        package = npm_package("mcp_filesystem")
        assert package is not None
        program = package / "@modelcontextprotocol/server-filesystem/dist/index.js"
        self._server = subprocess.Popen(
            ["node", str(program), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root,
            text=True,
        )
        self._calls = 0
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self._request("initialize", about)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._server.stdin.flush()

    def _request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdout is not None
        self._calls += 1
        self._send({"id": self._calls, "method": method, "params": parameters})
        for line in self._server.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._calls and "method" not in message:
                return message
            if "id" in message and "method" in message:  # the server asks its client something
                self._send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        raise RuntimeError("the server ended")

    def _call(self, name: str, **arguments: Any) -> Answer:
        if "path" in arguments and not arguments["path"].startswith(("/", "~", "file:")):
            arguments["path"] = f"{self.root}/{arguments['path']}"  # the server's tools want absolute paths
        message = self._request("tools/call", {"name": name, "arguments": arguments})
        result = message.get("result")
        if result is None:
            return Answer(str(message["error"]), failed=True)
        return Answer("".join(part.get("text", "") for part in result["content"]), failed=bool(result.get("isError")))

    def read(self, path: str) -> Answer:
        """`read_text_file`."""
        return self._call("read_text_file", path=path)

    def write(self, path: str, text: str) -> Answer:
        """`write_file`."""
        return self._call("write_file", path=path, content=text)

    def edit(self, path: str, old: str, new: str) -> Answer:
        """`edit_file`."""
        return self._call("edit_file", path=path, edits=[{"oldText": old, "newText": new}])

    def close(self) -> None:
        """End the server."""
        self._server.kill()
        self._server.wait()
