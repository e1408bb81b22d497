"""Tool calls as a person reads them: which tool, on what, how it ended, how long it took, and its first lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate.cli.style import diff_colour
from toolgate.cli.visible import prose, visible, without_escapes

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas, Piece
    from toolgate.protocol.calls import ToolDenied, ToolResult

_KEYS = ("command", "pattern", "path", "query", "prompt", "content", "timezone")
"""Arguments that tell what a call is about, the first one that there is."""
_BODY = 5
_DIFF = 16
_LIVE = 6
_KEPT = 16 * 1024
_WIDEST = 400
_DENIED = frozenset({"APPROVAL_DENIED", "MODE_DENIED"})


def telling(arguments: dict[str, Any] | str) -> str:
    """What a call is about, on one line."""
    if isinstance(arguments, str):
        return _one_line(arguments)
    if "agent" in arguments and "prompt" in arguments:
        return _one_line(f"{arguments['agent']}: {arguments.get('description') or arguments['prompt']}")
    if isinstance(arguments.get("items"), list):
        return f"{len(arguments['items'])} items"
    first = next((key for key in _KEYS if isinstance(arguments.get(key), str)), None)
    if first is None:
        return _one_line(json.dumps(arguments, ensure_ascii=False)) if arguments else ""
    where = f" in {arguments['path']}" if first == "pattern" and arguments.get("path") else ""
    return _one_line(f"{arguments[first]}{where}")


def _one_line(text: str) -> str:
    text = visible(text[: 4 * _WIDEST].strip().replace("\n", " ⏎ "), keep="")
    return text if len(text) <= _WIDEST else text[:_WIDEST] + "…"


def duration(seconds: float) -> str:
    """A time in few characters."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


