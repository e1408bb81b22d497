"""Files that are not UTF-8 are told from those that are, by their bytes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from toolgate.process.executables import find_ripgrep
from toolgate.search.legacy_encodings import NOT_UTF8, decoded_copy, has_other_characters

UTF8 = ["", "plain", "é", "Привет", "中文", "🎉", "a\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"]
OTHER = [
    *(
        b"\xff",
        b"\xc0\xaf",
        b"\x80",
        b"a\xbf",
        b"\xc3",
        b"\xc3a",
        b"\xe4\xb8",
        b"\xe4\xb8x",
        b"\xf0\x9f\x8e",
        b"\xed\xa0\x80",
    ),
    *("Привет".encode(codec) for codec in ("cp1251", "koi8-r", "cp866")),
    *("中文".encode(codec) for codec in ("gb18030", "big5")),
    *("日本語".encode(codec) for codec in ("shift_jis", "euc-jp")),
    *("schön".encode(codec) for codec in ("latin-1",)),
    *(
        b"\xe0\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xf0\x80\x80\x80",
        b"\xc3\xa9\xa9",
        "中".encode() + b"\x80",
        "🎉".encode() + b"\x80",
    ),
]


def test_the_pattern_finds_exactly_the_lines_that_are_not_utf8(tmp_path: Path) -> None:
    lines = [*(text.encode() for text in UTF8), *OTHER]
    for number, line in enumerate(lines):
        (tmp_path / f"{number:03}").write_bytes(b"one\n" + line + b"\ntwo\n")
    program = find_ripgrep(None, ())
    assert program is not None
    found = subprocess.run(
        [program, "--no-config", "--files-with-matches", f"--regexp={NOT_UTF8}", "./"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    named = {int(re.sub(r"\D", "", name)) for name in found.stdout.split()}
    assert [lines[number] for number in sorted(named)] == OTHER


@pytest.mark.parametrize(
    ("pattern", "has"),
    [
        ("TODO", False),
        (r"\bfoo\(", False),
        ("größe", True),
        (r"gr\x{f6}", True),
        (r"\u00f6", True),
        (r"\p{Greek}", True),
    ],
)
def test_only_patterns_with_other_characters_need_text(pattern: str, has: bool) -> None:
    assert has_other_characters(pattern) is has


@pytest.mark.parametrize("content", [b"plain", "é".encode(), "\ufeffé".encode("utf-16"), b"\0\1\2\xff", b""])
def test_what_is_utf8_marked_or_no_text_is_not_decoded(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    fd = os.open(tmp_path / "a", os.O_RDONLY)

    assert decoded_copy(fd, "a") is None
    os.close(fd)
