"""Toolgate, as `toolgate.open` gives it to a program."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from compare.driver import Answer, Driver, Person

if TYPE_CHECKING:
    import toolgate


class Contender(Driver):
    """The built-in tools, through `handle`."""

    limits_time = True

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        import toolgate
        from toolgate.settings import Settings

        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        opened = toolgate.open(root, "coding", self._decide, Settings.defaults())
        self._toolset = self._runner.run(self._stack.enter_async_context(opened))

    @classmethod
    def load(cls) -> None:
        """Import what `open` and the tools import."""
        import toolgate.compose
        import toolgate.settings  # noqa: F401

    async def _decide(self, request: toolgate.ApprovalRequest) -> toolgate.Approval:
        import toolgate

        allowed = self.person.answer(request.summary)
        return toolgate.Approval(allowed=allowed, message="" if allowed else "no")

    def _call(self, name: str, **arguments: object) -> Answer:
        result = self._runner.run(self._handled(name, json.dumps(arguments)))
        return Answer(result.output, failed=result.is_error)

    async def _handled(self, name: str, arguments: str) -> toolgate.ToolResult:
        import toolgate

        return await self._toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=arguments))

    def read(self, path: str) -> Answer:
        """`read_file`."""
        return self._call("read_file", path=path)

    def write(self, path: str, text: str) -> Answer:
        """`write_file`."""
        return self._call("write_file", path=path, content=text)

    def edit(self, path: str, old: str, new: str) -> Answer:
        """`edit_file`."""
        return self._call("edit_file", path=path, old_string=old, new_string=new)

    def run(self, command: str, seconds: float) -> Answer:
        """`Bash`."""
        return self._call("Bash", command=command, timeout_ms=int(seconds * 1000))

    def close(self) -> None:
        """End the shell."""
        self._runner.run(self._stack.aclose())
        self._runner.close()
