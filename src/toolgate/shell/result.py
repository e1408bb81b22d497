"""The result of a command: its output, how it ended, and what confined it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from toolgate.protocol.plan import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What was enforced while a command ran."""

    layer: str
    """`bwrap`, `landlock` or `off`."""
    access: Access
    network: bool
    """Whether the command could reach a network."""
    enforced: tuple[str, ...] = ()
    """What the kernel guaranteed, in plain words."""
    missing: tuple[str, ...] = ()
    """What this layer cannot guarantee here."""
    unconfined: tuple[str, ...] = ()
    """The items of `missing` that concern the access itself, not limits. A person is asked about them."""
    roots: tuple[str, ...] = ()
    """Directories beside the project that could be written."""
    limits: dict[str, int] = field(default_factory=dict)
    """`memory_bytes` and `file_bytes` per process, and `processes`; only limits that are enforced."""

    def to_dict(self) -> dict[str, Any]:
        """The report as `data.sandbox`."""
        return {
            "layer": self.layer,
            "access": self.access,
            "network": self.network,
            "enforced": list(self.enforced),
            "missing": list(self.missing),
            "limits": dict(self.limits),
            **({"roots": list(self.roots)} if self.roots else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamInfo:
    """Exact counts of one output stream, and where all of it is."""

    bytes: int = 0
    lines: int = 0
    """Newline characters, plus one for a last line without."""
    truncated: bool = False
    """Whether the text in the result is only the head and the tail."""
    output_path: str | None = None
    """Host path of a private file with the whole stream, for the runtime; kept until the session closes."""
    stored_bytes: int = 0
    """How many bytes of the stream the file holds; less than `bytes` if it reached its limit."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The answer of a command."""

    stdout: str
    stderr: str
    exit_code: int | None
    """The process's own; 128 + N if signal N ended it; None if it was ended at its deadline or still runs."""
    timed_out: bool = False
    truncated: bool = False
    """Whether one of the streams was cut to its head and tail."""
    stdout_info: StreamInfo = field(default_factory=StreamInfo)
    stderr_info: StreamInfo = field(default_factory=StreamInfo)
    sandbox: SandboxReport | None = None
    hint: str = ""
    """What to do about a failure that the sandbox caused; empty otherwise."""
    job_id: str | None = None
    """Set if the command continues in the background."""
    cwd: str = "."
    """The shell's directory afterwards: relative to the root inside it, absolute elsewhere."""
