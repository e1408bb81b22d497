"""Hints about paths: what is read-only, what is protected, and what commands cannot see."""

import posixpath
import re

from toolgate.shell.hints.finished_command import FinishedCommand

_READ_ONLY = re.compile(r"[Rr]ead-only file system|\bEROFS\b|\[Errno 30\]")
_BUSY = re.compile(r"[Dd]evice or resource busy|\bEBUSY\b|\[Errno 16\]")
_ABSENT = re.compile(r"[Nn]o such file or directory|\bENOENT\b|does not exist|[Cc]annot access")
_DENIED = re.compile(r"[Pp]ermission denied|\bEACCES\b|\[Errno 13\]")
_WRITES = re.compile(r"[Cc]annot (?:touch|create|remove|move|make|copy)|creat|writ|unlink|mkdir|temporary file|open\(")
"""Messages of programs that were writing, where reading is denied in the same words."""
_PATH = re.compile(
    r"(?:(?<=['\"‘`:=(\s])|^)(~?/[^\s'\"’`:;,()]+|(?:[^\s'\"‘’`:;,()/]+/)*\.(?:git|toolgate)(?:/[^\s'\"’`:;,()]*)?)"
)
_SYSTEM = frozenset("usr bin sbin lib lib32 lib64 libx32 etc opt nix gnu snap proc dev sys".split())

_LOCK = re.compile(r"Unable to create '[^']*\.git/[^']*\.lock': Read-only file system")


def repository_hint(ended: FinishedCommand) -> str:
    """Return the hint for a path that git could not write, although the last program of the line succeeded."""
    return path_hint(ended) if ended.access == "write" and ended.mounts and ended.says(_LOCK) else ""


def path_hint(ended: FinishedCommand) -> str:
    """Return how the sandbox treats the path that the command failed on."""
    own = ended.command.lower()
    for line in ended.said.splitlines():
        kind = _complaint(ended, line)
        if kind is None or kind[1].lower() in own:
            continue
        places = [(_place(ended, path), path) for path in _PATH.findall(line)] or [("root", "")]
        # the last path is the one written: `cannot copy 'A' to 'B'`
        found = next((text for place, path in reversed(places) if (text := _text(ended, kind[0], place, path))), "")
        if found:
            return found
    return ""


def _complaint(ended: FinishedCommand, line: str) -> tuple[str, str] | None:
    """Whether a line is about writing or about a missing file, and its message."""
    if match := _READ_ONLY.search(line):
        return "write", match.group()
    if (match := _BUSY.search(line)) and ".git" in line:
        return "write", match.group()
    if match := (_ABSENT if ended.mounts else _DENIED).search(line):
        wrote = _WRITES.search(line) or (line.startswith("bash: ") and ">" in ended.command)
        return "see" if ended.mounts or not wrote else "write", match.group()
    return None


def _place(ended: FinishedCommand, path: str) -> str:
    if path.startswith("~"):
        return "home"
    full = posixpath.normpath(posixpath.join(ended.directory, path))
    if _is_in(full, ended.root):
        inside = posixpath.relpath(full, ended.root)
        if inside.partition("/")[0] == ".toolgate":
            return "runtime"
        return "git" if ".git" in inside.split("/") else "root"  # git names its files from the top of the project
    if full.split("/")[1] in _SYSTEM:
        return "system"
    if _is_in(full, ended.home) or full.startswith(("/root/", "/home/")):
        return "home"
    if _is_in(full, "/tmp") or _is_in(full, "/var/tmp"):
        # a project below /var/tmp is shown by its real path, which differs in the sandbox
        return "git" if f"/{posixpath.basename(ended.root)}/.git/" in full else "temporary"
    return "outside"


def _text(ended: FinishedCommand, kind: str, place: str, path: str) -> str:
    if place == "runtime":
        return "'.toolgate' belongs to the runtime and is hidden from commands, whatever their access."
    if kind == "see":
        return _unseen(place, path)
    if place == "git" and ended.access == "write":
        return (
            'The sandbox keeps .git read-only with access="write". Only git commands alone may write it, as in '
            "'git add -A && git commit -m MESSAGE': with nothing else in the command line, every word written out. "
            'Configuration and hooks need access="full", because git runs what they name: a person is asked.'
        )
    if place in ("root", "git"):
        return _read_only(ended)
    if place == "temporary":
        return ""
    return (
        "The sandbox lets commands write only in the project and in /tmp. For other directories the operator can set "
        'TOOLGATE_SHELL_ROOTS; they can then be written with access="full".'
    )


def _unseen(place: str, path: str) -> str:
    if place == "home":
        return f"Home directories and keys are hidden from commands, whatever their access: '{path}' is not shown."
    if place == "outside":
        return (
            f"'{path}' is not shown to commands, whether or not it exists: they see the project, /tmp and the system. "
            "The operator can show them more with TOOLGATE_SHELL_READABLE."
        )
    return ""


def _read_only(ended: FinishedCommand) -> str:
    if ended.access != "read":
        return ""
    with_which = 'it would work with access="write"'
    if not ended.mounts:
        with_which = 'with access="full" a person is asked and it would work'
    return f'The sandbox keeps the project read-only with access="read"; {with_which}.'


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
