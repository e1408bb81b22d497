"""Searches text without ripgrep: worker processes that each search a share of the tree.

A hostile regular expression may block the interpreter forever, and only a process can be ended. Each worker starts
without the packages of this environment. If this user may not start the interpreter, because the process dropped its
privileges, the workers are forks.
"""

import marshal
import os

from toolgate.errors import ToolError
from toolgate.process.bare_python import bare_python
from toolgate.process.fork import Fork
from toolgate.process.read_only import ReadOnlyCommand, memory_file, start
from toolgate.process.streaming import Bounds, OutputProcess, StreamEnd, end, follow
from toolgate.protocol.codes import ErrorCode
from toolgate.search import python_scan
from toolgate.search.matches import Matches, MatchStream
from toolgate.search.regex_dialect import Translation
from toolgate.search.ripgrep import Query

MAX_WORKERS = 4
"""Number of processes that search one tree."""


def search(
    translation: Translation, wanted: tuple[str | None, str | None, bool], query: Query, found: Matches, bounds: Bounds
) -> StreamEnd:
    """Search like `ripgrep.search`. `wanted` has the expressions for names and paths, and whether to negate them."""
    names, paths, negated = wanted
    plan: dict[str, object] = {
        "pattern": translation.pattern,
        "literal": translation.literal,
        "ignore_case": not query.case_sensitive,
        "before": query.before,
        "after": query.after,
        "fd": query.file,
        "inherited": list(query.inherited or ()),
        "ignore": query.inherited is not None,
        "hidden": list(query.hidden),
        "names": names,
        "paths": paths,
        "negated": negated,
    }
    workers = 1 if query.directory is None else max(1, min(MAX_WORKERS, len(os.sched_getaffinity(0))))
    processes: list[OutputProcess] = []
    try:
        for share in range(workers):
            processes.append(_start({**plan, "share": (share, workers)}, query))
    except OSError as error:
        end(processes)
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"The search could not be started: {os.strerror(error.errno or 0)}.",
            "Try again in a moment; if it stays so, ask the user to install ripgrep.",
        ) from None
    return follow(processes, [MatchStream(found) for _ in processes], bounds)


def _start(plan: dict[str, object], query: Query) -> OutputProcess:
    try:
        return _start_bare(plan, query)
    except (PermissionError, FileNotFoundError):
        return Fork(query.directory, lambda out: python_scan.search(plan, out))


def _start_bare(plan: dict[str, object], query: Query) -> OutputProcess:
    stdin = memory_file(marshal.dumps(plan))
    try:
        return start(
            ReadOnlyCommand(
                argv=bare_python("toolgate.search.python_scan", bare="workspace"),
                directory=query.directory,
                stdin=stdin,
                pass_fds=() if query.file is None else (query.file,),
            )
        )
    finally:
        os.close(stdin)
