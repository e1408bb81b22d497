"""Finds files by glob with ripgrep, which uses all cores, or else with a walk in Python."""

from collections.abc import Callable
from contextlib import suppress

from toolgate.process.streaming import Bounds, StreamEnd
from toolgate.search import ripgrep
from toolgate.search.filters import PLAIN_GLOB
from toolgate.search.python_glob import FirstPaths, GlobResult, Pattern, descend, find_files, matching_links
from toolgate.search.search_root import SearchRoot, open_search_root
from toolgate.search.walk import VERSION_CONTROL, is_never_shown
from toolgate.workspace.root import Workspace

_NEVER_SHOWN = (".toolgate", *(f"{name}{end}" for name in VERSION_CONTROL for end in "/\0"))
"""Text that occurs only in paths that no search shows. ripgrep is not told to exclude every `.git`."""


class _PathReceiver:
    """Receives paths, each followed by a NUL."""

    def __init__(self, prefix: str, pattern: Pattern, first: FirstPaths) -> None:
        self._prefix = prefix
        self._pattern = pattern
        self._first = first
        self._rest = b""
        plain = all(PLAIN_GLOB.fullmatch(tail) for tail in pattern.tails) and "**" not in pattern.tails
        self.name_globs = tuple(pattern.tails) if plain else ()
        """Globs for names that save ripgrep work."""

    def feed(self, chunk: bytes) -> None:
        """Add the next piece."""
        whole, nul, self._rest = (self._rest + chunk).rpartition(b"\0")
        if not nul:
            return
        # every path starts with './' and ends with NUL: splitting them as one text is twice as fast
        text = f"\0{whole.decode('utf-8', 'surrogateescape')}\0".replace("\0./", f"\0{self._prefix}")
        paths = text[1:-1].split("\0")
        if any(name in text for name in _NEVER_SHOWN):
            paths = [path for path in paths if not is_never_shown(path)]
        elif self._pattern.covers(text, len(paths)):
            self._first.add(paths)
            return
        self._first.add(self._pattern.matching(paths))

    def finish(self) -> None:
        """End of the stream: the rest is not a complete path."""


def find(
    workspace: Workspace,
    path: str,
    pattern: Pattern,
    *,
    limit: int,
    include_ignored: bool,
    output_dir: str,
    setting: str | None,
    bounds: Bounds,
) -> GlobResult:
    """Find what matches below `path`. `setting` selects the ripgrep, as in the settings."""

    def open_at(where: str) -> SearchRoot:
        return open_search_root(workspace, where, output_dir=output_dir, include_ignored=include_ignored, files=False)

    program = ripgrep.find(setting, workspace.programs_root) if pattern.recursive else None
    with open_at(path) as start:
        if program is not None:
            with suppress(ripgrep.RipgrepUnusable):
                return _find_with_ripgrep(program, workspace, start, pattern, limit, open_at, bounds)
        return find_files(workspace, start, pattern, limit=limit, deadline=bounds.deadline, check=bounds.stop.check)


def _find_with_ripgrep(
    program: str,
    workspace: Workspace,
    start: SearchRoot,
    pattern: Pattern,
    limit: int,
    open_at: Callable[[str], SearchRoot],
    bounds: Bounds,
) -> GlobResult:
    """Find what matches below `start`. Raises `RipgrepUnusable` if ripgrep does not work here."""
    first, files = FirstPaths(limit), GlobResult()
    for folder in descend(start, pattern, bounds.stop.check):
        first.add(matching_links(workspace, start, folder, pattern))
        with open_at(start.prefix + folder.path or ".") as target:
            stream_end = _list(program, target, _PathReceiver(folder.path, pattern, first), bounds)
        files.complete = stream_end.complete
        complaints = [folder.path + where for where, _ in ripgrep.complaints(stream_end.messages)]
        files.unreadable = [start.prefix + where for where in complaints if pattern.reaches(where)]
    files.paths, files.total = first.paths(start.prefix), first.total
    return files


def _list(program: str, target: SearchRoot, sink: _PathReceiver, bounds: Bounds) -> StreamEnd:
    query = ripgrep.Query(
        pattern=None,
        directory=target.directory,
        root=target.root,
        inherited=target.rules,
        hidden=target.hidden,
        git=target.git,
        name_globs=sink.name_globs,
    )
    code, stream_end = ripgrep.run(program, query, sink, bounds)
    if code == 2 and not ripgrep.complaints(stream_end.messages):
        raise ripgrep.RipgrepUnusable(stream_end.messages)
    return stream_end
