"""The screen of `toolgate sh`: live output, progress, and one line about how a command ended."""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from toolgate.cli.style import Style, width
from toolgate.cli.visible import visible, without_escapes
from toolgate.language.translate import translatable, translate

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolResult
    from toolgate.protocol.record import CallRecord
    from toolgate.tools.context import ToolContext

_PROGRESS_DELAY = 1.0
"""Seconds after which the progress of a command is shown."""
_MAX_LIVE = 64 * 1024
"""Maximum characters of live output per command; after that, only the end is shown."""
_END_LINES = 15
_MAX_END = 8 * 1024
_OVERWRITE = re.compile(r"\r(?=[^\r\n])")


class OutputStreams:
    """Two streams, and whether they are a terminal."""

    def __init__(self, out: TextIO, err: TextIO, *, json: bool = False) -> None:
        self._out, self._err = out, err
        self._json = json
        self._paint = Style(err)
        self.live = out.isatty() and err.isatty() and not json
        """Whether output is shown live; into a pipe it is written after the command has ended."""
        self._shown = 0
        self._end = ""
        self._open_line = False
        self._progress = ""
        self._paused = False
        self._ticker: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        """Print a message of `toolgate sh` itself."""
        self._err.write(text)
        self._err.flush()

    def envelope(self, result: "ToolResult") -> str:
        """Format the envelope for a person."""
        return visible(json.dumps(result.response.to_dict(), ensure_ascii=False, indent=2)) + "\n"

    def begin(self) -> None:
        """Start the progress of a command."""
        self._shown, self._open_line, self._end = 0, False, ""
        if self.live:
            self._ticker = asyncio.get_running_loop().create_task(self._tick(time.monotonic()))

    async def end(self) -> None:
        """End the progress of a command."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.cancel()
            await asyncio.wait([ticker])
        self._erase_progress()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the progress while a person is asked."""
        self._erase_progress()
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def print_live(self, _stream: str, text: str) -> None:
        """Print live output, made safe: it can only overwrite its own line."""
        text = without_escapes(text)
        if self._shown > _MAX_LIVE:
            self._end = (self._end + text)[-_MAX_END:]
            return
        self._shown += len(text)
        text = _OVERWRITE.sub("\r\x1b[K", visible(text, keep="\n\t\r"))
        self._erase_progress()
        self._out.write(text)
        self._open_line = not text.endswith("\n")
        if self._shown > _MAX_LIVE:
            self._finish_line()
            self._out.write(
                self._paint(translate("⟨long output: its end is shown when the command is done⟩"), "dim") + "\n"
            )
        self._out.flush()

    def show(self, result: "ToolResult", decision: "CallRecord | None", *, asked: bool) -> None:
        """Print the rest of the output, and how the command ended."""
        if self._json:
            self._out.write(result.response.to_json() + "\n")
            self._out.flush()
            return
        self._finish_line()
        self._show_rest(result)
        self._out.flush()
        response = result.response
        denied = response.error is not None and response.error.code.value == "APPROVAL_DENIED"
        said = response.text if denied else response.text.partition("\n")[0]  # a denial ends with the rule to add
        if response.status.value != "success" and said not in response.data.get("stderr", ""):
            self.say(self._paint(visible(said), "dim") + "\n")
        if self.live:
            self.say(self._summary(result, decision, asked=asked) + "\n")

    def _show_rest(self, result: "ToolResult") -> None:
        data = result.response.data
        if not self._shown:
            whole = data.get("preview", data.get("stdout", ""))
            for stream, text in ((self._out, whole), (self._err, data.get("stderr", ""))):
                shown = visible(text) if stream.isatty() else text
                stream.write(shown if not shown or shown.endswith("\n") else shown + "\n")
        elif self._end:
            lines = visible(self._end).rstrip("\n").split("\n")[-_END_LINES:]
            self._out.write("\n".join(lines) + "\n")

    def _summary(self, result: "ToolResult", decision: "CallRecord | None", *, asked: bool) -> str:
        response = result.response
        data = response.data
        good = response.error is None and data.get("exit_code") in (0, None) and not data.get("timed_out")
        if response.error is not None:
            how = response.error.code.value
        elif data.get("timed_out"):
            how = translate("timed out")
        elif "job_id" in data:
            how = data["job_id"]
        else:
            how = translate("exit {code}", code=data.get("exit_code"))
        seconds = float(response.stats["time_ms"]) / 1000
        parts = [how, _duration(seconds), *_describe_decision(decision, asked=asked)]
        sign, colour = "✗", "red" if response.error else "yellow"
        if good:
            sign, colour = "✓", "green"
        mark = self._paint(sign, colour)
        return f"{mark} {self._paint(' · '.join(parts), 'dim')}"

    def _finish_line(self) -> None:
        if self._open_line:
            self._out.write(self._paint("⏎", "dim") + "\n" if self.live else "\n")
            self._open_line = False

    async def _tick(self, begin: float) -> None:
        await asyncio.sleep(_PROGRESS_DELAY)
        while True:
            if not self._paused:
                self._erase_progress()
                seconds = f"{time.monotonic() - begin:.0f}"
                self._progress = translate("  ⋯ {seconds} s, Ctrl-C cancels", seconds=seconds)
                self._out.write(self._paint(self._progress, "dim"))
                self._out.flush()
            await asyncio.sleep(_PROGRESS_DELAY)

    def _erase_progress(self) -> None:
        if self._progress:
            # The terminal may have echoed ^C after it.
            self._out.write(f"\x1b[{width(self._progress)}D\x1b[K" if self._open_line else "\r\x1b[K")
            self._out.flush()
            self._progress = ""


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _describe_decision(record: "CallRecord | None", *, asked: bool) -> list[str]:
    """Describe which tool ran, and who allowed or denied it."""
    if record is None:
        return []
    payload = record.payload
    routed = [f"→ {visible(record.tool_name, keep='')}"] if record.tool_name != "Bash" else []
    allowed, rule = payload["decision"] == "allow", visible(payload["rule"], keep="")
    if payload["decision"] == "ask":
        return [translate("asked, not answered")]
    if asked:
        return [*routed, translate("allowed by you") if allowed else translate("denied by you")]
    if rule:
        words = translatable("allowed by {rule}") if allowed else translatable("denied by {rule}")
        return [*routed, translate(words, rule=rule)]
    return [*routed, translate("allowed") if allowed else translate("denied by the {gate} gate", gate=payload["gate"])]


def banner(root: Path, mode: str, context: "ToolContext") -> str:
    """Describe the root, the mode and the sandbox."""
    from toolgate.errors import ToolError

    try:
        report = context.shell.sandbox()
        network = "" if report.network else translate(", no network")
        confined = translate("sandbox: {layer}{network}", layer=report.layer, network=network)
    except ToolError as error:
        confined = translate("no sandbox: {message}", message=error.message)
    place = visible(str(root), keep="")
    return translate(
        "The agent's shell in {root} · mode {mode} · {confined} · :help\n", root=place, mode=mode, confined=confined
    )
