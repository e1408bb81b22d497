"""Draws tool calls: the tool, its main argument, how it ended, its duration, and its first lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.pictures import draw_picture
from toolgate.cli.style import diff_colour
from toolgate.cli.visible import prose, visible, without_escapes
from toolgate.language.translate import translate
from toolgate.protocol.content import described
from toolgate.protocol.jsontext import encode

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas, Piece
    from toolgate.protocol.calls import ToolDenied, ToolResult
    from toolgate.protocol.content import ImageContent

_MAIN_ARGUMENTS = ("command", "pattern", "path", "query", "url", "question", "prompt", "content", "timezone")
"""Arguments that describe a call best, in order of preference."""
_BODY_LINES = 5
_DIFF_LINES = 16
_LIVE_LINES = 6
_BACKGROUND_LINES = 3
_MAX_LIVE_OUTPUT = 16 * 1024
_MAX_LINE = 400
_DENIED = frozenset({"APPROVAL_DENIED", "MODE_DENIED"})
TASK_TOOL = "task"


def describe_call(arguments: dict[str, Any] | str) -> str:
    """Describe a call in one line."""
    if isinstance(arguments, str):
        return _one_line(arguments)
    if "agent" in arguments and "prompt" in arguments:
        return _one_line(f"{arguments['agent']}: {arguments.get('description') or arguments['prompt']}")
    if arguments.keys() <= {"id", "prompt", "background"} and isinstance(arguments.get("id"), str):
        return _one_line(f"{arguments.get('prompt') or 'state of'} (task {arguments['id']})")
    if isinstance(arguments.get("items"), list):
        return translate("{count} items", count=len(arguments["items"]))
    first = next((key for key in _MAIN_ARGUMENTS if isinstance(arguments.get(key), str)), None)
    if first is None:
        return _one_line(" ".join(f"{key}={_plain(value)}" for key, value in arguments.items()))
    where = f" in {arguments['path']}" if first == "pattern" and arguments.get("path") else ""
    return _one_line(f"{arguments[first]}{where}")


def readable(result: ToolResult) -> str:
    """Return what the model reads, with the data of a tool that is written as JSON as one line per field."""
    response = result.response
    if not response.data or result.output != f"{response.text}\n{encode(response.data)}":
        return result.output
    return "\n".join([response.text, *(f"{key}: {_plain(value)}" for key, value in response.data.items())])


def _plain(value: Any) -> str:
    """Return a value in words: nested ones in short."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    return "none" if value is None else str(value)


def _one_line(text: str) -> str:
    text = visible(text[: 4 * _MAX_LINE].strip().replace("\n", " ⏎ "), keep="")
    return text if len(text) <= _MAX_LINE else text[:_MAX_LINE] + "…"


