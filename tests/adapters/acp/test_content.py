"""Diffs as editors want them: the old and the new text of every changed part."""

from pathlib import Path

from toolgate.adapters.acp.content import as_content, diff_content, text_content

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
