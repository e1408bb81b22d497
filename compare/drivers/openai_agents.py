"""OpenAI Agents SDK: its local sandbox session and its patch editor, with approval for whatever changes something."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """`needs_approval=True`, as `ShellTool` and `ApplyPatchTool` have it."""

    limits_time = True
    overwrites = False

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        self._runner = asyncio.Runner()
        self._session: Any = self._runner.run(self._opened())

    @classmethod
    def load(cls) -> None:
        """Import the sandbox."""
        import agents.sandbox.apply_patch
        import agents.sandbox.sandboxes.unix_local  # noqa: F401

    async def _opened(self) -> Any:
        from agents.sandbox.manifest import Manifest
        from agents.sandbox.sandboxes.unix_local import UnixLocalSandboxClient

        session = await UnixLocalSandboxClient(inherit_host_environment=False).create(
            manifest=Manifest(root=str(self.root))
        )
        await session.start()
        return session

    def read(self, path: str) -> Answer:
        """`session.read`."""

        async def read() -> bytes:
            with await self._session.read(Path(path)) as stream:
                content: bytes = stream.read()
                return content

        return Answer(self._runner.run(read()).decode(errors="replace"))

    def _patched(self, kind: Literal["create_file", "update_file"], path: str, diff: str) -> Answer:
        from agents.editor import ApplyPatchOperation
        from agents.sandbox.apply_patch import WorkspaceEditor

        if not self.person.answer(f"{kind} {path}"):
            return Answer("rejected", failed=True)
        operation = ApplyPatchOperation(type=kind, path=path, diff=diff)
        done = self._runner.run(WorkspaceEditor(self._session).apply_operation(operation))
        return Answer(str(done.output))

    def write(self, path: str, text: str) -> Answer:
        """`create_file`."""
        return self._patched("create_file", path, "".join(f"+{line}\n" for line in text.splitlines()))

    def edit(self, path: str, old: str, new: str) -> Answer:
        """`update_file` with one changed line."""
        return self._patched("update_file", path, f"@@\n-{old}\n+{new}\n")

    def run(self, command: str, seconds: float) -> Answer:
        """`session.exec`."""
        if not self.person.answer(command):
            return Answer("rejected", failed=True)
        done = self._runner.run(self._session.exec(command, timeout=seconds))
        return Answer((done.stdout + done.stderr).decode(errors="replace"), failed=done.exit_code != 0)

    def close(self) -> None:
        """End the loop; the session's directory is the project."""
        self._runner.close()
