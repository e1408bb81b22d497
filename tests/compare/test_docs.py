"""The table of `make compare` in the documentation."""

from typing import Any

import pytest

from compare.__main__ import cell, control_passed, main
from compare.case import Case, Outcome, discover
from compare.contenders import CONTENDERS
from compare.docs import PAGE, best, replaced, section

CASE = Case(name="paths", title="Paths: got out", counts="Counted are paths.", run=lambda _: Outcome(bad=0))
COMMON = {"version": "x 1", "date": "2026-01-02", "machine": "m", "user": "root", "quick": False}


def found(bad: float, of: int | None = 10, **more: Any) -> dict[str, Any]:
    return {"status": "measured", "bad": bad, "of": of, "detail": [], **COMMON, **more}


LACKS = {"status": "lacks", "detail": ["run"], "version": "x 1"}
ROW = {"naive": found(0), "toolgate": found(1), "kimi": found(0), "aider": LACKS}


def test_what_a_contender_cannot_do_is_no_pass() -> None:
    assert cell(CASE, LACKS) == "–"
    assert best(ROW) == ["kimi"]


def test_a_cell_counts_questions_and_amounts() -> None:
    assert cell(CASE, found(0, 39, asked=39)) == "0 of 39 (39 asked)"
    assert cell(Case(**{**vars(CASE), "unit": "MB"}), found(1234.0, None)) == "1,234 MB"
    assert cell(CASE, {"status": "error", "detail": []}) == "error"


def test_amounts_that_hardly_differ_are_alike() -> None:
    row = {"toolgate": found(7.0, None), "kimi": found(7.4, None), "langchain": found(1970.0, None)}

    assert best(row) == ["toolgate", "kimi"]


def test_an_amount_of_something_unfinished_is_never_the_best() -> None:
    memory = Case(**{**vars(CASE), "unit": "MB"})

    assert cell(memory, found(5.0, None, unfinished=True)) == "5 MB, unfinished"
    assert best({"toolgate": found(7.0, None), "aider": found(5.0, None, unfinished=True)}) == ["toolgate"]


def test_races_of_different_length_are_compared_by_their_share() -> None:
    assert best({"toolgate": found(1, 20_000), "kimi": found(1, 100)}) == ["toolgate"]


def test_the_page_says_who_is_better() -> None:
    text = section({"paths": ROW}, [CASE])

    assert "- Paths: got out: **better**: kimi-cli." in text
    assert "| Paths: got out | 1 of 10 | not run | **0 of 10** | – |" in text
    assert "- aider: –, there is no tool or setting for: run." in text


def test_a_control_that_passes_is_reported() -> None:
    naive, toolgate = CONTENDERS[:2]

    assert control_passed(CASE, naive, found(0))
    assert not control_passed(CASE, naive, found(1))
    assert not control_passed(CASE, toolgate, found(0))


def test_the_page_needs_its_marks() -> None:
    with pytest.raises(SystemExit, match=r"reliability\.md needs the lines"):
        replaced("nothing", "x")


def test_the_page_has_every_case() -> None:
    text = PAGE.read_text()

    assert [case.name for case in discover() if f"### {case.title}\n" not in text] == []


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])

    assert "there is no nothing; there are killed-writes" in capsys.readouterr().err
