"""The table of programs: every row can be read, and says something."""

import re

from toolgate.command.analysis.program import UNKNOWN, Program, every_program, program
from toolgate.command.analysis.programs import TABLE


def test_every_row_can_be_read() -> None:
    assert [name for name in every_program() if program(name) in (UNKNOWN, Program())] == []


def test_every_reason_is_a_sentence_about_the_command() -> None:
    reasons = {rule.reason for name in every_program() for rule in program(name).rules if not rule.unclear}
    assert [reason for reason in reasons if not re.fullmatch(r"it [a-z ]+", reason)] == []


def test_no_program_stands_twice_with_the_same_fact() -> None:
    seen: set[tuple[str, str]] = set()
    for row in re.split(r"\n(?! )", TABLE.strip()):
        names, *facts = row.split("|")
        pairs = [] if row.startswith("#") else [(n, " ".join(f.split())) for n in names.split() for f in facts]
        assert [pair for pair in pairs if pair in seen] == []
        seen.update(pairs)
