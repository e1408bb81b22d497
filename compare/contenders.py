"""Who takes part: where it is installed from, its version, and the settings at which it is driven."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass

from benchmarks.peers.install import PEERS, environment


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One column of the table."""

    name: str
    module: str
    """The module in compare/drivers."""
    peer: str | None = None
    """Its name in benchmarks/peers/install.py; None: it runs in the project's own environment."""
    package: str = ""
    """The package whose version is shown."""
    limits_memory: bool = True
    """Whether it runs with a limit of address space; Node.js does not start with one."""
    settings: str = ""
    """The settings at which it is driven: the safest that are documented."""

    def install(self) -> bool:
        """Make its environment if it is not there yet; False if that is impossible here."""
        return self.peer is None or environment(self.peer) is not None

    def interpreter(self) -> list[str]:
        """The Python that runs its driver."""
        python = sys.executable if self.peer is None else environment(self.peer)
        assert python is not None, f"{self.peer} is not installed"
        return [python]

    def version(self) -> str:
        """The package and its pinned version."""
        if self.peer is None:
            return f"Python {sys.version.split()[0]}" if self.module == "naive" else _own_version()
        return next(entry for entry in PEERS[self.peer].packages if entry.startswith(self.package))


def _own_version() -> str:
    return f"toolgate {importlib.metadata.version('toolgate')}"


CONTENDERS = (
    Contender(
        name="naive",
        module="naive",
        settings="The control: `open(path, 'w').write(text)` and `subprocess.run(command, shell=True, timeout=…)`.",
    ),
    Contender(
        name="Toolgate",
        module="toolgate",
        settings="The defaults: mode `coding`, no policy file, the sandbox that `toolgate doctor` shows.",
    ),
    Contender(
        name="OpenHands",
        module="openhands",
        peer="openhands",
        package="openhands-tools",
        settings="`FileEditor(workspace_root=…)` and `TerminalExecutor`, with the confirmation policy `AlwaysConfirm`. "
        "A command that runs into its limit goes on by design: the model may look at it again or end it. Its "
        "documentation recommends a Docker workspace, which is not tried here.",
    ),
    Contender(
        name="kimi-cli",
        module="kimi",
        peer="kimi",
        package="kimi-cli",
        settings="Its `ReadFile`, `WriteFile`, `StrReplaceFile` and `Shell` with approvals (no `--yolo`).",
    ),
    Contender(
        name="aider",
        module="aider",
        peer="aider",
        package="aider-chat",
        settings="The edit formats `whole` and `diff` through `Coder.apply_updates`, suggested commands through "
        "`Coder.run_shell_commands`; `--no-auto-commits`, and every confirmation is asked. A model cannot read files "
        "by itself.",
    ),
    Contender(
        name="openai-agents",
        module="openai_agents",
        peer="openai_agents",
        package="openai-agents",
        settings="Its `UnixLocalSandboxClient(inherit_host_environment=False)` and patch editor; changes and commands "
        "with `needs_approval=True`. Its documentation calls this client one for trusted code, and recommends Docker "
        "otherwise, which is not tried here.",
    ),
    Contender(
        name="LangChain",
        module="langchain",
        peer="langchain",
        package="langchain-community",
        settings="`FileManagementToolkit(root_dir=…)` and `ShellTool(ask_human_input=True)`.",
    ),
    Contender(
        name="MCP filesystem",
        module="mcp_filesystem",
        peer="mcp_filesystem",
        package="@modelcontextprotocol",
        limits_memory=False,
        settings="`server-filesystem` with the project as its only allowed directory.",
    ),
)
