"""Draws one benchmark's medians as an SVG: `python -m benchmarks --only NAME | python -m benchmarks.plot FILE`.

The cases must begin with a number ("10 sessions"): the horizontal axis is its logarithm, the vertical one begins at 0.
"""

import json
import math
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, BELOW, ABOVE, RIGHT = 640, 320, 56, 44, 34, 20
COLOURS = ("#2563eb", "#9ca3af", "#d97706")


def main() -> None:
    """Read what the benchmarks printed, and write the picture."""
    lines = [line for line in sys.stdin if line.startswith("{")]
    results = {name: value for name, value in json.loads(lines[-1]).items() if isinstance(value, dict)}
    [(name, result)] = results.items()
    Path(sys.argv[1]).write_text(drawn(name, result["unit"], result["median"]))


def drawn(name: str, unit: str, medians: dict[str, dict[str, float]]) -> str:
    """The picture of a benchmark's medians, a line a contender."""
    points = {
        contender: [(int(case.split()[0]), value) for case, value in cases.items()]
        for contender, cases in medians.items()
    }
    across = sorted({x for line in points.values() for x, _ in line})
    top = _round_up(max(value for line in points.values() for _, value in line))
    noun = next(iter(next(iter(medians.values())))).partition(" ")[2]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">{name}: {unit} a turn</text>',
    ]
    for step in range(5):
        value = top * step / 4
        y = _y(value, top)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>')
    for x in across:
        parts.append(f'<text x="{_x(x, across)}" y="{HEIGHT - BELOW + 18}" text-anchor="middle">{x:,} {noun}</text>')
    for colour, (contender, line) in zip(COLOURS, points.items(), strict=False):
        path = " ".join(f"{_x(x, across)},{_y(value, top)}" for x, value in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{_x(x, across)}" cy="{_y(value, top)}" r="4" fill="{colour}"/>' for x, value in line]
        parts += [
            f'<text x="{_x(x, across)}" y="{_y(value, top) - 9}" text-anchor="middle">{value:.0f}</text>'
            for x, value in line
        ]
        parts.append(f'<text x="{WIDTH - RIGHT}" y="20" text-anchor="end" fill="{colour}">{contender}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(value: float, across: list[int]) -> float:
    first, last = math.log10(across[0]), math.log10(across[-1])
    return round(LEFT + 30 + (math.log10(value) - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT - 60), 1)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BELOW - value / top * (HEIGHT - BELOW - ABOVE), 1)


def _round_up(value: float) -> float:
    step: float = 10.0 ** math.floor(math.log10(value))
    return math.ceil(value * 1.15 / step) * step


if __name__ == "__main__":
    main()
