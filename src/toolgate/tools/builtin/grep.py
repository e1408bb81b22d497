"""`grep`: the lines that match a regular expression."""

import time
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.search_text import ignored_note, left_out_note, named
from toolgate.tools.secrets import allowed_secrets, reveals_plan
from toolgate.tools.text import load_text
from toolgate.workspace import in_thread
from toolgate.workspace.oserrors import quote

SECONDS = 8.0
"""How long one search may take."""
MAX_SKIPPED = 100
"""Maximum number of files that `skipped` lists."""


class GrepParams(BaseModel):
    """Arguments of `grep`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    pattern: str = Field(
        min_length=1,
        max_length=10_000,
        description="Regular expression, matched against each line by itself (ripgrep's dialect: no look-around, "
        "no backreferences).",
    )
    path: str = Field(default=".", description="Directory to search below, or one file.")
    include: str | None = Field(
        default=None,
        max_length=4096,
        description="Only files that match this glob: '*.py' by name, 'src/**/*.ts' by path relative to 'path'; "
        "with '!' in front, all others.",
    )
    file_type: str | None = Field(
        default=None, max_length=100, description="Only files of this type, such as py, ts, rust, md."
    )
    case_sensitive: bool = Field(default=True, description="False: upper and lower case are the same.")
    before: int = Field(default=0, ge=0, le=100, description="Lines of context before each match.")
    after: int = Field(default=0, ge=0, le=100, description="Lines of context after each match.")
    limit: int = Field(default=100, ge=1, le=100_000, description="Matches to return at the most.")
    include_ignored: bool = Field(default=False, description="Also search files that .gitignore excludes.")
    fixed_string: bool = Field(default=False, description="The pattern is plain text.")
    multiline: bool = Field(default=False, description="The pattern may span lines.")
    output: Literal["lines", "files", "count"] = Field(
        default="lines", description="'files': only their paths; 'count': with the number of matching lines."
    )
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Results to pass over.")


class GrepTool(Tool[GrepParams]):
    """Searches the contents of files, one match per line."""

    name = "grep"
    description = load_text(__file__)
    Params = GrepParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    read_only = True
    idempotent = True

    async def prepare(self, params: GrepParams, context: ToolContext) -> Plan | None:
        """Whether it searches a single file that may hold secrets, so that a person is asked."""
        return None if params.path == "." else reveals_plan(context.for_path(params.path), "Search", params.path)

    async def execute(self, params: GrepParams, context: ToolContext) -> ToolResponse:
        """Search, with ripgrep or without."""
        from toolgate.search.grep_search import GrepJob, run

        context = context.for_path(params.path)
        settings, guard, workspace = context.settings, context.guard, context.require_workspace()
        relative = workspace.relative(params.path)
        asked = quote(params.pattern) + (f" in {quote(relative)}" if relative != "." else "")
        job = GrepJob(
            **params.model_dump(exclude={"limit", "output", "offset"}),
            limit=params.offset + params.limit,
            by_file=params.output != "lines",
            output_dir=settings.tool_output.dir,
            ripgrep=settings.shell.ripgrep,
            deadline=time.monotonic() + SECONDS,
            guard=guard,
        )
        outcome = await in_thread(run, workspace, job)
        if outcome.file is not None:
            guard.require(params.path, outcome.file, allowed_secrets(context))
        outcome.matches, outcome.by_file = outcome.matches[params.offset :], outcome.by_file[params.offset :]
        if not outcome.complete and not outcome.total:
            raise ToolError(
                ErrorCode.TIMEOUT,
                f"Nothing was found within {SECONDS:g} seconds, and the search had not come to its end.",
                "Narrow 'path', 'include' or 'file_type', or simplify the pattern.",
            )
        from toolgate.workspace.file_guard import SECRET

        shown, total = _counts(params, outcome)
        truncated = params.offset + shown < total or outcome.clipped > 0 or not outcome.complete
        failed = any(reason not in ("binary", SECRET) for _, reason in outcome.skipped)
        build = ToolResponse.partial if truncated or outcome.fallback or failed else ToolResponse.success
        return build(
            _data(params, outcome, truncated=truncated),
            _text(asked, params, outcome),
            stats={
                "total_matches": outcome.total,
                "total_files": outcome.files,
                "total_skipped": outcome.total_skipped,
            },
            context={"path_resolved": relative},
        )

    def render(self, response: ToolResponse) -> str:
        """`file:line:text`, as grep writes it; lines of context have `-` in place of `:`."""
        lines = [response.text]
        for match in response.data.get("matches", ()):
            lines += _rendered(match)
        lines += response.data.get("files", ())
        lines += [f"{found['file']}:{found['matches']}" for found in response.data.get("counts", ())]
        return "\n".join(lines)


def _rendered(match: dict[str, Any]) -> list[str]:
    file, line = match["file"], match["line"]
    before, after = match.get("before", ()), match.get("after", ())
    return [
        *(f"{file}-{line - len(before) + index}-{text}" for index, text in enumerate(before)),
        f"{file}:{line}:{match['text']}",
        *(f"{file}-{line + 1 + index}-{text}" for index, text in enumerate(after)),
        *(("--",) if before or after else ()),
    ]


def _data(params: GrepParams, outcome: Any, *, truncated: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "matches": outcome.matches,
        "truncated": truncated,
        "skipped": [{"path": path, "reason": reason} for path, reason in outcome.skipped[:MAX_SKIPPED]],
    }
    if params.output == "files":
        data["files"] = [path for path, _ in outcome.by_file]
    elif params.output == "count":
        data["counts"] = [{"file": path, "matches": count} for path, count in outcome.by_file]
    if outcome.fallback:
        data["fallback"] = "python"
    return data


def _counts(params: GrepParams, outcome: Any) -> tuple[int, int]:
    """How many results are shown, and how many there are."""
    if params.output == "lines":
        return len(outcome.matches), outcome.total
    return len(outcome.by_file), outcome.files


def _text(asked: str, params: GrepParams, outcome: Any) -> str:
    """What was found, what was left out, and what to do next."""
    shown, results = _counts(params, outcome)
    more = params.offset + shown < results
    parts = [_headline(asked, params, outcome, shown, more=more)]
    if not outcome.complete:
        parts.append("The search was stopped before its end: it took too long or found too much.")
    if outcome.clipped:
        parts.append(
            f"{_count(outcome.clipped, 'match has', 'matches have')} a line that was too long and was clipped."
        )
    if outcome.fallback:
        parts.append(f"{outcome.fallback} A slower search in Python was used instead.")
    parts += _encodings(outcome)
    if params.multiline and not outcome.total and "." in params.pattern and "(?s" not in params.pattern:
        parts.append("Here '.' matches no line end; begin the pattern with '(?s)' if it should.")
    parts += _skipped(outcome)
    if outcome.ignores:
        parts.append(ignored_note("searched", outcome.ignored))
    if more or not outcome.complete:
        onward = f" (offset={params.offset + shown} goes on)" if more else ""
        parts.append(f"Narrow 'path', 'include' or the pattern, or pass a larger 'limit'{onward}.")
    elif outcome.clipped:
        parts.append("Read the file around the line with 'read_file' to see more of it.")
    elif outcome.fallback:
        parts.append("The results are the same; for speed, ask the user to install ripgrep.")
    return " ".join(parts)


def _headline(asked: str, params: GrepParams, outcome: Any, shown: int, *, more: bool) -> str:
    least = "" if outcome.complete else "at least "
    found = f"Found {least}{_count(outcome.total, 'match', 'matches')} for {asked}"
    if outcome.total:
        found += f" in {_count(outcome.files, 'file', 'files')}"
    what = "" if params.output == "lines" else " files"
    if params.offset:
        return f"{found}, showing {shown}{what} from offset {params.offset}."
    return f"{found}, showing the first {shown}{what}." if more else f"{found}."


def _encodings(outcome: Any) -> list[str]:
    """What is to be said about files that are not UTF-8."""
    notes = []
    if outcome.decoded:
        encodings = ", ".join(sorted(set(outcome.decoded.values())))
        notes.append(
            f"Not UTF-8, and searched as what they probably are ({encodings}): {named(list(outcome.decoded))}."
        )
    elif outcome.legacy_encoding:
        notes.append(
            f"The file is not UTF-8 (probably {outcome.legacy_encoding}): only its ASCII characters are searched, "
            "so a pattern with others, or with '.' in their place, finds nothing; 'read_file' shows its text."
        )
    if outcome.not_decoded:
        files = _count(outcome.not_decoded, "further file is", "further files are")
        notes.append(
            f"{files} not UTF-8 and not searched for this pattern: narrow 'path' or 'include', or use a command."
        )
    return notes


def _skipped(outcome: Any) -> list[str]:
    """What is to be said about files that were not searched."""
    from toolgate.workspace.file_guard import SECRET

    binary = [path for path, reason in outcome.skipped if reason == "binary"]
    secret = [path for path, reason in outcome.skipped if reason == SECRET]
    others = [path for path, reason in outcome.skipped if reason not in ("binary", SECRET)]
    notes = [left_out_note(outcome.denied).strip()] if outcome.denied else []
    if secret:
        notes.append(f"Left out because they may hold secrets: {named(secret)}. To search one, name it as 'path'.")
    if binary:
        notes.append(f"Not searched because binary: {named(binary)}.")
    if others:
        notes.append(f"Could not be searched (see 'skipped'): {named(others)}. Check their permissions.")
    return notes


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