def duration(seconds: float) -> str:
    """Format a duration."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return translate("{seconds} min {seconds2} s", seconds=f"{seconds // 60:.0f}", seconds2=f"{seconds % 60:.0f}")


@dataclass(slots=True, kw_only=True)
class ToolCard:
    """One call, from its request on."""

    number: int
    """The number for `/show`."""
    name: str
    arguments: dict[str, Any] | str
    began: float
    """Start time on the monotonic clock."""
    printed: str = ""
    """The end of the live output."""
    result: ToolResult | None = None
    denied: ToolDenied | None = None
    asked: bool = False
    """Whether a person was asked about it."""
    paused: float = 0.0
    """Seconds that the person took to answer."""
    advice: str = ""
    """What the person can do about a denial; empty if only the model is told."""
    pictures: list[ImageContent] = field(default_factory=list)
    """Pictures of the result as the terminal takes them; empty if it takes none."""
    body: int = field(default=_BODY_LINES)
    """Lines of output that are shown."""
    subject: str = ""
    """What the call is about, if its arguments do not say it."""

    @property
    def about(self) -> str:
        """What the call is about, in one line."""
        return self.subject or describe_call(self.arguments)

    def print(self, text: str) -> None:
        """Add live output."""
        self.printed = (self.printed + text)[-_MAX_LIVE_OUTPUT:]

    def live(self, canvas: Canvas, spinner: str, now: float) -> list[str]:
        """Draw a running call: its duration and last lines."""
        took = duration(max(0.0, now - self.began - self.paused))
        return [
            self._live_head(canvas, spinner),
            *canvas.cut(self._latest()[-_LIVE_LINES:], "dim", "  │ "),
            canvas.line((translate("  {took} · Ctrl-C cancels", took=took), "dim")),
        ]

    def live_in_background(self, canvas: Canvas, spinner: str) -> list[str]:
        """Draw what goes on after the call: its last lines."""
        return [
            self._live_head(canvas, spinner),
            *canvas.cut(self._latest()[-_BACKGROUND_LINES:], "dim", "  │ "),
        ]

    def _live_head(self, canvas: Canvas, spinner: str) -> str:
        return canvas.line((spinner, "cyan"), " ", (visible(self.name, keep=""), "bold"), " ", self.about)

    def _latest(self) -> list[str]:
        """Return the last lines of the live output."""
        return apply_overwrites(self.printed).rstrip("\n").split("\n") if self.printed else []

    def lines(self, canvas: Canvas) -> list[str]:
        """Draw a finished call."""
        if self.denied is not None:
            return self._denied(canvas)
        assert self.result is not None
        mark, colour, how = self._summary()
        about = f" {self.about}" if self.about else ""
        head: list[Piece] = [(mark, colour), " ", (visible(self.name, keep=""), "bold"), about]
        from rich.cells import cell_len

        tail = f"  {how} · #{self.number}"
        fitting = clip(head, canvas.columns - 1 - cell_len(tail))
        return [canvas.line(*fitting, (tail, "dim")), *self._body(canvas)]

    def _summary(self) -> tuple[str, str, str]:
        """Return the glyph, the colour, and how the call ended."""
        assert self.result is not None
        response = self.result.response
        took = duration(float(response.stats.get("time_ms", 0)) / 1000)
        data, error = response.data, response.error
        if error is not None:
            if error.code.value == "CANCELLED":
                return "◌", "yellow", translate("cancelled · {took}", took=took)
            mark = "⊘" if error.code.value in _DENIED else "✗"
            return mark, "yellow" if mark == "⊘" else "red", f"{error.code.value} · {took}"
        if data.get("timed_out"):
            return "✗", "yellow", translate("timed out · {took}", took=took)
        if "job_id" in data:
            job = visible(str(data["job_id"]), keep="")
            return "✓", "green", translate("{data} in the background · {took}", data=job, took=took)
        if self.name == TASK_TOOL and data.get("running") is True:
            return "✓", "green", translate("in the background")
        code = data.get("exit_code")
        how = [*([translate("exit {code}", code=visible(str(code), keep=""))] if code is not None else []), took]
        good = code in (0, None)
        return ("✓", "green", " · ".join(how)) if good else ("✗", "yellow", " · ".join(how))

    def _body(self, canvas: Canvas) -> list[str]:
        assert self.result is not None
        error = self.result.response.error
        if self.asked and error is not None and error.code.value in _DENIED:
            return []  # the answer is below the approval request
        if error is not None and error.code.value == "CANCELLED" and self.printed:
            return canvas.cut(self._latest()[-_LIVE_LINES:], "dim", "  │ ")  # the head has the rest
        if error is not None:
            colour = "yellow" if error.code.value in _DENIED else "red"
            return canvas.lines(_indented(prose(self.result.message), colour))[:_BODY_LINES]
        diff = self.result.response.data.get("diff")
        if isinstance(diff, str) and (diff.strip() or self.asked):
            change = [] if self.asked else visible(diff).rstrip("\n").split("\n")  # the request has shown it
            return [*self._cut(canvas, change, _DIFF_LINES, diff=True), *self._problems(canvas)]
        return [
            *self._cut(canvas, self._output(), self.body, last="exit_code" in self.result.response.data),
            *self._shown(canvas),
        ]

    def _problems(self, canvas: Canvas) -> list[str]:
        """Draw the problems that checkers found after the change."""
        from toolgate.runtime.policy.builtin import WRITERS

        assert self.result is not None
        found = self.result.response.data.get("diagnostics")
        if self.name not in WRITERS or not isinstance(found, list):
            return []
        lines = [f"{each['path']}:{each['line']}: {each['message']} ({each['checker']})" for each in found]
        return [canvas.line(("  ! ", "yellow"), visible(line, keep="")) for line in lines]

    def _shown(self, canvas: Canvas) -> list[str]:
        """Draw the pictures of the result: their names, and themselves where the terminal can."""
        assert self.result is not None
        names = [f"▣ {visible(described([image]), keep='')}" for image in self.result.content]
        shown = [line for image in self.pictures for line in draw_picture(canvas, image)]
        return [*canvas.cut(names, "dim", "  │ "), *shown]

    def _output(self) -> list[str]:
        """Return everything that the model reads, made safe to show."""
        assert self.result is not None
        data = self.result.response.data
        if data.get("exit_code") == 0 and data.get("stdout") == data.get("stderr") == "":
            return []  # the head already says everything
        if self.name == TASK_TOOL and "task_id" in data:  # the sentence around the answer is for the model
            return visible(str(data.get("result", ""))).strip().split("\n") if data.get("result") else []
        if self.result.is_error and self.printed:
            return [*self._latest(), *apply_overwrites(self.result.output).rstrip("\n").split("\n")]
        text = apply_overwrites(readable(self.result)).rstrip("\n")
        return text.split("\n") if text.strip() else []

    def _cut(
        self, canvas: Canvas, lines: list[str], limit: int, *, diff: bool = False, last: bool = False
    ) -> list[str]:
        """Draw the first lines, or the last ones: those of a command say how it ended."""
        more = len(lines) - limit
        kept = lines
        if more > 1:  # a note instead of one line would save nothing
            kept = lines[-limit:] if last else lines[:limit]
        shown = [canvas.line("  │ ", (line.expandtabs(8), diff_colour(line) if diff else "dim")) for line in kept]
        if more > 1:
            note = (
                translate("… {more} earlier lines · /show {number}", more=more, number=self.number)
                if last
                else translate("… {more} more lines · /show {number}", more=more, number=self.number)
            )
            words = f"  │ {note}"
            shown.insert(0 if last else len(shown), canvas.line((words, "dim italic")))
        return shown

    def _denied(self, canvas: Canvas) -> list[str]:
        assert self.denied is not None
        head = canvas.line(("⊘", "yellow"), " ", (visible(self.name, keep=""), "bold"), " ", self.about)
        words = f"{self.denied.message} {self.advice or self.denied.next_action}"
        return [head, *canvas.lines(_indented(prose(words), "yellow"))]

    def whole(self, canvas: Canvas) -> list[str]:
        """Draw the call with its arguments and its complete output."""
        given = self.arguments
        text = given if isinstance(given, str) else "\n".join(f"{key}: {_plain(value)}" for key, value in given.items())
        command = given.get("command") if isinstance(given, dict) and len(given) == 1 else None
        shown = command if isinstance(command, str) else text
        head = canvas.line((f"#{self.number} ", "dim"), (visible(self.name, keep=""), "bold"))
        lines = [head, *canvas.lines(_indented(visible(shown), "cyan"), wide=True)]
        if self.denied is not None:
            return [*lines, *self._denied(canvas)[1:]]
        if self.result is None:
            return [*lines, canvas.line((translate("  it has not finished"), "dim"))]
        mark, colour, how = self._summary()
        output = "\n".join(self._output()) or translate("(no output)")
        return [
            *lines,
            canvas.line((mark, colour), " ", (how, "dim")),
            *canvas.lines(_indented(output, ""), wide=True),
            *self._shown(canvas),
        ]


def apply_overwrites(text: str) -> str:
    """Return output as a terminal would leave it: without colours, and with overwritten lines replaced."""
    text = without_escapes(text)
    if "\r" in text:
        rows = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(row.rstrip("\r").rpartition("\r")[2] for row in rows)
    return visible(text)


def _indented(text: str, style: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text.expandtabs(8), style=style), (0, 0, 0, 2))


def clip(pieces: list[Piece], room: int) -> list[Piece]:
    """Cut the last piece so that all of them fit into `room` columns."""
    from rich.cells import cell_len, set_cell_size

    texts = [piece if isinstance(piece, str) else piece[0] for piece in pieces]
    rest = room - sum(map(cell_len, texts[:-1]))
    if cell_len(texts[-1]) <= rest:
        return pieces
    return [*pieces[:-1], set_cell_size(texts[-1], max(rest - 1, 1)).rstrip() + "…"]
