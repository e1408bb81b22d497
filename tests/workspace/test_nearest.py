"""How close a miss came."""

import time

from toolgate.workspace.nearest import nearest

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def test_the_nearest_span_and_the_first_difference() -> None:
    assert nearest(TEXT, "def two():\n  return 2", "x") == {
        "new_text_present": False,
        "text": "def two():\n    return 2",
        "start_line": 5,
        "end_line": 6,
        "first_difference": {"line": 6, "expected": "  return 2", "actual": "    return 2"},
    }


def test_new_text_that_is_already_there_is_said() -> None:
    assert nearest(TEXT, "def three():", "def two():\n    return 2")["new_text_present"]


def test_line_numbers_are_recognised() -> None:
    near = nearest(TEXT, "     5\tdef two():\n     6\t    return 2", "x")

    assert ("line numbers" in near["hint"], near["start_line"]) == (True, 5)


def test_a_line_with_a_slip_is_found() -> None:
    assert nearest(TEXT, "def tow():", "x")["start_line"] in (1, 5)


def test_nothing_like_it_is_nothing() -> None:
    assert nearest(TEXT, "zzzzzzzzzzzzz", "x") == {"new_text_present": False}


def test_it_takes_bounded_time() -> None:
    begin = time.process_time()
    nearest("".join(f"the line with number {number}\n" for number in range(50_000)), "the lime wish number x" * 20, "x")

    assert time.process_time() - begin < 3


def test_blank_lines_at_the_ends_are_kept() -> None:
    near = nearest("a\n\n\n  b\n\nc\n", "\n\nb\n\n", "x")

    assert (near["text"], near["start_line"], near["end_line"]) == ("\n\n  b\n", 2, 5)


def test_of_long_lines_the_place_where_they_differ_is_shown() -> None:
    line = "".join(f"{number}," for number in range(400_000))
    near = nearest(f"{line}\nend\n", f"{line.replace('200000,', '200000;')}\nend", "x")

    assert len(str(near)) < 3_000
    assert near["first_difference"]["line"] == 1
    assert "200000;" in near["first_difference"]["expected"]
    assert "200000," in near["first_difference"]["actual"]
    assert near["text"].startswith("0,1,2,")
