"""The state of a gateway that runs its turns itself: for people as a page, for programs as JSON."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from toolgate import __version__
from toolgate.errors import ToolgateError
from toolgate.language.translate import current, translate

if TYPE_CHECKING:
    from toolgate.gateway.service import Service
    from toolgate.settings import Settings


class LocalStatus(BaseModel):
    """What the gateway does now, and what it has done since it started."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    version: str
    uptime_seconds: float
    model: str
    coding_enabled: bool
    sandbox: str
    """The configured sandbox."""
    database: str
    """`sqlite` or `postgresql`."""
    connections: int
    running_turns: int
    waiting_approvals: int
    turns: dict[str, int]
    """Turns since the start, by result: `done` or an error code."""
    calls: int
    tokens: dict[str, int]
    problems: list[str]


async def read_local_status(service: Service, settings: Settings, started: float) -> LocalStatus:
    """Return the state now. A database that does not answer is a problem, not a failure."""
    waiting, problems = 0, []
    try:
        for session_id in await service.sessions.running_sessions():
            waiting += len(await service.sessions.pending_approvals(session_id))
    except ToolgateError as error:
        problems.append(str(error))
    if service.draining:
        problems.append("The gateway is shutting down and starts no new turns.")
    return LocalStatus(
        version=__version__,
        uptime_seconds=round(time.time() - started, 1),
        model=service.model,
        coding_enabled=service.coding_enabled,
        sandbox=str(settings.shell.sandbox),
        database=settings.database.address.partition(":")[0].partition("+")[0],
        connections=len(service.connections),
        running_turns=service.running,
        waiting_approvals=waiting,
        turns=dict(service.counts.turns),
        calls=sum(service.counts.calls.values()),
        tokens=dict(service.counts.tokens),
        problems=problems,
    )


def as_page(status: LocalStatus) -> str:
    """Return the state as a page without scripts."""
    if status.problems:
        items = "".join(f"<li>{html.escape(problem)}</li>" for problem in status.problems)
        headline = f'<div class="bad" role="alert">{translate("Something is wrong.")}<ul>{items}</ul></div>'
    else:
        headline = f'<p class="fine" role="status">{translate("Everything works.")}</p>'
    note = translate("This gateway runs its turns itself. Counts begin at its start.")
    tables = "".join(_table(heading, rows) for heading, rows in _rows(status).items())
    return (
        f'<!doctype html><html lang="{current()}"><head><meta charset="utf-8">'
        f"<title>{translate('Toolgate: status')}</title></head>"
        f"<body><h1>{translate('Toolgate: this gateway')}</h1>{headline}{tables}"
        f'<p class="note">{note}</p></body></html>'
    )


def _rows(status: LocalStatus) -> dict[str, dict[str, object]]:
    failed = {code: count for code, count in status.turns.items() if code != "done"}
    return {
        translate("Now"): {
            translate("Running turns"): status.running_turns,
            translate("Approval requests that wait"): status.waiting_approvals,
            translate("Open connections"): status.connections,
        },
        translate("Since the start"): {
            translate("Running for"): _duration(status.uptime_seconds),
            translate("Turns done"): status.turns.get("done", 0),
            translate("Turns that failed"): ", ".join(f"{count} × {code}" for code, count in sorted(failed.items()))
            or 0,
            translate("Tool calls"): status.calls,
            translate("Tokens read"): f"{status.tokens.get('input', 0):,}",
            translate("Tokens written"): f"{status.tokens.get('output', 0):,}",
        },
        translate("Setup"): {
            translate("Version"): status.version,
            translate("Model"): status.model or translate("not known"),
            translate("Coding mode"): translate("enabled") if status.coding_enabled else translate("not enabled"),
            translate("Sandbox"): status.sandbox,
            translate("Database"): status.database,
        },
    }


def _table(heading: str, rows: dict[str, object]) -> str:
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f'<h2>{html.escape(heading)}</h2><div class="wide"><table>{body}</table></div>'


def _duration(seconds: float) -> str:
    """Return a time span as 12 s, 5 min, 3 h 20 min or 2 d 4 h."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{int(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
