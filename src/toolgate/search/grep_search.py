"""One search from its arguments to its result: which engine, which files, what was skipped."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from toolgate.errors import ToolError
from toolgate.process.streaming import Bounds, StreamEnd
from toolgate.protocol.codes import ErrorCode
from toolgate.search import python_workers, ripgrep
from toolgate.search.filters import Filter
from toolgate.search.legacy_encodings import (
    MAX_BYTES,
    MAX_FILES,
    NOT_UTF8,
    NOT_UTF8_IN_PYTHON,
    decoded_copy,
    has_other_characters,
)
from toolgate.search.listing import shown_name
from toolgate.search.matches import Matches
from toolgate.search.regex_dialect import NeedsRipgrep, PatternError, Translation, UnopenedGroup, translate
from toolgate.search.search_root import SearchRoot, open_search_root
from toolgate.search.skipped import SkippedFiles, guarded, is_binary
from toolgate.search.walk import is_never_shown
from toolgate.workspace.beneath import open_file
from toolgate.workspace.encoding import SAMPLE, detect
from toolgate.workspace.file_guard import SECRET, FileGuard
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import Workspace
from toolgate.workspace.secret_files import SNIFFED
from toolgate.workspace.threads import Stop, start_thread

_META = re.compile(r"[.^$*+?()\[\]{}|\\]")
_DIALECT = "Repair the regular expression; to search for plain text, pass fixed_string=true."


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepJob:
    """The arguments of one search."""

    pattern: str
    path: str
    include: str | None
    file_type: str | None
    case_sensitive: bool
    before: int
    after: int
    limit: int
    include_ignored: bool
    fixed_string: bool = False
    """The pattern is plain text."""
    multiline: bool = False
    """The pattern may span lines. Every line of a match counts."""
    by_file: bool = False
    """Only files and how many lines match in them; `limit` is about files then."""
    output_dir: str
    ripgrep: str | None
    """As in the settings."""
    deadline: float
    guard: FileGuard | None = None
    """Judges which files a search of a tree leaves out."""


@dataclass(slots=True)
class GrepOutcome:
    """What a search found."""

    matches: list[dict[str, Any]] = field(default_factory=list)
    by_file: list[tuple[str, int]] = field(default_factory=list)
    """Files and the number of their matching lines, if those were asked for."""
    total: int = 0
    files: int = 0
    clipped: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason, sorted. The list is incomplete if there are very many."""
    total_skipped: int = 0
    complete: bool = True
    fallback: str = ""
    """Why ripgrep was not used; empty if it was."""
    ignores: bool = False
    """Whether ignored files were skipped."""
    ignored: list[str] = field(default_factory=list)
    """Directories that were skipped."""
    denied: int = 0
    """How many paths were left out because a rule of the user's denies them."""
    file: os.stat_result | None = None
    """The file that was searched, if it was a single one."""
    legacy_encoding: str = ""
    """What that file probably is, if it is not UTF-8."""
    decoded: dict[str, str] = field(default_factory=dict)
    """Files with matches that are not UTF-8, and the encodings in which they were searched."""
    not_decoded: int = 0
    """How many further ones were searched only by their ASCII characters."""


def run(stop: Stop, workspace: Workspace, job: GrepJob) -> GrepOutcome:
    """Run the search and block until it ends. Raises `ToolError`."""
    for character, name in (("\0", "a NUL character"), ("\n", "a line end"), ("\r", "a carriage return")):
        if character in job.pattern and not (job.multiline and character != "\0"):
            step = "" if character == "\0" else "Pass multiline=true: then a pattern may span lines."
            raise bad_pattern(f"it contains {name}, and every line is looked at by itself", step)
    if job.fixed_string:
        job = replace(job, pattern=_META.sub(r"\\\g<0>", job.pattern).replace("\r\n", "\n").replace("\n", r"\r?\n"))
    files = Filter.of(job.include, job.file_type)
    with open_search_root(
        workspace, job.path, output_dir=job.output_dir, include_ignored=job.include_ignored, files=True
    ) as start:
        if start.file is not None and is_binary(start.file.fd):
            raise ToolError(
                ErrorCode.BINARY_FILE,
                f"{quote(job.path)} is binary: text cannot be searched for in it.",
                "Search another file.",
            )
        program = ripgrep.find(job.ripgrep, workspace.programs_root)
        outcome = _Search(job, start, files, Bounds(deadline=job.deadline, stop=stop)).run(program)
        if start.file is not None:
            outcome.legacy_encoding = _legacy_encoding(start.file.fd, job.path)
        return outcome


def bad_pattern(reason: str, step: str = "") -> ToolError:
    """Return the error for a pattern that cannot be searched for."""
    message = f"'pattern' is not a valid regular expression: {reason}."
    return ToolError(ErrorCode.INVALID_PARAM, message, step or _DIALECT)


