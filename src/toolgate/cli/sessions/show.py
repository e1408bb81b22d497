"""Prints a session for a person: messages, calls, and how each call ended."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TextIO

from toolgate.cli.chat.tool_card import duration
from toolgate.cli.sessions.listing import STATES
from toolgate.cli.style import Style
from toolgate.cli.visible import excerpt, visible
from toolgate.language.translate import phrase, translatable, translate

if TYPE_CHECKING:
    from toolgate.sessions import CallRow, Event
    from toolgate.sessions.record import SessionRecord

_LINES = 12
_WIDTH = 300
_MARKS = {"success": ("✓", "green"), "partial": ("✓", "yellow"), "error": ("✗", "red")}
_COLOURS = {"done": "green", "failed": "red", "cancelled": "yellow", "interrupted": "yellow", "running": "cyan"}
_ANSWERS = {
    "pending": translatable("waiting"),
    "allowed": translatable("allowed"),
    "denied": translatable("denied"),
    "withdrawn": translatable("withdrawn"),
}


def show(record: SessionRecord, out: TextIO, *, full: bool = False) -> None:
    """Print a session."""
    SessionPrinter(record, out, full=full).print()


class SessionPrinter:
    """Prints the conversation of a session from its log."""

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

    def print(self) -> None:
        """Print the whole session."""
        session = self._record.session
        used = [
            sum(getattr(turn.usage, name) for turn in self._record.turns) for name in ("input_tokens", "output_tokens")
        ]
        tokens = translate(
            "{input_tokens} tokens in, {output_tokens} out", input_tokens=f"{used[0]:,}", output_tokens=f"{used[1]:,}"
        )
        facts = [session.mode.value, session.project, tokens]
        self._line(self._paint(translate("Session {id}", id=session.id), "bold"))
        self._line(self._paint(" · ".join(visible(fact, keep="") for fact in facts if fact), "dim"))
        printers = {
            "turn_started": self._turn,
            "call_finished": self._finished,
            "message": self._message,
            "approval_resolved": self._approval,
            "compacted": self._compacted,
            "rewound": self._rewound,
        }
        for event in self._record.conversation:
            if printer := printers.get(event.kind):
                printer(event)

    def _turn(self, event: Event) -> None:
        number, turn = next(
            (number, turn) for number, turn in enumerate(self._record.turns, 1) if turn.id == event.turn_id
        )
        when = datetime.datetime.fromtimestamp(turn.started_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        took = f" · {turn.finished_at - turn.started_at:.1f} s" if turn.finished_at else ""
        state = self._paint(translate(STATES[turn.status]), _COLOURS[turn.status])
        self._line(
            "\n" + self._paint(f"── {translate('turn {number}', number=number)} · {when}{took} · ", "dim") + state
        )
        if turn.error:
            self._line(self._paint(visible(turn.error), "red"))

    def _message(self, event: Event) -> None:
        message = event.payload
        if message["role"] == "tool":
            self._answer(event.turn_id or "", message)
            return
        if message["content"].strip():
            names = {"user": translate("you"), "assistant": translate("agent")}
            who = self._paint(names.get(message["role"], message["role"]), "bold", "cyan")
            self._line(f"\n{who}\n{self._shown(message['content'], lines=None)}")
        for call in message.get("tool_calls", ()):
            arguments = call["arguments"] if self._full else _clipped(call["arguments"])
            self._line(f"{self._paint('→', 'cyan')} {visible(call['name'], keep='')} {visible(arguments, keep='')}")

    def _finished(self, event: Event) -> None:
        self._ended[event.turn_id or "", str(event.payload.get("call_id"))] = event.payload

    def _answer(self, turn_id: str, message: dict[str, Any]) -> None:
        waiting = self._calls[turn_id, message["tool_call_id"]]
        call = waiting.pop(0) if waiting else None
        status, outcome = "", [translate("answer")]
        if call is not None:
            status, outcome = call.status or "", [call.tool_name, call.code or call.status or call.state]
        mark, colour = _MARKS.get(status, ("?", "yellow"))
        outcome += _details(self._ended.pop((turn_id, message["tool_call_id"]), {}))
        if call is not None and call.state == "unknown":
            why = (
                translate("uncertain: it could not be stopped; it is unknown how far it got")
                if call.status
                else translate("uncertain: it had started when the program ended; it is unknown how far it got")
            )
            outcome = [call.tool_name, why]
        self._line(
            f"{self._paint(mark, colour)} {self._paint(' · '.join(visible(word, keep='') for word in outcome), 'dim')}"
        )
        body = self._shown(message["content"], lines=_LINES)
        if body.strip():
            self._line("".join(f"  │ {line}\n" for line in body.split("\n")).rstrip("\n"))

    def _approval(self, event: Event) -> None:
        asked = next((row for row in self._record.approvals if row.id == event.payload.get("id")), None)
        if asked is None:
            return
        said = f" ({visible(asked.message, keep='')})" if asked.message else ""
        colour = "green" if asked.state == "allowed" else "yellow"
        state = self._paint(translate(_ANSWERS[asked.state]), colour)
        self._line(f"{self._paint('?', colour)} {visible(phrase(asked.summary), keep='')}: {state}{said}")

    def _compacted(self, event: Event) -> None:
        before, after = event.payload.get("before_tokens", 0), event.payload.get("after_tokens", 0)
        sizes = translate(
            "{before_tokens} → {after_tokens} tokens", before_tokens=f"{before:,}", after_tokens=f"{after:,}"
        )
        self._line(self._paint(translate("· older steps were left out: {sizes}", sizes=sizes), "dim"))

    def _rewound(self, _event: Event) -> None:
        self._line(self._paint(translate("· went back to here; what followed has left the conversation"), "dim"))

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
        *([translate("exit {code}", code=code)] if isinstance(code, int) else []),
        *([duration(took / 1000)] if isinstance(took, int | float) else []),
    ]


def _clipped(arguments: str) -> str:
    """Return the arguments on one line, with long values cut."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = arguments
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _WIDTH:
        return text
    return translate("{text}… ({count} characters)", text=text[:_WIDTH], count=len(text))
