"""The status in words, as a page, and as metrics."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from toolgate.distributed.status import Status

Cells = Sequence[object]


def _tables(status: Status) -> Iterator[tuple[str, Cells, list[Cells]]]:
    """Heading, names of the columns, rows: the same for the terminal and for the page."""
    turns = status.turns
    yield (
        "turns",
        ("waiting", "running", "waiting for a person", "done*", "failed*", "resumed*"),
        [(turns.waiting, turns.running, turns.parked, turns.done, turns.failed, turns.resumed)],
    )
    yield (
        "queues",
        ("queue", "waiting", "running", "waiting for a person", "oldest wait"),
        [(q.queue, q.waiting, q.running, q.parked, f"{q.oldest_wait:.1f} s") for q in status.queues],
    )
    yield (
        "workers",
        ("worker", "state", "workspaces", "turns", "version", "last sign of life"),
        [
            (w.name, w.state, ", ".join(w.workspaces), f"{w.running}/{w.slots}", w.version, f"{w.silent:.1f} s ago")
            for w in status.workers
        ],
    )
    lag = status.lag
    yield (
        "waiting for a worker",
        ("now, at the most", "half of them*", "19 of 20*"),
        [(f"{lag.oldest_wait:.1f} s", f"{lag.usual_wait:.2f} s", f"{lag.longest_wait:.2f} s")],
    )


def as_text(status: Status) -> str:
    """For a terminal."""
    lines = []
    for heading, names, rows in _tables(status):
        lines.append(heading)
        cells = [[str(cell) for cell in row] for row in (names, *rows)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
        lines += ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        if not rows:
            lines.append("  –")
        lines.append("")
    lines.append("* in the last hour")
    lines += [f"! {problem}" for problem in status.problems]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%;margin-bottom:1.5rem}td,th{text-align:left;padding:.3rem .6rem;"
    "border-bottom:1px solid #8884}.problem{color:#c33}"
)


def as_page(status: Status) -> str:
    """For a browser: plain, without a script."""
    parts = []
    for heading, names, rows in _tables(status):
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
        parts.append(f"<h2>{html.escape(heading)}</h2><table><tr>{head}</tr>{body}</table>")
    problems = "".join(f'<p class="problem">{html.escape(problem)}</p>' for problem in status.problems)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
        f"<title>Toolgate: status</title><style>{_STYLE}</style></head><body><h1>Toolgate</h1>{problems}"
        f"{''.join(parts)}<p>* in the last hour</p></body></html>"
    )


def as_metrics(status: Status) -> str:
    """In Prometheus' text format."""
    turns, lag = status.turns, status.lag
    lines = ["# HELP toolgate_turns Turns that are open, by state.", "# TYPE toolgate_turns gauge"]
    lines += [
        f'toolgate_turns{{state="{state}"}} {getattr(turns, state)}' for state in ("waiting", "running", "parked")
    ]
    lines += ["# HELP toolgate_turns_last_hour Turns of the last hour.", "# TYPE toolgate_turns_last_hour gauge"]
    lines += [
        f'toolgate_turns_last_hour{{ending="{name}"}} {getattr(turns, name)}' for name in ("done", "failed", "resumed")
    ]
    lines += ["# HELP toolgate_queue_waiting Turns that wait for a worker.", "# TYPE toolgate_queue_waiting gauge"]
    lines += [f"toolgate_queue_waiting{{queue={_quoted(queue.queue)}}} {queue.waiting}" for queue in status.queues]
    lines += ["# HELP toolgate_workers Workers, by state.", "# TYPE toolgate_workers gauge"]
    for state in ("ready", "draining", "gone"):
        lines.append(f'toolgate_workers{{state="{state}"}} {sum(w.state == state for w in status.workers)}')
    lines += ["# HELP toolgate_wait_seconds Waiting for a worker.", "# TYPE toolgate_wait_seconds gauge"]
    lines += [
        f'toolgate_wait_seconds{{what="{name}"}} {getattr(lag, name):.3f}'
        for name in ("oldest_wait", "usual_wait", "longest_wait")
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
