"""Draws a benchmark's ratios as horizontal bars on a logarithmic scale, one group per case."""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 720, 210, 70, 16, 22, 40
FLOOR, OURS, PEER = "#9ca3af", "#2563eb", "#d97706"

Ratios = dict[str, dict[str, float | None]]
"""Contender → case → how many times the floor it takes."""


def drawn(name: str, unit: str, floor: str, ratios: Ratios, references: Sequence[str] = ()) -> str:
    """The picture. Bars begin at the least ratio of all, or at a tenth of the floor; the line is the floor."""
    cases = list(dict.fromkeys(case for values in ratios.values() for case in values))
    groups = [(case, _bars(case, ratios)) for case in cases]
    groups = [(case, bars) for case, bars in groups if bars]
    values = [value for _, bars in groups for _, value in bars]
    low, high = min([0.5, *values]) * 0.8, max([2.0, *values])
    height = HEAD + sum(GAP + BAR * len(bars) for _, bars in groups) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="18" font-weight="bold">{escape(name)}: times {escape(floor)}, logarithmic</text>',
    ]
    parts += _legend(any(contender.startswith("peer:") for contender in ratios))
    one = _x(1.0, low, high)
    parts.append(f'<line x1="{one}" x2="{one}" y1="{HEAD - 10}" y2="{height - 6}" stroke="#6b7280"/>')
    y = HEAD
    for case, bars in groups:
        parts.append(f'<text x="10" y="{y + 8}" font-weight="bold">{escape(case)}</text>')
        y += GAP - 8
        for contender, value in bars:
            parts += _bar(contender, value, y, _x(value, low, high), _colour(contender, (floor, *references)))
            y += BAR
        y += 8
    return "\n".join([*parts, f"<desc>{escape(unit)}</desc>", "</svg>"]) + "\n"


def _legend(peers: bool) -> list[str]:
    """What the colours mean."""
    entries = [("floor", FLOOR), ("Toolgate", OURS), *([("other projects", PEER)] if peers else [])]
    parts = []
    for number, (text, colour) in enumerate(reversed(entries)):
        x = WIDTH - 110 * (number + 1)
        parts.append(f'<circle cx="{x + 6}" cy="14" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="18">{text}</text>')
    return parts


def _bars(case: str, ratios: Ratios) -> list[tuple[str, float]]:
    found = [(contender, value) for contender, values in ratios.items() if (value := values.get(case))]
    return sorted(found, key=lambda pair: pair[1])


def _bar(contender: str, value: float, y: int, end: float, colour: str) -> list[str]:
    label = escape(contender.removeprefix("peer:"))
    return [
        f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{label}</text>',
        f'<rect x="{LEFT}" y="{y + 2}" width="{max(end - LEFT, 1):.1f}" height="{BAR - 4}" fill="{colour}"/>',
        f'<text x="{end + 5:.1f}" y="{y + 11}">×{value:.2f}</text>',
    ]


def _colour(contender: str, floors: Sequence[str]) -> str:
    if contender in floors:
        return FLOOR
    return PEER if contender.startswith("peer:") else OURS


def _x(value: float, low: float, high: float) -> float:
    share = (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)