@dataclass(slots=True, kw_only=True)
class Card:
    """One call, from when it is asked for."""

    number: int
    """What `/show` calls it."""
    name: str
    arguments: dict[str, Any] | str
    began: float
    """On the monotonic clock."""
    printed: str = ""
    """The end of what it has printed while it runs."""
    result: ToolResult | None = None
    denied: ToolDenied | None = None
    asked: bool = False
    """Whether a person was asked about it."""
    paused: float = 0.0
    """Seconds in which a person thought about it."""
    body: int = field(default=_BODY)
    """Lines of output that are shown."""

    def print(self, text: str) -> None:
        """Take what a running command has printed."""
        self.printed = (self.printed + text)[-_KEPT:]

    def live(self, canvas: Canvas, spinner: str, now: float) -> list[str]:
        """While it runs: for how long, and the last lines."""
        took = duration(max(0.0, now - self.began - self.paused))
        head = canvas.line((spinner, "cyan"), " ", (visible(self.name, keep=""), "bold"), " ", telling(self.arguments))
        return [
            head,
            *canvas.cut(self._latest()[-_LIVE:], "dim", "  │ "),
            canvas.line((f"  {took} · Ctrl-C cancels", "dim")),
        ]

    def _latest(self) -> list[str]:
        """The last lines that it has printed."""
        return overwritten(self.printed).rstrip("\n").split("\n") if self.printed else []

    def lines(self, canvas: Canvas) -> list[str]:
        """Once it has ended."""
        if self.denied is not None:
            return self._denied(canvas)
        assert self.result is not None
        mark, colour, how = self._ending()
        about = telling(self.arguments)
        head: list[Piece] = [(mark, colour), " ", (visible(self.name, keep=""), "bold"), f" {about}" if about else ""]
        tail = f"  {how} · #{self.number}"
        fitting = clipped(head, canvas.columns - 1 - len(tail))
        return [canvas.line(*fitting, (tail, "dim")), *self._body(canvas)]

    def _ending(self) -> tuple[str, str, str]:
        """Glyph, colour, and how it ended in a few words."""
        assert self.result is not None
        response = self.result.response
        took = duration(max(0.0, float(response.stats.get("time_ms", 0)) / 1000 - self.paused))
        data, error = response.data, response.error
        if error is not None:
            if error.code.value == "CANCELLED":
                return "◌", "yellow", f"cancelled · {took}"
            mark = "⊘" if error.code.value in _DENIED else "✗"
            return mark, "yellow" if mark == "⊘" else "red", f"{error.code.value} · {took}"
        if data.get("timed_out"):
            return "✗", "yellow", f"timed out · {took}"
        if "job_id" in data:
            return "✓", "green", f"{data['job_id']} in the background · {took}"
        code = data.get("exit_code")
        how = [*([f"exit {code}"] if code is not None else []), took]
        good = code in (0, None)
        return ("✓", "green", " · ".join(how)) if good else ("✗", "yellow", " · ".join(how))

    def _body(self, canvas: Canvas) -> list[str]:
        assert self.result is not None
        error = self.result.response.error
        if self.asked and (error.code.value in _DENIED if error is not None else "diff" in self.result.response.data):
            return []  # it was shown with the question, and the answer stands below it
        if error is not None and error.code.value == "CANCELLED" and self.printed:
            return canvas.cut(self._latest()[-_LIVE:], "dim", "  │ ")  # the head says the rest
        if error is not None:
            colour = "yellow" if error.code.value in _DENIED else "red"
            return canvas.lines(_indented(prose(self.result.message), colour))[:_BODY]
        diff = self.result.response.data.get("diff")
        if isinstance(diff, str) and diff.strip():
            return self._cut(canvas, visible(diff).rstrip("\n").split("\n"), _DIFF, diff=True)
        return self._cut(canvas, self._output(), self.body)

    def _output(self) -> list[str]:
        """Everything that the model reads, made safe to show."""
        assert self.result is not None
        data = self.result.response.data
        if data.get("exit_code") == 0 and data.get("stdout") == data.get("stderr") == "":
            return []  # all there is to say is in the head
        if self.result.is_error and self.printed:
            return [*self._latest(), *overwritten(self.result.output).rstrip("\n").split("\n")]
        text = overwritten(self.result.output).rstrip("\n")
        return text.split("\n") if text.strip() else []

    def _cut(self, canvas: Canvas, lines: list[str], most: int, *, diff: bool = False) -> list[str]:
        more = len(lines) - most
        kept = lines if more <= 1 else lines[:most]  # a note in place of a single line would save nothing
        shown = [canvas.line("  │ ", (line.expandtabs(8), diff_colour(line) if diff else "dim")) for line in kept]
        if more > 1:
            shown.append(canvas.line((f"  │ … {more} more lines · /show {self.number}", "dim italic")))
        return shown

    def _denied(self, canvas: Canvas) -> list[str]:
        assert self.denied is not None
        head = canvas.line(("⊘", "yellow"), " ", (visible(self.name, keep=""), "bold"), " ", telling(self.arguments))
        words = f"{self.denied.message} {self.denied.next_action}"
        return [head, *canvas.lines(_indented(prose(words), "yellow"))]

    def whole(self, canvas: Canvas) -> list[str]:
        """Everything about the call: its arguments, and all of its output."""
        given = self.arguments
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
        command = given.get("command") if isinstance(given, dict) and len(given) == 1 else None
        shown = command if isinstance(command, str) else text
        head = canvas.line((f"#{self.number} ", "dim"), (visible(self.name, keep=""), "bold"))
        lines = [head, *canvas.lines(_indented(visible(shown), "cyan"), wide=True)]
        if self.denied is not None:
            return [*lines, *self._denied(canvas)[1:]]
        if self.result is None:
            return [*lines, canvas.line(("  it has not ended", "dim"))]
        mark, colour, how = self._ending()
        output = "\n".join(self._output()) or "(no output)"
        return [*lines, canvas.line((mark, colour), " ", (how, "dim")), *canvas.lines(_indented(output, ""), wide=True)]


def overwritten(text: str) -> str:
    """Output as a terminal would have left it: without colours, and of a line that was written over, the last."""
    text = without_escapes(text)
    if "\r" in text:
        rows = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(row.rstrip("\r").rpartition("\r")[2] for row in rows)
    return visible(text)


def _indented(text: str, style: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text.expandtabs(8), style=style), (0, 0, 0, 2))


def clipped(pieces: list[Piece], room: int) -> list[Piece]:
    """The pieces, the last one cut so that all of them take no more than `room` columns."""
    from rich.cells import cell_len, set_cell_size

    texts = [piece if isinstance(piece, str) else piece[0] for piece in pieces]
    rest = room - sum(map(cell_len, texts[:-1]))
    if cell_len(texts[-1]) <= rest:
        return pieces
    return [*pieces[:-1], set_cell_size(texts[-1], max(rest - 1, 1)).rstrip() + "…"]
