"""`awk` programs: strings, patterns and divisions are told apart, so that pipes and redirections are seen."""

import pytest

from toolgate.command.analysis.readers.awk import harmless


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        '$1 == "a" || /b|c/ {print $1 " > " $2}',
        "{print ($1 + $2) / 2, a[1] / 3, n++ / 4}",
        '{print $1 > "/dev/stderr"; x = $2 > 3}',
        "{ if ($1 > 2) print; else if (/x|y/) print $2 }  # not a pipe: |",
        '/"/ {n++} END {print n}',
        r'{gsub(/[/"|>]/, "\"|\""); print}',
    ],
)
def test_programs_that_only_print_are_harmless(program: str) -> None:
    assert harmless(program)


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN {system("ls")}',
        'BEGIN {c = "ls"; print 1 | c}',
        'BEGIN {c = "ls"; c |& getline x}',
        'BEGIN {f = "system"; @f("ls")}',
        '{print > "x"}',
        "{print $1 >> $2}",
        '{print(1)(2) > "x"}',
        '{print $1 > "/dev/stderr" ".txt"}',
        'BEGIN {if (1) /"/; print 1 | c; "/"}',
        "BEGIN {x++ / 1; print 1 | c; y / 1}",
        'BEGIN {x = (1) /"/"; print 1 | c}',
        '{print "not closed | }',
    ],
)
def test_programs_that_run_or_write_are_not(program: str) -> None:
    assert not harmless(program)
