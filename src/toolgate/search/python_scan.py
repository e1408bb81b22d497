"""The search without ripgrep: the program of one worker process.

A regular expression in Python cannot be interrupted and blocks the interpreter. Therefore it runs in its own process,
which can be ended at any time (`toolgate.search.python_workers` starts it). The worker reads its plan from standard
input and writes records `path NUL line NUL kind text LF` to standard output. Kind `M` is a match, `C` a line of
context, `S` a skipped file and the reason. Records of one file stand together and are written before the next file is
opened.
"""

from __future__ import annotations

import marshal
import mmap
import os
import re

from toolgate.search.ignore import Ignores
from toolgate.search.walk import TreeWalk, WalkedFolder
from toolgate.workspace.beneath import open_directory, open_file

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` would cost the worker a tenth of its start
    from typing import Any

MAX_FILE_BYTES = 1 << 30
"""Largest file that is searched, in bytes."""
MAX_LINE = 8192
"""Longest line that is passed on, in characters."""

_FIRST_READ = 1 << 16


class Skip(Exception):
    """This file is skipped. The argument is the reason."""


class Finder:
    """Finds the matching lines of a text."""

    def __init__(self, pattern: str, literal: str, ignore_case: bool) -> None:
        self._search = re.compile(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0)).search
        self.literal = "" if ignore_case else literal
        self.needle = self.literal.encode()

    def lines(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each matching line, in order."""
        return self._by_literal(text) if self.literal else self._by_pattern(text)

    def _by_literal(self, text: str) -> list[tuple[int, int]]:
        """Examine only the lines that contain the literal."""
        found, literal, search = [], self.literal, self._search
        position = text.find(literal)
        while position >= 0:
            start, end = _line_around(text, position)
            last = end - 1 if text[end - 1 : end] == "\r" else end
            if search(text, start, last):
                found.append((start, end))
            position = text.find(literal, end)
        return found

    def _by_pattern(self, text: str) -> list[tuple[int, int]]:
        found, search, position = [], self._search, 0
        while position < len(text) and (match := search(text, position)):
            start, end = _line_around(text, match.start())
            if start == len(text):
                break
            found.append((start, end))
            position = end + 1
        return found


def _line_around(text: str, position: int) -> tuple[int, int]:
    end = text.find("\n", position)
    return text.rfind("\n", 0, position) + 1, end if end >= 0 else len(text)


def text_to_search(fd: int, needle: bytes) -> str | None:
    """Return the text of an open file; None if it cannot contain `needle`. Raises `Skip`."""
    data: bytes | mmap.mmap = os.read(fd, _FIRST_READ)
    if b"\0" in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise Skip("binary")
    if len(data) == _FIRST_READ:
        size = os.fstat(fd).st_size
        if size > MAX_FILE_BYTES:
            raise Skip(f"larger than {MAX_FILE_BYTES >> 30} GiB")
        data = mmap.mmap(fd, size, prot=mmap.PROT_READ)
    return decode(data, needle)


def decode(data: bytes | mmap.mmap, needle: bytes) -> str | None:
    """Decode bytes as ripgrep does: by the byte order mark, else as UTF-8."""
    start = data[:3]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = str(memoryview(data)[2:], "utf-16-le" if start[:2] == b"\xff\xfe" else "utf-16-be", "replace")
        if "\0" in text:
            raise Skip("binary")
        return text
    if data.find(b"\0") >= 0:
        raise Skip("binary")
    if needle and data.find(needle) < 0:
        return None
    skip = 3 if start == b"\xef\xbb\xbf" else 0
    return str(memoryview(data)[skip:], "utf-8", "surrogateescape")


class Scanner:
    """Searches files and writes what it finds to a descriptor."""

    def __init__(self, plan: dict[str, Any], out: int) -> None:
        self._finder = Finder(plan["pattern"], plan["literal"], plan["ignore_case"])
        self._before: int = plan["before"]
        self._after: int = plan["after"]
        self._out = out

    def file(self, name: str, path: str, dir_fd: int | None) -> None:
        """Search one file below an open directory."""
        try:
            fd = open_file(name, dir_fd=dir_fd)
        except OSError as error:
            self._unreadable(path, error.errno)
            return
        try:
            self.opened(fd, path)
        finally:
            os.close(fd)

    def opened(self, fd: int, path: str) -> None:
        """Search an open file."""
        try:
            text = text_to_search(fd, self._finder.needle)
            if text is not None:
                self._found(path, text, self._finder.lines(text))
        except Skip as reason:
            self.skipped(path, str(reason))
        except OSError as error:
            self._unreadable(path, error.errno)
        except (MemoryError, ValueError):  # mmap of a file that shrank is a ValueError
            self.skipped(path, "too large to search, or changing while it was searched")

    def _found(self, path: str, text: str, lines: list[tuple[int, int]]) -> None:
        if not lines:
            return
        if self._before or self._after:
            records = self._with_context(text, lines)
        else:
            records, number, counted = [], 1, 0
            for start, end in lines:
                number += text.count("\n", counted, start)
                counted = start
                records.append(f"{number}\0M{text[start : min(end, start + MAX_LINE)]}\n")
        self._write(path, records)

    def _with_context(self, text: str, lines: list[tuple[int, int]]) -> list[str]:
        every = text.split("\n")
        if not every[-1]:
            every.pop()
        matching, number, counted = set(), 0, 0
        for start, _ in lines:
            number += text.count("\n", counted, start)
            counted = start
            matching.add(number)
        shown: set[int] = set()
        for number in matching:
            shown.update(range(max(0, number - self._before), min(len(every), number + self._after + 1)))
        return [
            f"{number + 1}\0{'M' if number in matching else 'C'}{every[number][:MAX_LINE]}\n"
            for number in sorted(shown)
        ]

    def _unreadable(self, path: str, number: int | None) -> None:
        self.skipped(path, f"unreadable: {os.strerror(number or 0)}")

    def skipped(self, path: str, reason: str) -> None:
        """Report a skipped file or directory."""
        self._write(path, [f"0\0S{reason}\n"])

    def _write(self, path: str, records: list[str]) -> None:
        data = "".join(f"{path}\0{record}" for record in records).encode("utf-8", "surrogateescape")
        view = memoryview(data)
        while view:
            view = view[os.write(self._out, view) :]


class FileFilter:
    """Which files are searched at all."""

    def __init__(self, names: str | None, paths: str | None, negated: bool) -> None:
        self._names = re.compile(names, re.DOTALL).fullmatch if names is not None else None
        self._paths = re.compile(paths, re.DOTALL).fullmatch if paths is not None else None
        self._negated = negated

    def __call__(self, name: str, path: str) -> bool:
        """Whether the file `name` is searched. `path` is relative to the start of the search."""
        if self._names is not None and not self._names(name):
            return False
        return self._paths is None or bool(self._paths(path)) != self._negated


def search(plan: dict[str, Any], out: int) -> None:
    """Execute a plan: search one open file, or this worker's share of the tree below the current directory."""
    scanner = Scanner(plan, out)
    if plan["fd"] is not None:
        scanner.opened(plan["fd"], "<stdin>")
        return
    wanted = FileFilter(plan["names"], plan["paths"], plan["negated"])
    ignores = Ignores.inheriting(plan["inherited"] if plan["ignore"] else None)
    walk = TreeWalk(open_directory("."), ignores=ignores, hidden=plan["hidden"])
    share, shares = plan["share"]
    for turn, folder in enumerate(walk):
        _search_folder(scanner, folder, wanted, (share + turn) % shares, shares)
    if share == 0:
        for path, number in walk.unreadable:
            scanner.skipped(path, f"unreadable: {os.strerror(number)}")
        if walk.too_deep:
            scanner.skipped(walk.too_deep, "nested too deeply to be searched")


def _search_folder(scanner: Scanner, folder: WalkedFolder, wanted: FileFilter, share: int, shares: int) -> None:
    for name in folder.keep(folder.files[share::shares]):
        path = folder.path + name
        if wanted(name, path):
            scanner.file(name, path, folder.fd)


def main() -> None:
    """Run as a worker."""
    import resource
    import sys

    resource.setrlimit(resource.RLIMIT_AS, (4 * MAX_FILE_BYTES, 4 * MAX_FILE_BYTES))
    search(marshal.load(sys.stdin.buffer), 1)
