"""The status as text for a terminal, and as a web page."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

from toolgate.distributed.status import ClusterStatus, LagStatus, QueueStatus, TurnStatus, WorkerStatus
from toolgate.language.translate import current, translate

Cells = Sequence[object]

_RECENT = 600.0
"""Seconds for which a worker that has gone is still listed."""
_MAX_CELL_WIDTH = 40


def verdict(status: ClusterStatus) -> str:
    """The first line: whether anything needs attention."""
    if status.problems:
        number = len(status.problems)
        return translate("1 problem:") if number == 1 else translate("{number} problems:", number=number)
    ready = sum(worker.state == "ready" for worker in status.workers)
    turns = status.turns
    workers = translate("1 worker is ready") if ready == 1 else translate("{count} workers are ready", count=ready)
    runs = translate("1 turn runs") if turns.running == 1 else translate("{count} turns run", count=turns.running)
    return translate("Fine: {workers}, {runs}, {waiting} wait.", workers=workers, runs=runs, waiting=turns.waiting)


Table = tuple[str, Cells, list[Cells]]
"""Heading, column names, rows."""


def _tables(status: ClusterStatus) -> list[Table]:
    """The tables of the terminal and the page."""
    return [_turns(status.turns), _waiting(status.lag), _queues(status.queues), _workers(status.workers)]


def _turns(turns: TurnStatus) -> Table:
    columns = (
        translate("waiting"),
        translate("running"),
        translate("waiting for a person"),
        translate("done*"),
        translate("failed*"),
        translate("cancelled*"),
        translate("resumed*"),
    )
    row = (turns.waiting, turns.running, turns.parked, turns.done, turns.failed, turns.cancelled, turns.resumed)
    return translate("Turns"), columns, [row]


def _waiting(lag: LagStatus) -> Table:
    columns = (translate("longest now"), translate("median*"), translate("95th percentile*"))
    row = (f"{lag.oldest_wait:.1f} s", f"{lag.usual_wait:.2f} s", f"{lag.longest_wait:.2f} s")
    return translate("Waiting for a worker"), columns, [row]


def _queues(queues: Sequence[QueueStatus]) -> Table:
    columns = (
        translate("queue"),
        translate("waiting"),
        translate("running"),
        translate("waiting for a person"),
        translate("oldest wait"),
    )
    rows: list[Cells] = [(q.queue, q.waiting, q.running, q.parked, f"{q.oldest_wait:.1f} s") for q in queues]
    return translate("Queues"), columns, rows


def _workers(workers: Sequence[WorkerStatus]) -> Table:
    columns = (
        translate("worker"),
        translate("state"),
        translate("workspaces"),
        translate("turns"),
        translate("version"),
        translate("last sign of life"),
    )
    rows: list[Cells] = [
        (
            worker.name,
            worker.state,
            ", ".join(worker.workspaces),
            f"{worker.running}/{worker.slots}",
            worker.version,
            translate("{seconds} s ago", seconds=f"{worker.silent:.1f}"),
        )
        for worker in _listed(workers)
    ]
    return translate("Workers"), columns, rows


def _listed(workers: Sequence[WorkerStatus]) -> list[WorkerStatus]:
    return [worker for worker in workers if worker.state != "gone" or worker.silent < _RECENT]


def _notes(status: ClusterStatus) -> list[str]:
    long_gone = len(status.workers) - len(_listed(status.workers))
    return [
        translate("* in the last hour"),
        *([translate("{count} more workers have ended in the last day.", count=long_gone)] if long_gone else []),
    ]


def as_text(status: ClusterStatus) -> str:
    """The status for a terminal."""
    lines = [verdict(status), *(f"! {problem}" for problem in status.problems), ""]
    for heading, names, rows in _tables(status):
        lines.append(heading)
        cells = [[_cut(str(cell)) for cell in row] for row in (names, *rows)]
        widths = [max(_columns(row[column]) for row in cells) for column in range(len(names))]
        lines += [
            "  " + "  ".join(cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True))
            for row in cells
        ]
        if not rows:
            lines.append("  –")
        lines.append("")
    return "\n".join(line.rstrip() for line in (*lines, *_notes(status))) + "\n"


def _columns(text: str) -> int:
    """Return how many columns a terminal needs for a text; Chinese characters need two."""
    return len(text) + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def _cut(text: str) -> str:
    """The beginning and the end of a text: long paths differ in their last part."""
    half = _MAX_CELL_WIDTH // 2
    return text if len(text) <= _MAX_CELL_WIDTH else f"{text[:half]}…{text[1 - half :]}"


_STYLE = (
    ":root{color-scheme:light dark;--line:#8884;--soft:#666;--bad:#b3261e;--bad-back:#b3261e14;--good:#1b7f3b}"
    "@media(prefers-color-scheme:dark){:root{--soft:#aaa;--bad:#ff8a80;--bad-back:#ff8a8022;--good:#7bd88f}}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:64rem;padding:1.5rem 1rem}"
    "h1{font-size:1.3rem;margin:0 0 1rem}h2{font-size:.95rem;margin:1.5rem 0 .25rem}"
    ".fine{color:var(--good);font-weight:600}"
    ".bad{color:var(--bad);background:var(--bad-back);border-left:4px solid var(--bad);padding:.6rem 1rem;margin:0}"
    ".bad ul{margin:.3rem 0 0;padding-left:1.2rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.35rem 1rem .35rem 0;border-bottom:1px solid var(--line);white-space:nowrap}"
    "th{color:var(--soft);font-weight:500;font-size:.85rem}td{font-variant-numeric:tabular-nums}"
    ".note{color:var(--soft);font-size:.85rem}"
)


def as_page(status: ClusterStatus) -> str:
    """The status as a page: without scripts; it reloads itself."""
    parts = []
    for heading, names, rows in _tables(status):
        head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in names)
        body = "".join(
            "<tr>"
            + "".join(f'<td title="{html.escape(str(c))}">{html.escape(_cut(str(c)))}</td>' for c in row)
            + "</tr>"
            for row in rows
        )
        none = f'<p class="note">{translate("none")}</p>'
        table = f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>' if rows else none
        parts.append(f"<h2>{html.escape(heading)}</h2>{table}")
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in _notes(status))
    return (
        f'<!doctype html><html lang="{current()}"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_title(status)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{translate('Toolgate: workers and turns')}</h1>"
        f"{_headline(status)}{''.join(parts)}{notes}</body></html>"
    )


def _title(status: ClusterStatus) -> str:
    return f"{f'({len(status.problems)}) ' if status.problems else ''}{translate('Toolgate: status')}"


def _headline(status: ClusterStatus) -> str:
    if not status.problems:
        return f'<p class="fine" role="status">{html.escape(verdict(status))}</p>'
    items = "".join(f"<li>{html.escape(problem)}</li>" for problem in status.problems)
    return f'<div class="bad" role="alert">{html.escape(verdict(status))}<ul>{items}</ul></div>'
