"""LangChain's file tools and shell tool."""

from __future__ import annotations

import builtins
import os
import warnings
from pathlib import Path
from typing import Any

from compare.driver import Answer, Driver, Person


class Contender(Driver):
    """The tools of `FileManagementToolkit` with a root, and a `ShellTool` that asks."""

    def __init__(self, root: Path, person: Person) -> None:
        super().__init__(root, person)
        from langchain_community.agent_toolkits import FileManagementToolkit
        from langchain_community.tools import ShellTool

        warnings.simplefilter("ignore")
        os.chdir(root)  # the shell tool starts from the process's directory
        self._tools: dict[str, Any] = {
            tool.name: tool for tool in FileManagementToolkit(root_dir=str(root)).get_tools()
        }
        self._shell: Any = ShellTool(ask_human_input=True)
        self._command = ""
        builtins.input = self._input  # type: ignore[assignment]  # how the tool asks

    @classmethod
    def load(cls) -> None:
        """Import the tools."""
        import langchain_community.agent_toolkits  # noqa: F401
        import langchain_experimental.llm_bash.bash  # noqa: F401

    def _input(self, _: str = "") -> str:
        return "y" if self.person.answer(self._command) else "n"

    def _file(self, name: str, **arguments: str) -> Answer:
        said = str(self._tools[name].run(arguments))
        return Answer(said, failed=said.startswith("Error"))

    def read(self, path: str) -> Answer:
        """`read_file`."""
        return self._file("read_file", file_path=path)

    def write(self, path: str, text: str) -> Answer:
        """`write_file`."""
        return self._file("write_file", file_path=path, text=text)

    def run(self, command: str, seconds: float) -> Answer:
        """`terminal`; there is no time limit."""
        self._command = command
        said = self._shell.run({"commands": [command]})
        return Answer(str(said or ""), failed=said is None)
