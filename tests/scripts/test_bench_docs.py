"""The tables and bars of a benchmark run in the documentation."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import bars, docs

RUN: dict[str, Any] = {
    "shell": {
        "where": "Python 3.11.7, x86_64, 2 cores",
        "date": "2026-01-02",
        "load": 1.25,
        "unit": "ms",
        "floor": "floor",
        "references": ["bash to a file"],
        "rounds": 3,
        "median": {
            "peer:openhands:tmux": {"true": 9.0},
            "toolgate": {"true": 5.0, "<50 MB>": None},
            "floor": {"true": 2.0, "<50 MB>": 10.0},
        },
        "ratio": {
            "peer:openhands:tmux": {"true": 4.5},
            "toolgate": {"true": 2.5, "<50 MB>": None},
            "floor": {"true": 1.0, "<50 MB>": 1.0},
        },
        "extra": {
            "peer:openhands:tmux": {"true": {}},
            "toolgate": {"true": {"MB": 3.0}},
            "floor": {"true": {}, "<50 MB>": {}},
        },
        "failed": {"peer:aider": "AssertionError: wrong"},
        "targets": ["| shell: toolgate, true | × 2.50 | ≤ × 3 of floor | pass |"],
    },
}


def test_the_section_has_the_machine_a_table_a_picture_and_the_targets() -> None:
    text = docs.section(RUN)
    assert "Python 3.11.7, x86_64, 2 cores, 2026-01-02, load average 1.2." in text
    assert "| toolgate | 5 (×2.50), MB 3 | – |" in text
    assert "(images/bench-shell.svg)" in text
    assert RUN["shell"]["targets"][0] in text


def test_the_fastest_stands_first_and_other_projects_stand_with_their_versions() -> None:
    text = docs.section(RUN)
    assert text.index("| floor | 2 ") < text.index("| toolgate | 5 ") < text.index("| openhands:tmux | 9 (×4.50) |")
    assert "- openhands: openhands-sdk==" in text
    assert "aider failed: AssertionError: wrong" in text


def test_a_run_of_some_benchmarks_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(docs, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(docs, "RESULTS", tmp_path / "results.json")
    docs.PAGE.write_text(f"{docs.BEGIN}\n{docs.END}")
    for name in ("edit", "shell"):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({name: RUN["shell"]}) + "\n"))
        docs.main()

    assert list(json.loads(docs.RESULTS.read_text())) == ["edit", "shell"]
    assert "### edit (ms" in docs.PAGE.read_text()
    assert sorted(path.name for path in tmp_path.glob("images/*")) == ["bench-edit.svg", "bench-shell.svg"]


def test_processor_time_is_drawn_where_there_is_one() -> None:
    used = {
        "floor": {"true": {"cpu ms": 2.0}, "<50 MB>": {}},
        "toolgate": {"true": {"cpu ms": 6.0}},
        "peer:openhands:tmux": {"true": {}},
    }
    run = {**RUN["shell"], "extra": used}

    assert docs.drawn_ratios(run)["toolgate"] == {"true (processor time)": 3.0, "<50 MB>": None}
    assert docs.drawn_ratios(run)["peer:openhands:tmux"] == {"true": 4.5}
    assert docs.drawn_ratios({**run, "where": "real-time priority"}) == run["ratio"]
    assert "| toolgate | 5 (×2.50), cpu ms 6 (×3.00) | – |" in docs.section({"shell": run})


def test_only_what_is_between_the_marks_is_replaced() -> None:
    page = f"before\n{docs.BEGIN}\nold\n{docs.END}\nafter\n"
    assert docs.replaced(page, "new\n") == f"before\n{docs.BEGIN}\nnew\n{docs.END}\nafter\n"


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(SystemExit, match="needs the lines"):
        docs.replaced("a page", "new")


def test_there_is_a_bar_for_every_measured_ratio_and_a_longer_one_for_a_larger_ratio() -> None:
    widths = [float(bar.get("width", "0")) for bar in _bars(RUN["shell"])]
    assert len(widths) == 4
    assert widths[0] < widths[1] < widths[2]
    assert widths[0] == widths[3]


def test_floors_toolgate_and_other_projects_have_colours_of_their_own() -> None:
    ratios = {
        "floor": {"true": 1.0},
        "bash to a file": {"true": 1.1},
        "toolgate": {"true": 2.0},
        "peer:x": {"true": 3.0},
    }
    colours = [bar.get("fill") for bar in _bars({**RUN["shell"], "ratio": ratios})]
    assert colours == [bars.FLOOR, bars.FLOOR, bars.OURS, bars.PEER]


def _bars(run: dict[str, Any]) -> list[ElementTree.Element]:
    drawn = bars.drawn("shell", "ms", run["floor"], run["ratio"], run["references"])
    return list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect"))[1:]
