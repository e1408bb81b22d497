"""Prints the table of sessions."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from toolgate.cli.errors import UsageError
from toolgate.cli.sessions.find import short
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import translatable, translate
from toolgate.sessions.record import repaired_turns

if TYPE_CHECKING:
    import argparse

    from toolgate.sessions import Session, SessionManager, Turn

_UNITS = (
    (86_400 * 365, translatable("{count} y")),
    (86_400 * 30, translatable("{count} mo")),
    (86_400, translatable("{count} d")),
    (3600, translatable("{count} h")),
    (60, translatable("{count} min")),
    (1, translatable("{count} s")),
)
STATES = {
    "done": translatable("done"),
    "failed": translatable("failed"),
    "cancelled": translatable("cancelled"),
    "interrupted": translatable("interrupted"),
    "running": translatable("running"),
}
"""How a turn is, in words for people."""
_HEAD = (
    *(translatable("AGE"), translatable("MODE"), translatable("TURNS"), translatable("TOKENS")),
    *(translatable("PROJECT"), translatable("TITLE")),
)
_TITLE = 60


async def print_sessions(sessions: SessionManager, args: argparse.Namespace) -> None:
    """Print the latest sessions."""
    if args.limit < 1:
        raise UsageError(translate("--limit must be 1 or more"))
    found = await sessions.list(project=canonical_project(args.project), children=args.all, limit=args.limit)
    turns = {session.id: await repaired_turns(sessions, session) for session in found}
    if args.json:
        rows = [_object(session, turns[session.id]) for session in found]
        sys.stdout.write(for_terminal(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    elif not found:
        sys.stdout.write(translate("There are no sessions yet. toolgate chat starts one.") + "\n")
    else:
        _print(found, turns)


def canonical_project(project: str | None) -> str | None:
    """Return the project's path as sessions store it."""
    return None if project is None else os.path.realpath(project)


def _print(found: list[Session], turns: dict[str, list[Turn]]) -> None:
    now = time.time()
    head = ["ID", *(translate(word) for word in _HEAD)]
    paint = Style(sys.stdout)
    rows = columns([head, *(_row(session, turns[session.id], now) for session in found)])
    sys.stdout.write(paint("  ".join(rows[0]), "bold") + "\n")
    for session, row in zip(found, rows[1:], strict=True):
        state = _state(turns[session.id])
        note = "  " + paint(translate(STATES[state]), "red" if state == "failed" else "yellow") if state else ""
        sys.stdout.write("  ".join([paint(row[0], "cyan"), paint(row[1], "dim"), *row[2:]]) + note + "\n")


def _row(session: Session, turns: list[Turn], now: float) -> list[str]:
    title = visible(session.title, keep="") or "–"
    return [
        short(session.id),
        age(now - session.updated_at),
        session.mode.value,
        str(len(turns)),
        f"{_tokens(turns):,}",
        visible(_home(session.project), keep="") or "–",
        title if len(title) <= _TITLE else title[: _TITLE - 1] + "…",
    ]


def _object(session: Session, turns: list[Turn]) -> dict[str, Any]:
    return {**session.model_dump(mode="json"), "turns": len(turns), "tokens": _tokens(turns), "state": _state(turns)}


def _state(turns: list[Turn]) -> str:
    """Return the status of the last turn, unless it is done."""
    return turns[-1].status if turns and turns[-1].status != "done" else ""


def _tokens(turns: list[Turn]) -> int:
    return sum(turn.usage.input_tokens + turn.usage.output_tokens for turn in turns)


def age(seconds: float) -> str:
    """Format how long ago something was, in one unit."""
    for size, name in _UNITS:
        if seconds >= size:
            return translate(name, count=f"{seconds // size:.0f}")
    return translate("now")


def _home(path: str) -> str:
    home = os.environ.get("HOME", "")
    inside = len(home) > 1 and (path == home or path.startswith(f"{home}/"))
    return f"~{path[len(home) :]}" if inside else path
