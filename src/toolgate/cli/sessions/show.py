"""Prints a session for a person: messages, calls, and how each call ended."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TextIO

from toolgate.cli.chat.tool_card import duration
from toolgate.cli.style import Style
from toolgate.cli.visible import excerpt, visible

if TYPE_CHECKING:
    from toolgate.sessions import CallRow, Event
    from toolgate.sessions.record import SessionRecord

_LINES = 12
_WIDTH = 300
_MARKS = {"success": ("✓", "green"), "partial": ("✓", "yellow"), "error": ("✗", "red")}
_STATES = {"done": "green", "failed": "red", "cancelled": "yellow", "interrupted": "yellow", "running": "cyan"}


def show(record: SessionRecord, out: TextIO, *, full: bool = False) -> None:
    """Print a session."""
    SessionPrinter(record, out, full=full).read()


class SessionPrinter:
    """Goes through the log of a session and prints it."""

    def __init__(self, record: SessionRecord, out: TextIO, *, full: bool) -> None:
        self._record = record
        self._write = out.write
        self._paint = Style(out)
        self._full = full
        self._ended: dict[tuple[str, str], dict[str, Any]] = {}
        """Results of calls by turn and id; the message with the output follows later."""
        self._calls: dict[tuple[str, str], list[CallRow]] = defaultdict(list)
        for call in record.calls:
            self._calls[call.turn_id, call.call_id].append(call)

    def read(self) -> None:
        """Print the whole session."""
        session = self._record.session
        used = [
            sum(getattr(turn.usage, name) for turn in self._record.turns) for name in ("input_tokens", "output_tokens")
        ]
        facts = [session.mode.value, session.project, f"{used[0]:,} tokens in, {used[1]:,} out"]
        self._line(self._paint(f"Session {session.id}", "bold"))
        self._line(self._paint(" · ".join(visible(fact, keep="") for fact in facts if fact), "dim"))
        readers = {
            "turn_started": self._turn,
            "call_finished": self._finished,
            "message": self._message,
            "approval_resolved": self._approval,
            "compacted": self._compacted,
            "rewound": self._rewound,
        }
        for event in self._record.conversation:
            if reader := readers.get(event.kind):
                reader(event)

    def _turn(self, event: Event) -> None:
        number, turn = next(
            (number, turn) for number, turn in enumerate(self._record.turns, 1) if turn.id == event.turn_id
        )
        when = datetime.datetime.fromtimestamp(turn.started_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        took = f" · {turn.finished_at - turn.started_at:.1f} s" if turn.finished_at else ""
        state = self._paint(turn.status, _STATES[turn.status])
        self._line("\n" + self._paint(f"── turn {number} · {when}{took} · ", "dim") + state)
        if turn.error:
            self._line(self._paint(visible(turn.error), "red"))

    def _message(self, event: Event) -> None:
        said = event.payload
        if said["role"] == "tool":
            self._answer(event.turn_id or "", said)
            return
        if said["content"].strip():
            who = self._paint({"user": "you", "assistant": "agent"}.get(said["role"], said["role"]), "bold", "cyan")
            self._line(f"\n{who}\n{self._shown(said['content'], lines=None)}")
        for call in said.get("tool_calls", ()):
            arguments = call["arguments"] if self._full else _clipped(call["arguments"])
            self._line(f"{self._paint('→', 'cyan')} {visible(call['name'], keep='')} {visible(arguments, keep='')}")

    def _finished(self, event: Event) -> None:
        self._ended[event.turn_id or "", str(event.payload.get("call_id"))] = event.payload

    def _answer(self, turn_id: str, said: dict[str, Any]) -> None:
        waiting = self._calls[turn_id, said["tool_call_id"]]
        call = waiting.pop(0) if waiting else None
        mark, colour = _MARKS.get(call.status or "" if call else "", ("?", "yellow"))
        how = [call.tool_name, call.code or call.status or call.state] if call else ["answer"]
        how += _details(self._ended.pop((turn_id, said["tool_call_id"]), {}))
        if call is not None and call.state == "unknown":
            why = "it could not be stopped" if call.status else "it had started when the program ended"
            how = [call.tool_name, f"uncertain: {why}; it is unknown how far it got"]
        self._line(
            f"{self._paint(mark, colour)} {self._paint(' · '.join(visible(word, keep='') for word in how), 'dim')}"
        )
        body = self._shown(said["content"], lines=_LINES)
        if body.strip():
            self._line("".join(f"  │ {line}\n" for line in body.split("\n")).rstrip("\n"))

    def _approval(self, event: Event) -> None:
        asked = next((row for row in self._record.approvals if row.id == event.payload.get("id")), None)
        if asked is None:
            return
        said = f" ({visible(asked.message, keep='')})" if asked.message else ""
        colour = "green" if asked.state == "allowed" else "yellow"
        self._line(
            f"{self._paint('?', colour)} {visible(asked.summary, keep='')}: {self._paint(asked.state, colour)}{said}"
        )

    def _compacted(self, event: Event) -> None:
        before, after = event.payload.get("before_tokens", 0), event.payload.get("after_tokens", 0)
        self._line(self._paint(f"· older steps were left out: {before:,} → {after:,} tokens", "dim"))

    def _rewound(self, _event: Event) -> None:
        self._line(self._paint("· went back to here; what followed has left the conversation", "dim"))

    def _shown(self, text: str, *, lines: int | None) -> str:
        shown = visible(text.rstrip("\n"))
        if self._full or lines is None:
            return shown
        return excerpt(shown, lines=lines, width=_WIDTH)[0]

    def _line(self, text: str) -> None:
        self._write(text + "\n")


def _details(ended: dict[str, Any]) -> list[str]:
    """Return the exit code and the duration, if they are known."""
    data, stats = ended.get("data"), ended.get("stats")
    code = data.get("exit_code") if isinstance(data, dict) else None
    took = stats.get("time_ms") if isinstance(stats, dict) else None
    return [
        *([f"exit {code}"] if isinstance(code, int) else []),
        *([duration(took / 1000)] if isinstance(took, int | float) else []),
    ]


def _clipped(arguments: str) -> str:
    """Return the arguments on one line, with long values cut."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = arguments
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text)} characters)"
