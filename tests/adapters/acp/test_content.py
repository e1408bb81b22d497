"""Diffs as editors want them: the old and the new text of every changed part."""

from pathlib import Path

import pytest

from toolgate.adapters.acp.content import as_content, diff_content, text_content
from toolgate.workspace.diff import Diff

ROOT = Path("/project")
DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -1,3 +1,3 @@
 one
-two
+2
 three
@@ -9,1 +9,2 @@
 nine
+--- not a header
"""


def test_every_changed_part_is_a_pair_of_texts() -> None:
    first, second = diff_content(ROOT, DIFF.replace("+--- not a header", "+ten"))
    assert (first.path, first.old_text, first.new_text) == (
        "/project/src/app.py",
        "one\ntwo\nthree\n",
        "one\n2\nthree\n",
    )
    assert (second.old_text, second.new_text) == ("nine\n", "nine\nten\n")


def test_an_added_line_that_looks_like_a_header_is_a_line() -> None:
    *_, last = diff_content(ROOT, DIFF)
    assert last.new_text == "nine\n--- not a header\n"


def test_several_files_keep_their_paths_and_a_new_one_has_no_old_text() -> None:
    more = DIFF + "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+new\n"
    last = diff_content(ROOT, more)[-1]
    assert (last.path, last.old_text, last.new_text) == ("/project/new.txt", None, "new\n")


def test_what_is_no_diff_is_shown_as_text() -> None:
    [part] = diff_content(ROOT, "The file is too large for a diff.")
    assert part.content.text == "The file is too large for a diff."
    assert diff_content(ROOT, "") == []


def test_a_long_text_is_shown_from_its_end() -> None:
    text = text_content("a" * 70_000 + "end").content.text
    assert text.endswith("end")
    assert text.startswith("[… 4467 characters before this]\n")


def test_a_result_without_a_diff_shows_what_the_model_read() -> None:
    [part] = as_content(ROOT, {"entries": []}, "Listed nothing.")
    assert part.content.text == "Listed nothing."


def _shown(diff: str) -> str:
    parts = diff_content(ROOT, diff)
    return "\n".join(
        f"{part.path}: {part.old_text} => {part.new_text}" if part.type == "diff" else part.content.text
        for part in parts
    )


@pytest.mark.parametrize(
    "line", ["-- x", "++ b/other.py", "@@ -1,1 +1,1 @@", "\\ No newline at end of file", "", "\f", "\u2028"]
)
def test_every_line_of_an_edit_is_shown_whatever_it_looks_like(line: str) -> None:
    """A line of a file that looks like a part of a diff hid those after it from the person who was asked."""
    built = Diff("src/app.py", 10_000)
    built.compare(f"{line}\none\ntwo\n", f"zero\n{line}\n{line}evil()\ntwo\n")
    (part,) = diff_content(ROOT, built.text)

    assert part.path == "/project/src/app.py"
    assert (part.old_text, part.new_text) == (f"{line}\none\ntwo\n", f"zero\n{line}\n{line}evil()\ntwo\n")


@pytest.mark.parametrize("texts", [("one", "two"), ("one", "two\n"), ("one\n", "two"), ("a\nsame", "b\nsame")])
def test_a_missing_line_end_hides_nothing(texts: tuple[str, str]) -> None:
    built = Diff("a.txt", 10_000)
    built.compare(*texts)
    (part,) = diff_content(ROOT, built.text)
    assert (part.old_text, part.new_text) == texts


def test_a_diff_that_was_cut_says_so() -> None:
    built = Diff("a.txt", 100)
    built.compare("", "".join(f"line {number}\n" for number in range(100)))
    assert "… diff cut here: 89 more lines" in _shown(built.text)
    assert "line 10" in _shown(built.text)


def test_a_file_that_moves_or_has_no_part_is_named() -> None:
    built = Diff("new.py", 1000, old_path="old.py")
    built.compare("one\n", "two\n")
    assert "old.py → new.py" in _shown(built.text)
    assert "+++ b/empty.txt" in _shown("--- /dev/null\n+++ b/empty.txt\n" + DIFF)
    gone = Diff("gone.py", 1000, deleted=True)
    gone.compare("one\n", "")
    assert _shown(gone.text) == "/project/gone.py: one\n => "
