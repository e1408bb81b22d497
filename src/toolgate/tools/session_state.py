"""`SessionState`: what the copies of one session's context share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.modes import ApprovalMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate.diagnostics.diagnostics import Diagnostics
    from toolgate.shell import ShellSession
    from toolgate.web.fetch import Fetcher
    from toolgate.web.search import WebSearch
    from toolgate.workspace.file_guard import FileGuard, PathRules
    from toolgate.workspace.output_store import OutputStore
    from toolgate.workspace.seen_files import SeenFiles


class SessionState:
    """State that lasts as long as a session. What is expensive is made on first use."""

    __slots__ = (
        "_seen_files",
        "approval_mode",
        "diagnostics",
        "guard",
        "kept_outputs",
        "output_store",
        "path_rules",
        "rewound_by",
        "runtime",
        "shell",
        "todos",
        "web",
        "web_search",
    )

    def __init__(self, shell: ShellSession | None = None) -> None:
        self.shell = shell
        """The session's shell, if there is one already; `ToolContext.shell` makes it."""
        self.approval_mode = ApprovalMode.ask
        """What the person wants to be asked about."""
        self.diagnostics: Diagnostics | None = None
        """Runs checkers after edits; `ToolContext.diagnostics` makes it."""
        self.guard: FileGuard | None = None
        """Judges which files may be shown; `ToolContext.guard` makes it."""
        self.path_rules: Callable[[], PathRules] | None = None
        """What the policy says about reading paths; None while no policy was loaded."""
        self.output_store: OutputStore | None = None
        """The directory that long outputs are written to."""
        self.kept_outputs: set[str] = set()
        """Paths of the whole outputs that were written for this session."""
        self.todos: list[dict[str, str]] = []
        """The to-do list of a session without a store."""
        self.web: Fetcher | None = None
        """Fetches pages; `ToolContext.web` makes it."""
        self.web_search: WebSearch | None = None
        """Searches the web; `ToolContext.web_search` makes it."""
        self.runtime: object = None
        """State of the call pipeline; `toolgate.runtime.state` knows its type."""
        self.rewound_by = 0
        """The number of the last rewind event that this state takes into account."""
        self._seen_files: SeenFiles | None = None

    @property
    def seen_files(self) -> SeenFiles:
        """The files that the session has read, with the version of each."""
        if self._seen_files is None:
            from toolgate.workspace.seen_files import SeenFiles

            self._seen_files = SeenFiles()
        return self._seen_files
