"""The tables and bars of a benchmark run in the documentation."""

from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import bars, docs

RUN: dict[str, Any] = {
    "machine": "x86_64",
    "cpus": 2,
    "python": "3.11.7",
    "load": 1.25,
    "targets": ["| shell: toolgate, true | × 2.50 | ≤ × 3 of floor | pass |"],
    "shell": {
        "unit": "ms",
        "floor": "floor",
        "rounds": 3,
        "median": {"floor": {"true": 2.0, "<50 MB>": 10.0}, "toolgate": {"true": 5.0, "<50 MB>": None}},
        "ratio": {"floor": {"true": 1.0, "<50 MB>": 1.0}, "toolgate": {"true": 2.5, "<50 MB>": None}},
        "extra": {"floor": {"true": {}, "<50 MB>": {}}, "toolgate": {"true": {"MB": 3.0}}},
    },
}


def test_the_section_has_the_machine_a_table_a_picture_and_the_targets() -> None:
    text = docs.section(RUN)
    assert "Python 3.11.7, x86_64, 2 cores. The load average was 1.2 when the run ended." in text
    assert "| toolgate | 5 (×2.50), MB 3 | – |" in text
    assert "(images/bench-shell.svg)" in text
    assert RUN["targets"][0] in text


def test_only_what_is_between_the_marks_is_replaced() -> None:
    page = f"before\n{docs.BEGIN}\nold\n{docs.END}\nafter\n"
    assert docs.replaced(page, "new\n") == f"before\n{docs.BEGIN}\nnew\n{docs.END}\nafter\n"


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(SystemExit, match="needs the lines"):
        docs.replaced("a page", "new")


def test_there_is_a_bar_for_every_measured_ratio_and_a_longer_one_for_a_larger_ratio() -> None:
    shell = RUN["shell"]
    picture = ElementTree.fromstring(bars.drawn("shell", "ms", "floor", shell["ratio"]))
    widths = [float(bar.get("width", "0")) for bar in picture.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert len(widths) == 3
    assert widths[0] < widths[1]
    assert widths[0] == widths[2]
