"""Highlighted code: the same text with classes, in bounded time, and nothing else."""

import re
import time
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.gateway import highlight as module
from toolgate.gateway.highlight import MAX_CODE, highlight, highlight_diff, language_of, languages

SPAN = re.compile(r'<span class="[a-z]">|</span>')
HOSTILE = [
    "\n",
    "a\n",
    "a\n\n",
    "a<",
    "a,",
    "a::",
    "<?",
    "<!--",
    "0",
    "{",
    "\\\n",
    "'",
    '"""',
    "<<a\n",
    "a.",
    "&",
    "/*",
    "${",
]


def text(lines: tuple[str, ...] | list[str] | None) -> str | None:
    return None if lines is None else unescape(SPAN.sub("", "\n".join(lines)))


def test_the_first_use_of_a_language_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = module._lexer

    def slowly(language: str) -> object:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
        return prepared(language)

    monkeypatch.setattr(module, "_lexer", slowly)
    assert highlight("if first_use:\n  y", "python") == ('<span class="k">if</span> first_use:', "  y")


def test_tokens_have_classes_and_lines_stand_alone() -> None:
    assert highlight('x = """a\nb"""  # <c>', "python") == (
        'x = <span class="s">&quot;&quot;&quot;a</span>',
        '<span class="s">b&quot;&quot;&quot;</span>  <span class="c"># &lt;c&gt;</span>',
    )


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("py", "python"),
        ("Python3", "python"),
        ("src/a.TS", "typescript"),
        ("Dockerfile", "docker"),
        ("x/Makefile", "make"),
    ],
)
def test_a_fence_or_a_path_names_the_language(name: str, language: str) -> None:
    assert language_of(name) == language


@pytest.mark.parametrize("name", ["", "text", "a", "README", "../.."])
def test_other_names_name_none(name: str) -> None:
    assert language_of(name) is None
    assert highlight("x = 1", language_of(name)) is None


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=200), st.sampled_from(list(languages())))
def test_the_text_stays_the_same(code: str, language: str) -> None:
    code = code.replace("\r", "")
    assert text(highlight(code, language)) in (code, None)


@pytest.mark.parametrize("language", languages())
def test_hostile_code_costs_little_time(language: str) -> None:
    highlight("x = 1", language)  # imports the lexer
    for piece in HOSTILE:
        for code in ((piece * MAX_CODE)[:MAX_CODE], (f"{(piece * 499)[:499]}\n" * 24)[:MAX_CODE]):
            before = time.thread_time()
            highlight(code, language)
            assert time.thread_time() - before < 0.5, piece


def test_long_code_and_long_lines_stay_plain() -> None:
    assert highlight("x = 1\n" * MAX_CODE, "python") is None
    assert highlight("x" * 501, "python") is None


DIFF = (
    "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n def a():\n-    return 1\n+    return None\n --- x\n"
    "\\ No newline at end of file"
)


def test_both_sides_of_a_diff_are_highlighted() -> None:
    shown = highlight_diff(DIFF)
    assert shown is not None
    assert shown[3:6] == [
        '<span class="k">def</span> <span class="f">a</span>():',
        '    <span class="k">return</span> <span class="n">1</span>',
        '    <span class="k">return</span> <span class="n">None</span>',
    ]
    assert text(shown) == "\n".join(line[1:] for line in DIFF.split("\n"))


def test_a_new_file_is_highlighted_and_an_unknown_one_is_not() -> None:
    new = "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+x = 1\n"
    assert highlight_diff(new) == ["-- /dev/null", "++ b/x.py", "@ -0,0 +1 @@", 'x = <span class="n">1</span>', ""]
    assert highlight_diff(new.replace("x.py", "x.unknown")) is None
    assert highlight_diff("no diff") is None