def _legacy_encoding(fd: int, path: str) -> str:
    """Return the encoding of a file if it is neither UTF-8 nor marked: only its ASCII characters are found then."""
    sample = os.pread(fd, SAMPLE, 0)
    try:
        encoding = detect(sample, path, whole=len(sample) < SAMPLE)
    except ToolError:
        return ""
    return encoding.name if encoding.is_guess else ""


class _Search:
    def __init__(self, job: GrepJob, start: SearchRoot, files: Filter, bounds: Bounds) -> None:
        self._job = job
        self._start = start
        self._files = files
        self._bounds = bounds
        self._found = Matches(limit=job.limit, after=job.after, by_file=job.by_file, wanted=self._counts)
        self._guarded_files: tuple[list[str], int] | None = None
        self._matching: set[str] = set()
        """Files of a tree that match without being decoded."""
        self._query = ripgrep.Query(
            pattern=job.pattern,
            case_sensitive=job.case_sensitive,
            multiline=job.multiline,
            before=job.before,
            after=job.after,
            directory=start.directory,
            file=None if start.file is None else start.file.fd,
            root=start.root,
            inherited=start.rules,
            hidden=start.hidden,
            git=start.git,
            name_globs=files.name_globs if start.file is None else (),
        )

    def _counts(self, name: str, path: str) -> bool:
        """Whether matches in a file count. A file that was named itself always counts."""
        if self._start.file is not None:
            return True
        wanted = self._files.wanted
        if (wanted is not None and not wanted(name, path)) or is_never_shown(path):
            return False
        guard = self._job.guard
        if guard is None or not self._is_secret(guard, path):
            self._matching.add(path)
            return True
        full = [prefix + path for prefix in self._start.prefixes]
        if not any(guard.leaves_out(name, b"") for name in full) and self._guarded.isdisjoint(full):
            self._found.skip(path, SECRET)  # nothing but its content says so, and commands can read it
        return False

    def _is_secret(self, guard: FileGuard, path: str) -> bool:
        """Whether a file with matches is left out: for its name, its content, or another of its names."""
        full = [prefix + path for prefix in self._start.prefixes]
        try:
            fd = open_file(path, dir_fd=self._start.directory)
        except OSError:
            return any(guard.leaves_out(name, b"") for name in full)
        try:
            start, names = os.pread(fd, SNIFFED, 0), os.fstat(fd).st_nlink
        finally:
            os.close(fd)
        return any(guard.leaves_out(name, start) for name in full) or (names > 1 and not self._guarded.isdisjoint(full))

    @cached_property
    def _guarded(self) -> frozenset[str]:
        """All secret and denied files, under every name."""
        assert self._job.guard is not None
        found = self._job.guard.found()
        return frozenset(found.secrets) | found.denied

    def run(self, program: str | None) -> GrepOutcome:
        outcome = GrepOutcome(ignores=self._start.file is None and self._start.rules is not None)
        stream_end: StreamEnd | None = None
        if program is not None:
            try:
                stream_end = self._with_ripgrep(program, outcome)
            except ripgrep.RipgrepUnusable as reason:
                outcome.fallback = f"ripgrep could not be used ({reason})."
        else:
            outcome.fallback = "ripgrep is not available."
        if stream_end is None:
            program = None
            stream_end = self._in_python()
        if has_other_characters(self._job.pattern) and stream_end.complete:
            stream_end.complete = self._decoded(program, outcome)
        self._skip_guarded(outcome)
        self._fill(outcome, stream_end)
        return outcome

    def _look_for_guarded(self) -> None:
        if self._job.guard is not None and self._start.file is None:
            self._guarded_files = guarded(self._job.guard, self._start, self._files.wanted)

    def _skip_guarded(self, outcome: GrepOutcome) -> None:
        """Report all guarded files, with matches or without."""
        if self._guarded_files is None:
            self._look_for_guarded()
        if self._guarded_files is not None:
            secrets, outcome.denied = self._guarded_files
            for path in secrets:
                self._found.skip(path, SECRET)

    def _decoded(self, program: str | None, outcome: GrepOutcome) -> bool:
        """Search the text of files that are not UTF-8 and have no matches yet; return whether it came to its end."""
        if self._start.file is not None:
            return bool(self._found.total) or self._decode_and_search(program, self._start.file.fd, "", outcome)
        seen = frozenset(self._matching)
        not_utf8 = Matches(
            limit=MAX_FILES, by_file=True, wanted=lambda name, path: path not in seen and self._counts(name, path)
        )
        query = replace(self._query, pattern=NOT_UTF8, before=0, after=0, multiline=False)
        listed = self._search_again(program, query, not_utf8, NOT_UTF8_IN_PYTHON)
        outcome.not_decoded = max(0, not_utf8.files - MAX_FILES)
        for path, _ in not_utf8.first_files(""):
            try:
                fd = open_file(path, dir_fd=self._start.directory)
            except OSError:  # it is gone
                continue
            try:
                if not self._decode_and_search(program, fd, path, outcome):
                    return False
            finally:
                os.close(fd)
        return listed.complete

    def _decode_and_search(self, program: str | None, fd: int, path: str, outcome: GrepOutcome) -> bool:
        copy = decoded_copy(fd, path)
        if copy is None:
            outcome.not_decoded += bool(path) and os.fstat(fd).st_size > MAX_BYTES
            return True
        encoding, text = copy
        found = Matches(limit=self._job.limit, after=self._job.after, by_file=self._job.by_file)
        try:
            query = replace(self._query, directory=None, file=text, name_globs=(), hidden=(), git=False)
            stream_end = self._search_again(program, query, found, None)
        finally:
            os.close(text)
        if found.total:
            self._found.adopt(path, found)
            outcome.decoded[self._start.prefix + path if path else self._job.path] = encoding
        return stream_end.complete

    def _search_again(
        self, program: str | None, query: ripgrep.Query, found: Matches, translation: Translation | None
    ) -> StreamEnd:
        """Search once more with the engine of the first search."""
        if program is not None:
            return ripgrep.search(program, query, found, self._bounds)
        wanted = self._files.expressions if query.directory is not None else (None, None, False)
        return python_workers.search(translation or translate(self._job.pattern), wanted, query, found, self._bounds)

    def _with_ripgrep(self, program: str, outcome: GrepOutcome) -> StreamEnd:
        if ")" in self._job.pattern:
            with suppress(NeedsRipgrep, PatternError):
                try:
                    translate(self._job.pattern)
                except UnopenedGroup as error:
                    raise bad_pattern(str(error)) from None
        with self._survey() as (survey, begin):
            try:
                stream_end = ripgrep.search(program, self._query, self._found, self._bounds, begin)
            except ripgrep.BadPattern as error:
                raise self._pattern_error(str(error)) from None
        if survey is not None:
            outcome.ignored = [self._start.prefix + path for path in survey.ignored]
            for path in survey.binary:
                self._found.skip(shown_name(path), "binary")
        return stream_end

    @contextmanager
    def _survey(self) -> Iterator[tuple[SkippedFiles | None, Callable[[], None] | None]]:
        """A survey of the same tree, and the function that begins it when ripgrep runs.

        It is complete when the block ends, unless the block failed.
        """
        if self._start.directory is None:
            yield None, None
            return
        survey = SkippedFiles(
            self._start.directory,
            inherited=self._start.rules,
            hidden=self._start.hidden,
            wanted=self._files.wanted,
        )
        over = threading.Event()

        def look() -> None:
            survey.run(lambda: over.is_set() or time.monotonic() > self._bounds.deadline)
            with suppress(ToolError, OSError):  # it is looked for again, and fails there
                if not over.is_set():
                    self._look_for_guarded()

        thread = threading.Thread(target=look, name="toolgate-survey", daemon=True)
        try:
            yield survey, lambda: start_thread(thread)
        except BaseException:
            over.set()
            raise
        finally:
            if thread.ident is not None:
                thread.join()

    def _pattern_error(self, reason: str) -> ToolError:
        """Return ripgrep's reason, or a better one with a position if the translator finds a mistake too."""
        if self._job.multiline:
            return bad_pattern(reason)
        with suppress(NeedsRipgrep):
            try:
                translate(self._job.pattern)
            except PatternError as error:
                return bad_pattern(str(error))
        return bad_pattern(reason)

    def _in_python(self) -> StreamEnd:
        if self._job.multiline:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                "'multiline' needs ripgrep, and ripgrep is not available.",
                "Search for one line of it, or ask the user to install ripgrep.",
            )
        try:
            translation = translate(self._job.pattern)
        except PatternError as error:
            raise bad_pattern(str(error)) from None
        except NeedsRipgrep as feature:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"'pattern' uses {feature}, which needs ripgrep, and ripgrep is not available.",
                "Write the pattern without it, or ask the user to install ripgrep.",
            ) from None
        return python_workers.search(translation, self._files.expressions, self._query, self._found, self._bounds)

    def _fill(self, outcome: GrepOutcome, stream_end: StreamEnd) -> None:
        start, found = self._start, self._found
        outcome.matches, outcome.clipped = found.first(self._job.before, self._job.after, start.prefix)
        if self._job.by_file:
            outcome.by_file = found.first_files(start.prefix)
            if start.file is not None:
                outcome.by_file = [(start.path, count) for _, count in outcome.by_file]
        outcome.total, outcome.files, outcome.complete = found.total, found.files, stream_end.complete
        outcome.skipped = sorted((start.prefix + path, reason) for path, reason in found.skipped.items())
        outcome.total_skipped = found.total_skipped
        if start.file is not None:
            outcome.file = start.file.stat
            for match in outcome.matches:
                match["file"] = start.path
            outcome.skipped = [(start.path, reason) for _, reason in outcome.skipped]
        if stream_end.failed and outcome.fallback and not outcome.total and not outcome.skipped:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                "The search ended unexpectedly.",
                "Try again; if it stays so, simplify the pattern or narrow 'path'.",
            )
