"""`grep`, with ripgrep and without."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.searching import ENGINES, PYTHON, call, context, lines, open_descriptors, plant, unprivileged
from tests.support.toolbox import Toolbox
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.search.walk import MAX_DEPTH
from toolgate.tools.builtin import grep
from toolgate.tools.builtin.grep import GrepParams, GrepTool

GREP = GrepTool()
both_engines = pytest.mark.parametrize("engine", ENGINES, ids=["ripgrep", "python"])

TREE: dict[str, str | bytes] = {
    "src/b.py": "import os\nneedle = 1\n",
    "src/a.py": "needle\nno\nNeedle needle\n",
    "docs/c.md": "a needle\r\n",
    "build/d.py": "needle\n",
    ".github/e.yml": "needle\n",
    ".gitignore": "build/\n",
    ".git/config": "needle\n",
}


async def test_the_envelope_is_whole(tmp_path: Path) -> None:
    plant(tmp_path, TREE)

    response = await call(GREP, tmp_path, pattern="needle$", path="src")

    assert response.to_dict() == {
        "status": "success",
        "data": {
            "matches": [
                {"file": "src/a.py", "line": 1, "text": "needle"},
                {"file": "src/a.py", "line": 3, "text": "Needle needle"},
            ],
            "truncated": False,
            "skipped": [],
        },
        "text": "Found 2 matches for 'needle$' in 'src' in 1 file. Files that .gitignore excludes were not searched; "
        "pass include_ignored=true to include them.",
        "stats": {"total_matches": 2, "total_files": 1, "total_skipped": 0},
        "context": {"path_resolved": "src"},
    }


async def test_without_ripgrep_the_answer_is_partial_and_the_same(tmp_path: Path) -> None:
    plant(tmp_path, TREE)

    usual = await call(GREP, tmp_path, pattern="needle")
    response = await call(GREP, tmp_path, pattern="needle", ripgrep=PYTHON)

    assert response.status == "partial"
    assert response.data == {**usual.data, "fallback": "python"}
    assert response.stats == usual.stats
    assert "ripgrep is not available. A slower search in Python was used instead." in response.text


@both_engines
async def test_matches_are_sorted_and_ignored_and_own_files_left_out(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {**TREE, ".toolgate/x": "needle", ".toolgate-tmp-1": "needle", "tool-output/y": "needle"})

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine)

    assert lines(response) == [
        ".github/e.yml:1:needle",
        "docs/c.md:1:a needle",
        "src/a.py:1:needle",
        "src/a.py:3:Needle needle",
        "src/b.py:2:needle = 1",
    ]
    assert "were not searched; pass include_ignored=true" in response.text


async def test_ignored_directories_are_named(tmp_path: Path) -> None:
    plant(tmp_path, TREE)

    assert "(among them 'build/')" in (await call(GREP, tmp_path, pattern="x")).text


@both_engines
async def test_ignored_files_are_searched_on_request(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {**TREE, ".toolgate/x": "needle", "tool-output/y": "needle"})

    response = await call(GREP, tmp_path, pattern="^needle$", include_ignored=True, ripgrep=engine)

    assert lines(response) == [".github/e.yml:1:needle", "build/d.py:1:needle", "src/a.py:1:needle"]
    assert "ignore" not in response.text


@both_engines
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"include": "*.py"}, ["src/a.py", "src/b.py"]),
        ({"include": "*.{md,yml}"}, [".github/e.yml", "docs/c.md"]),
        ({"include": "src/*"}, ["src/a.py", "src/b.py"]),
        ({"include": "!*.py"}, [".github/e.yml", "docs/c.md"]),
        ({"include": "[ab].py"}, ["src/a.py", "src/b.py"]),
        ({"file_type": "py"}, ["src/a.py", "src/b.py"]),
        ({"file_type": "md"}, ["docs/c.md"]),
        ({"file_type": "py", "include": "a*"}, ["src/a.py"]),
        ({"path": "src", "include": "src/*"}, []),
        ({"path": "docs"}, ["docs/c.md"]),
        ({"path": "build"}, ["build/d.py"]),
        ({"path": "src/b.py"}, ["src/b.py"]),
        ({"path": "src/b.py", "include": "*.md"}, ["src/b.py"]),
        ({"path": "build/d.py"}, ["build/d.py"]),
    ],
)
async def test_the_search_is_narrowed(
    tmp_path: Path, engine: str | None, arguments: dict[str, Any], found: list[str]
) -> None:
    plant(tmp_path, TREE)

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine, **arguments)

    assert sorted({match["file"] for match in response.data["matches"]}) == found


@both_engines
async def test_an_include_does_not_bring_ignored_files_back(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {".gitignore": "*.log\n", "a.log": "needle", "b.txt": "needle"})

    assert lines(await call(GREP, tmp_path, pattern="needle", include="*.log", ripgrep=engine)) == []


@both_engines
async def test_rules_above_the_path_count_and_rules_above_the_root_do_not(tmp_path: Path, engine: str | None) -> None:
    root = tmp_path / "root"
    plant(tmp_path, {".gitignore": "*\n"})
    plant(root, {".gitignore": "*.o\n/s/gen/\n", "s/.gitignore": "!keep.o\n", "s/t/keep.o": "x", "s/t/a.o": "x"})
    plant(root, {"s/gen/g": "x", ".git/info/exclude": "secret\n", "s/secret": "x"})

    assert lines(await call(GREP, root, pattern="x", path="s", ripgrep=engine)) == ["s/t/keep.o:1:x"]
    assert lines(await call(GREP, root, pattern="x", path="s/t", ripgrep=engine)) == ["s/t/keep.o:1:x"]


@both_engines
async def test_case_is_ignored_on_request(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": "Straße\nÉTÉ\nété\n"})

    response = await call(GREP, tmp_path, pattern="été", case_sensitive=False, ripgrep=engine)

    assert lines(response) == ["a:2:ÉTÉ", "a:3:été"]


@both_engines
async def test_context_is_a_part_of_its_match(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": "1\n2 x\n3\n4\n5 x\n"})

    response = await call(GREP, tmp_path, pattern="x", before=2, after=1, ripgrep=engine)

    assert response.data["matches"] == [
        {"file": "a", "line": 2, "text": "2 x", "before": ["1"], "after": ["3"]},
        {"file": "a", "line": 5, "text": "5 x", "before": ["3", "4"], "after": []},
    ]


@both_engines
async def test_the_limit_keeps_the_first_and_counts_all(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {f"f{number:03}": "x\nx\n" for number in range(50)})

    response = await call(GREP, tmp_path, pattern="x", limit=3, ripgrep=engine)

    assert response.status == "partial"
    assert lines(response) == ["f000:1:x", "f000:2:x", "f001:1:x"]
    assert (response.data["truncated"], response.stats["total_matches"], response.stats["total_files"]) == (
        True,
        100,
        50,
    )
    assert "showing the first 3" in response.text
    assert "larger 'limit'" in response.text


@both_engines
async def test_binary_files_are_listed_as_skipped(tmp_path: Path, engine: str | None) -> None:
    plant(
        tmp_path,
        {"a.txt": "needle", "b.bin": b"needle\n\0", "c.png": b"\x89PNG\0", "late": b"needle\n" * 20_000 + b"\0"},
    )

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine)

    assert lines(response) == ["a.txt:1:needle"]
    assert response.data["skipped"] == [{"path": path, "reason": "binary"} for path in ("b.bin", "c.png", "late")]
    assert response.status == ("partial" if engine == PYTHON else "success")
    assert "Not searched because binary: 'b.bin', 'c.png', 'late'." in response.text


async def test_unreadable_files_make_the_answer_partial(public_path: Path) -> None:
    plant(public_path, {"a": "needle", "d/b": "needle"})
    (public_path / "d" / "b").chmod(0)

    with unprivileged():
        response = await call(GREP, public_path, pattern="needle")

    assert (response.status, lines(response)) == ("partial", ["a:1:needle"])
    assert response.data["skipped"] == [{"path": "d/b", "reason": "unreadable: Permission denied"}]
    assert "Could not be searched (see 'skipped'): 'd/b'." in response.text


@both_engines
async def test_a_long_line_is_clipped_and_said(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": "x" * 50_000 + "needle\n", "b": "needle"})

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine)

    assert (response.status, response.data["truncated"]) == ("partial", True)
    assert lines(response) == [f"a:1:{'x' * 2000} … [line clipped]", "b:1:needle"]
    assert "clipped" in response.text


@both_engines
@pytest.mark.parametrize("name", ["..foo", "-rf", " x ", "new\nline", "é", "e\u0301", "a:1:b", "--help"])
async def test_odd_names_make_the_round_trip(tmp_path: Path, engine: str | None, name: str) -> None:
    plant(tmp_path, {f"d/{name}": "needle"})

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine)

    assert response.data["matches"] == [{"file": f"d/{name}", "line": 1, "text": "needle"}]
    assert (await call(GREP, tmp_path, pattern="needle", path=f"d/{name}", ripgrep=engine)).data["matches"] == [
        {"file": f"d/{name}", "line": 1, "text": "needle"}
    ]


@both_engines
async def test_what_is_not_utf8_is_replaced(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": b"\xff needle\n"})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_bytes(b"needle")

    response = await call(GREP, tmp_path, pattern="needle", ripgrep=engine)

    assert lines(response) == ["a:1:\ufffd needle", "\ufffd:1:needle"]
    response.to_json().encode()


@both_engines
@pytest.mark.parametrize("pattern", ["-e", "--pre=touch x", "-", "--files"])
async def test_a_pattern_is_never_an_option(tmp_path: Path, engine: str | None, pattern: str) -> None:
    plant(tmp_path, {"a": f"{pattern}\n"})

    assert lines(await call(GREP, tmp_path, pattern=pattern, ripgrep=engine)) == [f"a:1:{pattern}"]


@both_engines
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("foo(", "unclosed group at character 4"),
        ("(?=a)", "look-around is not supported; found at character 1"),
        (r"(a)\1", "backreferences are not supported; found at character 4"),
        ("*", "repetition operator missing expression at character 1"),
        ("[a", "unclosed character class at character 1"),
        ("o)(f", "unopened group at character 2"),
        ("a{,2}", "needs decimal numbers, as in {0,3}"),
        (r"[\z]", "invalid escape sequence in a character class"),
        (r"[\w-a]", "invalid character class range at character 1"),
        ("(?i-i)foo", "'i' is twice in one group of flags; found at character 5"),
        (r"a\nb", "a line end"),
        ("a\nb", "a line end"),
        ("a\0", "a NUL character"),
    ],
)
async def test_a_wrong_pattern_is_explained_alike(
    tmp_path: Path, engine: str | None, pattern: str, reason: str
) -> None:
    plant(tmp_path, {"a": "foo\n"})

    with pytest.raises(ToolError) as failure:
        await call(GREP, tmp_path, pattern=pattern, ripgrep=engine)

    assert failure.value.code is ErrorCode.INVALID_PARAM
    assert failure.value.message.startswith("'pattern' is not a valid regular expression: ")
    assert reason in failure.value.message
    assert failure.value.next_step


async def test_what_only_ripgrep_can_do_is_said_without_it(tmp_path: Path) -> None:
    plant(tmp_path, {"a": "λ\n"})

    assert lines(await call(GREP, tmp_path, pattern=r"\p{Greek}")) == ["a:1:λ"]
    with pytest.raises(ToolError, match="needs ripgrep"):
        await call(GREP, tmp_path, pattern=r"\p{Greek}", ripgrep=PYTHON)


@both_engines
@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"file_type": "pyhton"}, "'file_type' 'pyhton' is unknown.", "Did you mean python"),
        ({"file_type": ".rs"}, "'file_type' '.rs' is unknown.", "Did you mean rust"),
        ({"include": "[a"}, "'include' is not a valid glob", "For example"),
    ],
)
async def test_a_wrong_filter_is_explained(
    tmp_path: Path, engine: str | None, arguments: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(ToolError) as failure:
        await call(GREP, tmp_path, pattern="x", ripgrep=engine, **arguments)

    assert failure.value.code is ErrorCode.INVALID_PARAM
    assert failure.value.message.startswith(message)
    assert hint in failure.value.next_step


@both_engines
async def test_a_binary_file_that_is_named_is_an_error(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": b"\0"})

    with pytest.raises(ToolError) as failure:
        await call(GREP, tmp_path, pattern="x", path="a", ripgrep=engine)

    assert failure.value.code is ErrorCode.BINARY_FILE


@both_engines
async def test_whole_outputs_are_searched_where_they_are_looked_for(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"tool-output/t.json": "needle", "tool-output/.gitignore": "*\n"})

    for path in ("tool-output", "tool-output/t.json"):
        response = await call(GREP, tmp_path, pattern="needle", path=path, ripgrep=engine)

        assert lines(response) == ["tool-output/t.json:1:needle"]


async def test_a_ripgrep_that_does_not_work_is_replaced_and_said(tmp_path: Path) -> None:
    plant(tmp_path, {"a": "needle", "rg": "#!/bin/sh\necho 'error: unrecognized flag --crlf' >&2\nexit 2\n"})
    (tmp_path / "rg").chmod(0o755)

    for program in (str(tmp_path / "rg"), str(tmp_path / "nothing"), "rg"):
        response = await call(GREP, tmp_path, pattern="^needle", ripgrep=program)

        assert (lines(response), response.data["fallback"]) == (["a:1:needle"], "python")


async def test_nothing_found_at_the_deadline_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep, "SECONDS", 0.7)
    plant(tmp_path, {"a": "a" * 40 + "b\n"})

    with pytest.raises(ToolError) as failure:
        await call(GREP, tmp_path, pattern="(a+)+$", ripgrep=PYTHON)

    assert failure.value.code is ErrorCode.TIMEOUT


async def test_what_was_found_before_the_deadline_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grep, "SECONDS", 1.5)
    plant(tmp_path, {"good": "aaa\n", "d/evil": "a" * 40 + "b\n"})

    response = await call(GREP, tmp_path, pattern="(a+)+$", ripgrep=PYTHON)

    assert (response.status, lines(response), response.data["truncated"]) == ("partial", ["good:1:aaa"], True)
    assert "at least 1 match" in response.text


@both_engines
async def test_a_cancelled_search_leaves_nothing_behind(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"a": "a" * 40 + "b\n", **{f"f{number}": "x" for number in range(200)}})
    surroundings = context(tmp_path, ripgrep=engine)
    descriptors, children = open_descriptors(), _children()
    task = asyncio.create_task(GREP.execute(GrepParams(pattern="(a+)+$"), surroundings))
    await asyncio.sleep(0.05)
    task.cancel()
    started = time.perf_counter()

    if engine == PYTHON:
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        await asyncio.wait([task])
    assert time.perf_counter() - started < 20  # by itself it would take years
    assert (open_descriptors(), _children()) == (descriptors, children)


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


@both_engines
async def test_nothing_is_left_behind(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, TREE)
    await call(GREP, tmp_path, pattern="needle", ripgrep=engine)
    before = open_descriptors(), _children()

    for pattern in ("needle", "nothing", "src"):
        await call(GREP, tmp_path, pattern=pattern, ripgrep=engine)

    assert (open_descriptors(), _children()) == before


async def test_the_output_is_what_grep_writes(tmp_path: Path) -> None:
    plant(tmp_path, {"a": "1\n2 x\n3\n"})

    plain = GREP.render(await call(GREP, tmp_path, pattern="x"))
    wide = GREP.render(await call(GREP, tmp_path, pattern="x", before=1, after=1))

    assert plain.splitlines()[1:] == ["a:2:2 x"]
    assert wide.splitlines()[1:] == ["a-1-1", "a:2:2 x", "a-3-3", "--"]


async def test_a_tree_that_is_nested_too_deeply_for_the_search_in_python_is_said(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (MAX_DEPTH + 2))
    deep.mkdir(parents=True)
    (deep / "f.md").write_text("needle\n")

    response = await call(GREP, tmp_path, ripgrep=PYTHON, pattern="needle")

    reasons = [skipped["reason"] for skipped in response.data["skipped"]]
    assert (response.status, reasons) == ("partial", ["nested too deeply to be searched"])


@both_engines
async def test_only_the_files(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, TREE)
    response = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", output="files")

    assert response.data["files"] == [".github/e.yml", "docs/c.md", "src/a.py", "src/b.py"]
    assert response.data["matches"] == []
    assert GREP.render(response).endswith("\n.github/e.yml\ndocs/c.md\nsrc/a.py\nsrc/b.py")


@both_engines
async def test_how_many_lines_match_in_each_file(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, TREE)
    response = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", path="src", output="count")

    assert response.data["counts"] == [{"file": "src/a.py", "matches": 2}, {"file": "src/b.py", "matches": 1}]
    assert GREP.render(response).endswith("\nsrc/a.py:2\nsrc/b.py:1")


@both_engines
@pytest.mark.parametrize("output", ["files", "count"])
async def test_one_file_by_itself_is_named(tmp_path: Path, engine: str | None, output: str) -> None:
    plant(tmp_path, TREE)
    response = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", path="src/a.py", output=output)

    assert GREP.render(response).endswith("\nsrc/a.py" if output == "files" else "\nsrc/a.py:2")


@both_engines
async def test_a_page_of_many_files(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {f"{number:05}": "x\n" for number in range(3000)})
    response = await call(GREP, tmp_path, ripgrep=engine, pattern="x", output="files", offset=10, limit=2)

    assert (response.status, response.data["files"]) == ("partial", ["00010", "00011"])
    assert (response.stats["total_files"], "offset=12 goes on" in response.text) == (3000, True)


@both_engines
async def test_matches_from_an_offset(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, TREE)
    page = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", path="src", offset=1, limit=1)
    last = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", path="src", offset=2)
    past = await call(GREP, tmp_path, ripgrep=engine, pattern="needle", path="src", offset=9)

    assert (lines(page), page.data["truncated"]) == (["src/a.py:3:Needle needle"], True)
    assert (lines(last), last.data["truncated"]) == (["src/b.py:2:needle = 1"], False)
    assert (lines(past), past.data["truncated"]) == ([], False)


@both_engines
@pytest.mark.parametrize("text", ["a.b", "f(x)", "[0]", "a|b", "{1}", "^$", "\\d+", "*"])
async def test_plain_text(tmp_path: Path, engine: str | None, text: str) -> None:
    plant(tmp_path, {"f": f"axb f x 0 a b 1 d\n=={text}==\n"})
    response = await call(GREP, tmp_path, ripgrep=engine, pattern=text, fixed_string=True)

    assert lines(response) == [f"f:2:=={text}=="]


@both_engines
async def test_no_version_control_is_searched(tmp_path: Path, engine: str | None) -> None:
    hidden = {f"{top}{name}/f": "needle\n" for name in (".git", ".hg", ".svn", ".jj") for top in ("", "sub/deep/")}
    plant(tmp_path, {**hidden, ".hgignore": "needle\n"})

    assert lines(await call(GREP, tmp_path, ripgrep=engine, pattern="needle")) == [".hgignore:1:needle"]


async def test_a_pattern_may_span_lines_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(\n    a,\n):\n    pass\n")
    (tmp_path / "b.txt").write_bytes(b"one\r\ntwo\r\n")
    box = Toolbox(tmp_path)
    found = await box("grep", pattern=r"def f\([^)]*\)", multiline=True)
    plain = await box("grep", pattern="one\ntwo", multiline=True, fixed_string=True)
    alone = await box("grep", pattern="one\ntwo")
    broken = await box("grep", pattern="(one\n", multiline=True)

    assert [(match["line"], match["text"]) for match in found.data["matches"]] == [
        (1, "def f("),
        (2, "    a,"),
        (3, "):"),
    ]
    assert [match["text"] for match in plain.data["matches"]] == ["one", "two"]
    for response in (alone, broken):
        assert response.error is not None
        assert response.error.code == "INVALID_PARAM"
    assert "multiline=true" in alone.text


async def test_a_dot_that_matches_no_line_end_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("start\nmiddle\nend\n")
    box = Toolbox(tmp_path)

    assert "'(?s)'" in (await box("grep", pattern="start.*end", multiline=True)).text
    found = await box("grep", pattern="(?s)start.*end", multiline=True)
    assert [match["line"] for match in found.data["matches"]] == [1, 2, 3]


RUSSIAN = "Привет мир, это обычный текст на русском языке: TODO\n"
CHINESE = "这是一个普通的中文句子，用来测试搜索功能。TODO\n"
JAPANESE = "これは検索のためのふつうの日本語の文です。TODO\n"
GERMAN = "Die Straße und die Tür sind schön: größer als früher. TODO\n"


@both_engines
@pytest.mark.parametrize(
    ("text", "codec", "name", "pattern"),
    [
        (RUSSIAN, "cp1251", "windows-1251", "Привет"),
        (RUSSIAN, "koi8-r", "koi8-r", "Пока|обычный"),
        (CHINESE, "gb18030", "gb18030", "普通的中文"),
        (JAPANESE, "shift_jis", "shift_jis", "検索の.*日本語"),
        (GERMAN, "latin-1", "latin-1", r"sch\xf6n"),
    ],
)
async def test_text_is_found_in_files_of_older_encodings(
    tmp_path: Path, engine: str | None, text: str, codec: str, name: str, pattern: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/old.txt").write_bytes((text * 4).encode(codec))
    (tmp_path / "docs/new.txt").write_text(text)
    (tmp_path / "docs/other.txt").write_text("nothing\n")

    tree = await call(GREP, tmp_path, ripgrep=engine, pattern=pattern)
    alone = await call(GREP, tmp_path, ripgrep=engine, pattern=pattern, path="docs/old.txt", before=1)
    files = await call(GREP, tmp_path, ripgrep=engine, pattern=pattern, output="count", path="docs")

    old = [("docs/old.txt", line) for line in (1, 2, 3, 4)]
    assert [(match["file"], match["line"]) for match in tree.data["matches"]] == [("docs/new.txt", 1), *old]
    assert {match["text"] for match in tree.data["matches"]} == {text.rstrip("\n")}
    assert f"searched as what they probably are ({name}): 'docs/old.txt'" in tree.text
    assert [(match["file"], match["line"]) for match in alone.data["matches"]] == old
    assert alone.data["matches"][1]["before"] == [text.rstrip("\n")]
    assert name in alone.text
    assert files.data["counts"] == [{"file": "docs/new.txt", "matches": 1}, {"file": "docs/old.txt", "matches": 4}]


@both_engines
async def test_ascii_in_a_file_of_an_older_encoding_is_found_and_the_file_is_named(
    tmp_path: Path, engine: str | None
) -> None:
    (tmp_path / "old.txt").write_bytes((RUSSIAN * 4).encode("cp1251"))

    found = await call(GREP, tmp_path, ripgrep=engine, pattern="TODO", path="old.txt")

    assert len(found.data["matches"]) == 4
    assert "probably windows-1251" in found.text


@both_engines
async def test_a_file_with_some_damaged_bytes_is_searched_as_it_is(tmp_path: Path, engine: str | None) -> None:
    (tmp_path / "a.txt").write_bytes(RUSSIAN.encode() + b"\xff\xfe broken\n")

    found = await call(GREP, tmp_path, ripgrep=engine, pattern="Привет")

    assert [match["text"] for match in found.data["matches"]] == [RUSSIAN.rstrip("\n")]
    assert "probably" not in found.text


@both_engines
async def test_secret_ignored_and_other_files_of_older_encodings_stay_out(tmp_path: Path, engine: str | None) -> None:
    for name in (".env", "ignored.txt", "a.py", "a.txt"):
        (tmp_path / name).write_bytes((RUSSIAN * 2).encode("cp1251"))
    (tmp_path / ".gitignore").write_text("ignored.txt\n")

    found = await call(GREP, tmp_path, ripgrep=engine, pattern="Привет", include="*.txt")
    every = await call(GREP, tmp_path, ripgrep=engine, pattern="Привет", output="files")

    assert {match["file"] for match in found.data["matches"]} == {"a.txt"}
    assert every.data["files"] == ["a.py", "a.txt"]


@both_engines
async def test_more_files_of_older_encodings_than_are_decoded_are_counted(
    tmp_path: Path, engine: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.search.grep_search.MAX_FILES", 2)
    for number in range(5):
        (tmp_path / f"{number}.txt").write_bytes((RUSSIAN * 2).encode("cp1251"))

    found = await call(GREP, tmp_path, ripgrep=engine, pattern="Привет", output="files")

    assert found.data["files"] == ["0.txt", "1.txt"]
    assert "3 further files are not UTF-8 and not searched for this pattern" in found.text


@both_engines
async def test_a_large_file_of_an_older_encoding_is_counted(
    tmp_path: Path, engine: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("grep_search", "legacy_encodings"):
        monkeypatch.setattr(f"toolgate.search.{module}.MAX_BYTES", 100)
    (tmp_path / "large.txt").write_bytes((RUSSIAN * 9).encode("cp1251"))
    (tmp_path / "small.txt").write_bytes(RUSSIAN.encode("cp1251"))

    found = await call(GREP, tmp_path, ripgrep=engine, pattern="Привет", output="files")

    assert found.data["files"] == ["small.txt"]
    assert "1 further file is not UTF-8 and not searched for this pattern" in found.text
