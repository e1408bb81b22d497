"""The table and the bars of growth in the documentation."""

from typing import Any

from benchmarks import growth_docs

RUN: dict[str, Any] = {
    f"growth {kind}": {
        "where": "Python 3.11.7, x86_64, 2 cores",
        "date": "2026-01-02",
        "load": 1.25,
        "median": {"toolgate": {f"10 {kind}": 4.0, f"1,000 {kind}": 6.0}},
        "targets": [f"| growth {kind}: toolgate, 1,000 {kind} | × 1.50 | ≤ × 1.3 of toolgate (10 {kind}) | **over** |"],
    }
    for kind in ("tools", "rules")
}


def test_every_case_is_compared_with_its_smallest() -> None:
    assert growth_docs.ratios(RUN) == {"10 tools": 1.0, "1,000 tools": 1.5, "10 rules": 1.0, "1,000 rules": 1.5}


def test_the_section_has_a_row_per_kind_and_says_where_it_was_measured() -> None:
    text = growth_docs.section(RUN)
    assert "| tools | 10 tools: 4.0 ms (×1.00) | 1,000 tools: 6.0 ms (×1.50) | **over** |" in text
    assert "Python 3.11.7, x86_64, 2 cores, 2026-01-02, load average 1.2." in text
