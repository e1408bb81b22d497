"""kimi-cli: its file tools and its shell, with its approvals."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """Writes and commands ask; reading does not."""

    limits_time = True

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        from kaos.path import KaosPath

        os.chdir(root)  # the tools start from the process's directory
        self._runner = asyncio.Runner()
        place = KaosPath(str(root))
        environment = SimpleNamespace(shell_name="bash", shell_path=KaosPath("/bin/bash"), os_kind="Linux")
        self._runtime = SimpleNamespace(
            environment=environment,
            builtin_args=SimpleNamespace(KIMI_WORK_DIR=place),
            additional_dirs=[],
            skills_dirs=[],
            session=SimpleNamespace(work_dir=place),
        )

    @classmethod
    def load(cls) -> None:
        """Import the tools."""
        import kimi_cli.tools.file.read
        import kimi_cli.tools.file.replace
        import kimi_cli.tools.file.write
        import kimi_cli.tools.shell  # noqa: F401

    async def request(self, *about: Any, **_: Any) -> Any:
        """Asks the person, in the place of its approval dialog."""
        from kimi_cli.soul.approval import ApprovalResult

        return ApprovalResult(self.person.answer(str(about[2])))

    def is_yolo(self) -> bool:
        """Approvals are on."""
        return False

    def _called(self, tool: Any, parameters: Any) -> Answer:
        async def call() -> Any:
            return await tool(parameters)

        done = self._runner.run(call())
        return Answer(f"{done.output}{done.message}", failed=done.is_error)

    def read(self, path: str) -> Answer:
        """`ReadFile`."""
        from kimi_cli.tools.file.read import Params, ReadFile

        return self._called(ReadFile(self._runtime), Params(path=path))

    def write(self, path: str, text: str) -> Answer:
        """`WriteFile`."""
        from kimi_cli.tools.file.write import Params, WriteFile

        return self._called(WriteFile(self._runtime, self), Params(path=path, content=text))

    def edit(self, path: str, old: str, new: str) -> Answer:
        """`StrReplaceFile`."""
        from kimi_cli.tools.file.replace import Edit, Params, StrReplaceFile

        return self._called(StrReplaceFile(self._runtime, self), Params(path=path, edit=Edit(old=old, new=new)))

    def run(self, command: str, seconds: float) -> Answer:
        """`Shell`."""
        from kimi_cli.tools.shell import Params, Shell

        shell = Shell(self, self._runtime.environment, self._runtime)
        return self._called(shell, Params(command=command, timeout=max(1, int(seconds))))

    def close(self) -> None:
        """End the loop."""
        self._runner.close()
