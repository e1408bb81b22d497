"""Searches text with ripgrep.

It is started in the directory that was opened for the search, reads nothing outside the project, follows no links and
reads no configuration. It ends with the call: on cancellation, at its deadline, or after too much output.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from toolgate.process.executables import find_ripgrep
from toolgate.process.read_only import ReadOnlyCommand, memory_file, start
from toolgate.process.streaming import Bounds, Sink, StreamEnd, follow
from toolgate.search.matches import Matches, MatchStream
from toolgate.search.regex_dialect import by_line
from toolgate.search.walk import VERSION_CONTROL

_COMMON = (
    *("--no-config", "--color=never", "--null", "--hidden", "--no-follow", "--no-require-git", "--no-ignore-dot"),
    *("--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude"),
)
_OPTIONS = (
    *("--no-heading", "--line-number", "--with-filename", "--crlf", "--case-sensitive"),
    *("--no-context-separator", r"--field-match-separator=\x00M", r"--field-context-separator=\x00C"),
    *("--max-columns=8192", "--max-columns-preview"),
)
_ESCAPE = "\\"
_COMPLAINT = re.compile(r"^rg: (?:\./)?(.*): ([^:\n]+) \(os error \d+\)$", re.MULTILINE)


class RipgrepUnusable(Exception):
    """This ripgrep cannot be run, or lacks a required option."""


class BadPattern(Exception):
    """ripgrep does not accept the pattern. The message is its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to search for, and where."""

    pattern: str | None
    """None to only list the files, each followed by a NUL."""
    case_sensitive: bool = True
    multiline: bool = False
    """Whether the pattern may span lines."""
    before: int = 0
    after: int = 0
    directory: int | None = None
    """Descriptor of the directory to search below; None to search `file`."""
    file: int | None = None
    root: int | None = None
    """Descriptor of the project root. Nothing outside it may be read."""
    inherited: Sequence[str] | None = ()
    """Ignore rules from above the directory; None if nothing is ignored."""
    hidden: Sequence[str] = ()
    """Directories below the start that are not searched."""
    git: bool = True
    """Whether to check for `.git`; see `SearchRoot`."""
    name_globs: Sequence[str] = ()
    """Only files whose names match one of these. This only saves time: `Matches.wanted` decides."""


def find(setting: str | None, root: str) -> str | None:
    """Return the ripgrep to run (once per root), or None for the search in Python; see `ShellSettings.ripgrep`."""
    return _found(setting, root, os.environ.get("PATH", os.defpath), os.geteuid())


@cache
def _found(setting: str | None, root: str, _path: str, _user: int) -> str | None:
    return find_ripgrep(setting, (root,))


def arguments(query: Query, ignore_file: int | None) -> list[str]:
    """Return the options of one search, without the program."""
    out = [*_COMMON, *(("--files",) if query.pattern is None else _OPTIONS)]
    if not query.case_sensitive:
        out.append("--ignore-case")
    if query.before:
        out.append(f"--before-context={query.before}")
    if query.after:
        out.append(f"--after-context={query.after}")
    if query.inherited is None:
        out.append("--no-ignore")
    if ignore_file is not None:
        out.append(f"--ignore-file=/proc/self/fd/{ignore_file}")
    if query.git:
        out += [f"--glob=!{name}" for name in VERSION_CONTROL]
    out += [f"--glob=!/{_glob_literal(path)}" for path in query.hidden]
    out += [f"--type-add=wanted:{glob}" for glob in query.name_globs]
    if query.name_globs:
        out.append("--type=wanted")
    if query.multiline:
        out += ["--multiline", f"--regexp={query.pattern}"]
    elif query.pattern is not None:
        out.append(f"--regexp={by_line(query.pattern) if _ESCAPE in query.pattern else query.pattern}")
    return [*out, "--", "./" if query.file is None else f"/proc/self/fd/{query.file}"]


def _glob_literal(text: str) -> str:
    return "".join("\\" + character if character in "*?[]{}\\!#" else character for character in text)


def search(
    program: str, query: Query, found: Matches, bounds: Bounds, meanwhile: Callable[[], object] | None = None
) -> StreamEnd:
    """Search with ripgrep, and call `meanwhile` once it runs. Raises `RipgrepUnusable` or `BadPattern`."""
    code, stream_end = run(program, query, MatchStream(found), bounds, meanwhile)
    if code == 2 and not found.total:
        _explain(stream_end.messages)
    for path, reason in complaints(stream_end.messages):
        found.skip(path, f"unreadable: {reason}")
    return stream_end


def run(
    program: str, query: Query, sink: Sink, bounds: Bounds, meanwhile: Callable[[], object] | None = None
) -> tuple[int, StreamEnd]:
    """Start ripgrep, confined, and read its output; return its exit code. Raises `RipgrepUnusable`."""
    rules = memory_file("\n".join(query.inherited).encode("utf-8", "surrogateescape")) if query.inherited else None
    command = ReadOnlyCommand(
        argv=[program, *arguments(query, rules)],
        directory=query.directory,
        pass_fds=tuple(fd for fd in (rules, query.file) if fd is not None),
        readable=tuple(fd for fd in (query.root, query.directory) if fd is not None),
    )
    try:
        process = start(command)
    except OSError as error:
        raise RipgrepUnusable(os.strerror(error.errno or 0)) from None
    finally:
        if rules is not None:
            os.close(rules)
    stream_end = follow([process], [sink], bounds, meanwhile)
    return process.returncode, stream_end


def complaints(messages: str) -> list[tuple[str, str]]:
    """Return the paths that ripgrep could not read, and why, except those that the caller may not know about."""
    return [(path, reason) for path, reason in _COMPLAINT.findall(messages) if not path.startswith("/")]


def _explain(messages: str) -> None:
    """Raise what a failed ripgrep reported, unless it was only about some files."""
    reason = messages.removeprefix("rg: ")
    if reason.startswith("regex parse error:"):
        raise BadPattern(reason.partition("\nerror: ")[2].partition("\n")[0] or reason)
    if reason.startswith(("the literal ", "compiled regex", "error: regex", "regex ")):
        raise BadPattern(reason.partition("\n")[0])
    if "flag" in reason or "argument" in reason or reason.startswith("error: "):
        raise RipgrepUnusable(reason.partition("\n")[0])
