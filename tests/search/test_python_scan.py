"""The worker of the search without ripgrep, in this process."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.searching import plant, unprivileged
from toolgate.search import python_scan as scan
from toolgate.search.regex_dialect import translate

PLAN = {
    "literal": "",
    "ignore_case": False,
    "before": 0,
    "after": 0,
    "fd": None,
    "inherited": [],
    "ignore": True,
    "hidden": [],
    "names": None,
    "paths": None,
    "negated": False,
    "share": (0, 1),
}


def records(root: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, **changes: Any) -> list[str]:
    """What a worker in `root` writes, with `|` in place of NUL, sorted."""
    monkeypatch.chdir(root)
    out = os.memfd_create("records")
    translation = translate(pattern)
    plan = {**PLAN, "pattern": translation.pattern, "literal": translation.literal, **changes}
    try:
        scan.search(plan, out)
        written = os.pread(out, 1 << 20, 0)
    finally:
        os.close(out)
    return sorted(written.decode("utf-8", "surrogateescape").replace("\0", "|").splitlines())


def test_matching_lines_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": "x\nneedle 1\n\nneedle 2", "d/b": "no\n"})

    assert records(tmp_path, monkeypatch, "needle") == ["a|2|Mneedle 1", "a|4|Mneedle 2"]


@pytest.mark.parametrize("pattern", ["^b$", "b$", "^b", r"^\w$", "b"])
def test_line_ends_are_seen_with_and_without_a_literal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    plant(tmp_path, {"a": "1a\r\nb\r\ncc\n"})

    assert records(tmp_path, monkeypatch, pattern) == ["a|2|Mb"]


def test_an_empty_line_is_a_line_and_the_end_of_a_file_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": "x\n\ny\n", "empty": ""})

    assert records(tmp_path, monkeypatch, "^$") == ["a|2|M"]


@pytest.mark.parametrize(
    "content",
    ["é needle\n".encode(), b"\xef\xbb\xbf" + "é needle\n".encode(), "é needle\n".encode("utf-16")],
    ids=["utf-8", "utf-8 with a mark", "utf-16"],
)
def test_encodings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    plant(tmp_path, {"a": content})

    assert records(tmp_path, monkeypatch, "^é needle$") == ["a|1|Mé needle"]


def test_bytes_that_are_not_text_pass_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": b"\xff needle\n"})

    assert records(tmp_path, monkeypatch, "needle") == ["a|1|M\udcff needle"]


def test_binary_and_over_large_files_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"late": b"needle\n" * 20_000 + b"\0", "early": b"\0needle", "wide": "needle\0".encode("utf-16")})
    with (tmp_path / "huge").open("wb") as huge:
        huge.write(b"x" * (1 << 16))
        huge.truncate(scan.MAX_FILE_BYTES + 1)

    assert records(tmp_path, monkeypatch, "needle") == [
        "early|0|Sbinary",
        "huge|0|Slarger than 1 GiB",
        "late|0|Sbinary",
        "wide|0|Sbinary",
    ]


def test_context_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": "1\n2 x\n3\n4 x\n5\n6\n"})

    assert records(tmp_path, monkeypatch, "x", before=1, after=1) == [
        "a|1|C1",
        "a|2|M2 x",
        "a|3|C3",
        "a|4|M4 x",
        "a|5|C5",
    ]


def test_shares_are_disjoint_and_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {f"d{number % 3}/{number}": "needle" for number in range(20)})

    shares = [records(tmp_path, monkeypatch, "needle", share=(share, 3)) for share in range(3)]

    assert sorted(record for share in shares for record in share) == records(tmp_path, monkeypatch, "needle")


def test_a_long_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": "needle" + "x" * 100_000})

    (record,) = records(tmp_path, monkeypatch, "needle")

    assert len(record) == len("a|1|M") + scan.MAX_LINE


def test_an_unreadable_file_is_passed_over(public_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(public_path, {"a": "needle"})
    (public_path / "a").chmod(0)

    with unprivileged():
        assert records(public_path, monkeypatch, "needle") == ["a|0|Sunreadable: Permission denied"]


def test_a_worker_imports_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys\n"
        "for name, path in (('toolgate', sys.argv[1]), ('toolgate.workspace', sys.argv[1] + '/workspace')):\n"
        "    sys.modules[name] = type(sys)(name)\n"
        "    sys.modules[name].__path__ = [path]\n"
        "import toolgate.search.python_scan\n"
        "print(sorted({'dataclasses', 'typing', 'pydantic', 'json', 'pathlib', 'ctypes'} & set(sys.modules)))"
    )
    package = str(Path(scan.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, package], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
