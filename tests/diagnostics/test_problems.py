"""Problems are read from the output of checkers, and compared."""

import json

from toolgate.diagnostics.problems import (
    MAX_PROBLEMS,
    Problem,
    new_problems,
    read_lines,
    read_pyright,
    read_rust_analyzer,
)


def test_lines_of_many_checkers_are_read() -> None:
    output = """
src/app.py:3:5: F821 Undefined name `x`
./src/app.py:4: error: bad
/root/project/src/app.py:5:1-7: undefined: y
src/app.py(6,2): error TS2304: Cannot find name 'z'.
\x1b[1msrc/app.py\x1b[0m:7:1: coloured
src/other.py:1:1: not this file
Found 5 errors.
app.py: 12 things
"""
    found = read_lines("c", output, "src/app.py")
    assert [(problem.line, problem.message) for problem in found] == [
        (3, "F821 Undefined name `x`"),
        (4, "error: bad"),
        (5, "undefined: y"),
        (6, "error TS2304: Cannot find name 'z'."),
        (7, "coloured"),
    ]


def test_pyrights_json_is_read_and_nonsense_is_nothing() -> None:
    item = {"file": "/p/a.py", "severity": "error", "message": "no\n  way", "range": {"start": {"line": 4}}}
    other = {**item, "file": "/p/b.py"}
    hint = {**item, "severity": "information"}
    output = "No configuration file found.\n" + json.dumps({"generalDiagnostics": [item, other, hint]})
    assert read_pyright("pyright", output, "a.py") == [Problem(checker="pyright", line=5, message="error: no way")]
    for nonsense in ("", "{}", "[]", '{"generalDiagnostics": 5}', "{" * 100_000, '{"generalDiagnostics": [{}]}'):
        assert read_pyright("pyright", nonsense, "a.py") == []


def test_lines_of_rust_analyzer_are_read() -> None:
    line = (
        'at crate demo, file /p/src/main.rs: Error RustcHardError("E0425") from LineCol { line: 1, col: 4 } to '
        "LineCol { line: 1, col: 5 }: no such value in this scope"
    )
    (found,) = read_rust_analyzer("rust-analyzer", f"processing crate: demo\n{line}\n", "src/main.rs")
    assert found.line == 2
    assert found.message == 'Error RustcHardError("E0425"): no such value in this scope'


def problem(line: int, message: str) -> Problem:
    return Problem(checker="c", line=line, message=message)


def test_only_what_is_new_is_kept_although_lines_have_moved() -> None:
    before = [problem(1, "unused a"), problem(9, "long line (90 > 80)")]
    after = [problem(4, "unused a"), problem(12, "long line (95 > 80)"), problem(2, "undefined b")]
    assert new_problems(before, after) == [problem(2, "undefined b")]
    assert new_problems([], after[:1]) == after[:1]
    assert new_problems(before, [problem(1, "unused a"), problem(3, "unused a")]) == [problem(3, "unused a")]


def test_a_flood_of_problems_and_long_messages_are_bounded() -> None:
    output = "".join(f"a.py:{number}:1: {'m' * 1000}\n" for number in range(5_000))
    found = read_lines("c", output, "a.py")
    assert len(found) == MAX_PROBLEMS
    assert len(found[0].message) <= 301


def test_of_problems_that_read_the_same_the_one_on_a_new_line_is_new() -> None:
    old = Problem(checker="c", line=1, message="bad", source="x = bad")
    moved = Problem(checker="c", line=2, message="bad", source="x = bad")
    new = Problem(checker="c", line=1, message="bad", source="y = bad")
    assert new_problems([old], [new, moved]) == [new]
    assert new_problems([old], [new]) == []  # the line was changed, and the problem is still there
