"""`glob`."""

import asyncio
import os
import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.searching import ENGINES, PYTHON, call, context, open_descriptors, plant, unprivileged
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.search.walk import MAX_DEPTH
from toolgate.tools.builtin import glob
from toolgate.tools.builtin.glob import GlobParams, GlobTool

GLOB = GlobTool()
both_engines = pytest.mark.parametrize("engine", ENGINES, ids=["ripgrep", "python"])

TREE: dict[str, str | bytes] = {
    "a.py": "",
    "src/b.py": "",
    "src/x/c.py": "",
    "src/x/d.ts": "",
    "docs/e.md": "",
    ".github/w.yml": "",
    "build/f.py": "",
    "src/g.log": "",
    ".gitignore": "build/\n*.log\n",
    ".git/config": "",
}


async def test_the_envelope_is_whole(tmp_path: Path) -> None:
    plant(tmp_path, TREE)

    response = await call(GLOB, tmp_path, pattern="**/*.py")

    assert response.to_dict() == {
        "status": "success",
        "data": {"paths": ["a.py", "src/b.py", "src/x/c.py"], "truncated": False},
        "text": "Found 3 files for '**/*.py'. Files that .gitignore excludes were not listed; "
        "pass include_ignored=true to include them.",
        "stats": {"total_paths": 3, "total_matches": 3},
        "context": {"path_resolved": "."},
    }


@both_engines
@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/x/c.py"]),
        ("src/**", ["src/b.py", "src/x/c.py", "src/x/d.ts"]),
        ("**/x/*.{py,ts}", ["src/x/c.py", "src/x/d.ts"]),
        ("{src,docs}/*", ["docs/e.md", "src/b.py"]),
        ("**/[a-c].py", ["a.py", "src/b.py", "src/x/c.py"]),
        ("./src/./b.py", ["src/b.py"]),
        ("src/../a.py", ["a.py"]),
        ("*/w.yml", [".github/w.yml"]),
        (".g*", [".gitignore"]),
        ("**/config", []),
        ("src", []),
        ("nothing/**", []),
        ("build/**", []),
        ("a.py/**", []),
        ("src/**/**/c.*", ["src/x/c.py"]),
        ("**/{b,c}.py", ["src/b.py", "src/x/c.py"]),
        ("{src/**,docs}/*.{py,md}", ["docs/e.md", "src/b.py", "src/x/c.py"]),
        ("a.py/*", []),
        (".", []),
    ],
)
async def test_patterns_are_relative_to_the_path(
    tmp_path: Path, engine: str | None, pattern: str, paths: list[str]
) -> None:
    plant(tmp_path, TREE)

    assert (await call(GLOB, tmp_path, pattern=pattern, ripgrep=engine)).data["paths"] == paths


@pytest.mark.parametrize(
    ("path", "pattern", "paths"),
    [
        ("src", "*.py", ["src/b.py"]),
        ("src", "**/*.ts", ["src/x/d.ts"]),
        ("src/x", "../b.py", ["src/b.py"]),
        ("src", "x/c.py", ["src/x/c.py"]),
        ("build", "*", ["build/f.py"]),
    ],
)
async def test_a_path_is_where_the_walk_starts(tmp_path: Path, path: str, pattern: str, paths: list[str]) -> None:
    plant(tmp_path, TREE)

    assert (await call(GLOB, tmp_path, path=path, pattern=pattern)).data["paths"] == paths


async def test_an_absolute_pattern_inside_the_root_is_accepted(tmp_path: Path) -> None:
    plant(tmp_path, TREE)

    for path in (".", "src", "docs"):
        response = await call(GLOB, tmp_path, path=path, pattern=f"{tmp_path}/src/*.py")

        assert response.data["paths"] == ["src/b.py"]


@both_engines
async def test_rules_from_above_the_path_count(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {".gitignore": "*.log\n/src/gen/\n", "src/.gitignore": "!keep.log\n"})
    plant(tmp_path, {"src/x/keep.log": "", "src/x/a.log": "", "src/gen/g": "", "src/x/gen/h": ""})

    assert (await call(GLOB, tmp_path, ripgrep=engine, path="src/x", pattern="**")).data["paths"] == [
        "src/x/gen/h",
        "src/x/keep.log",
    ]
    assert (await call(GLOB, tmp_path, ripgrep=engine, path="src", pattern="*/*")).data["paths"] == ["src/x/keep.log"]


@both_engines
async def test_ignored_files_are_included_on_request(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, TREE)

    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="**/*.{py,log}", include_ignored=True)

    assert response.data["paths"] == ["a.py", "build/f.py", "src/b.py", "src/g.log", "src/x/c.py"]
    assert "ignore" not in response.text


@both_engines
async def test_the_first_by_path_are_kept_and_all_are_counted(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {f"d{number % 7}/f{number:04}": "" for number in range(500)})
    everything = await call(GLOB, tmp_path, ripgrep=engine, pattern="**", limit=1000)

    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="**", limit=3)

    assert response.status == "partial"
    assert response.data == {"paths": everything.data["paths"][:3], "truncated": True}
    assert (response.stats["total_paths"], everything.stats["total_paths"]) == (500, 500)
    assert "larger limit" in response.text


@both_engines
async def test_links_to_files_are_listed_and_links_to_directories_are_not_entered(
    tmp_path: Path, engine: str | None
) -> None:
    plant(tmp_path, {"root/AGENTS.md": "", "root/d/f": "", "out/secret": ""})
    root = tmp_path / "root"
    for name, target in {
        "CLAUDE.md": "AGENTS.md",
        "loop": ".",
        "dangling": "nothing",
        "escape": "../out/secret",
        "outside": "../out",
        "d/deep": "f",
    }.items():
        (root / name).symlink_to(target)

    assert (await call(GLOB, root, pattern="**", ripgrep=engine)).data["paths"] == ["AGENTS.md", "CLAUDE.md", "d/f"]
    assert (await call(GLOB, root, pattern="*/*", ripgrep=engine)).data["paths"] == ["d/deep", "d/f"]
    assert (await call(GLOB, root, pattern="d/**", ripgrep=engine)).data["paths"] == ["d/deep", "d/f"]
    assert (await call(GLOB, root, pattern="loop/**", ripgrep=engine)).data["paths"] == []


@pytest.mark.parametrize("name", ["..foo", "a..b", "...", "-rf", " x ", "new\nline", "é", "e\u0301", "a'b\"c", "#x"])
async def test_odd_names_make_the_round_trip(tmp_path: Path, name: str) -> None:
    plant(tmp_path, {f"d/{name}": "", "d/other": ""})

    assert (await call(GLOB, tmp_path, pattern=f"d/{name}")).data["paths"] == [f"d/{name}"]
    assert f"d/{name}" in (await call(GLOB, tmp_path, pattern="**")).data["paths"]


async def test_special_characters_can_be_escaped(tmp_path: Path) -> None:
    plant(tmp_path, {"[x]*{y}": "", "xy": ""})

    assert (await call(GLOB, tmp_path, pattern=r"\[x\]\*\{y\}")).data["paths"] == ["[x]*{y}"]


@both_engines
async def test_a_name_that_is_not_utf8_is_replaced(tmp_path: Path, engine: str | None) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.txt", os.O_CREAT))

    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="*.txt")

    assert response.data["paths"] == ["\ufffd.txt"]
    response.to_json().encode()


@both_engines
async def test_the_own_files_of_the_runtime_are_never_listed(tmp_path: Path, engine: str | None) -> None:
    plant(
        tmp_path, {".toolgate/journal/1": "", "tool-output/t.json": "", ".toolgate-tmp-1": "", "d/.git/x": "", "a": ""}
    )

    assert (await call(GLOB, tmp_path, ripgrep=engine, pattern="**", include_ignored=True)).data["paths"] == ["a"]


async def test_whole_outputs_are_found_where_they_are_looked_for(tmp_path: Path) -> None:
    plant(tmp_path, {"tool-output/t.json": "", "tool-output/.gitignore": "*\n"})

    response = await call(GLOB, tmp_path, path="tool-output", pattern="*.json")

    assert response.data["paths"] == ["tool-output/t.json"]


@pytest.mark.parametrize("pattern", ["[a", "{a,b", "a\\", "a\0b"])
async def test_a_pattern_that_cannot_be_understood_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="'pattern' is not a valid glob") as failure:
        await call(GLOB, tmp_path, pattern=pattern)

    assert failure.value.code is ErrorCode.INVALID_PARAM


@both_engines
async def test_a_directory_without_permission_is_said(public_path: Path, engine: str | None) -> None:
    plant(public_path, {"d/x": "", "a": ""})
    (public_path / "d").chmod(0)

    with unprivileged():
        response = await call(GLOB, public_path, pattern="**", ripgrep=engine)

    assert (response.status, response.data["paths"]) == ("partial", ["a"])
    assert "1 directory could not be read: 'd" in response.text


async def test_at_the_deadline_there_is_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {"a": "", "d/b": ""})
    monkeypatch.setattr(glob, "SECONDS", -1.0)

    response = await call(GLOB, tmp_path, pattern="**", ripgrep=PYTHON)

    assert (response.status, response.data) == ("partial", {"paths": ["a"], "truncated": True})
    with pytest.raises(ToolError) as failure:
        await call(GLOB, tmp_path, pattern="**/b", ripgrep=PYTHON)
    assert failure.value.code is ErrorCode.TIMEOUT


async def test_a_cancelled_walk_ends(tmp_path: Path) -> None:
    plant(tmp_path, {f"d{number}/{name}": "" for number in range(300) for name in "abc"})
    surroundings = context(tmp_path)
    before = open_descriptors()
    task = asyncio.create_task(GLOB.execute(GlobParams(pattern="**"), surroundings))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert open_descriptors() == before


async def test_a_hostile_pattern_takes_no_time(tmp_path: Path) -> None:
    plant(tmp_path, {"a" * 200: ""})
    started = time.process_time()

    assert (await call(GLOB, tmp_path, pattern="*a" * 50 + "b")).data["paths"] == []
    assert time.process_time() - started < 2


def test_the_description_says_what_a_model_must_know() -> None:
    assert re.search("include_ignored", GLOB.description)
    assert GLOB.parameters["required"] == ["pattern"]


@both_engines
@pytest.mark.parametrize(
    "pattern", ["*.md", "*", "src/*.py", "src/*", "*/*.md", "{a,src}/*.py", "README.md", "src/x/*"]
)
async def test_directories_at_the_depth_of_the_pattern_are_not_missed(
    tmp_path: Path, engine: str | None, pattern: str
) -> None:
    plant(tmp_path, {"README.md": "", "src/a.py": "", "src/x/b.py": "", "src/x/y/z/c.py": "", "docs/d/e.md": ""})

    response = await call(GLOB, tmp_path, ripgrep=engine, pattern=pattern)

    assert (response.status, "too deeply" in response.text) == ("success", False)


@both_engines
@pytest.mark.parametrize("pattern", ["*.md", "{docs,src}/*.md", "src/**/*.md", "{docs,src}/**/*.md"])
async def test_a_closed_directory_where_nothing_can_match_is_not_missed(
    public_path: Path, engine: str | None, pattern: str
) -> None:
    plant(public_path, {"README.md": "", "src/a.md": "", "docs/b.md": "", "private/c.md": ""})
    (public_path / "private").chmod(0)
    with unprivileged():
        response = await call(GLOB, public_path, ripgrep=engine, pattern=pattern)
        closed = await call(GLOB, public_path, ripgrep=engine, pattern="*/*.md")
    (public_path / "private").chmod(0o755)

    assert (response.status, "could not be read" in response.text) == ("success", False)
    assert (closed.status, "1 directory could not be read: 'private/'" in closed.text) == ("partial", True)


@both_engines
async def test_a_tree_that_is_nested_too_deeply_for_the_walk_is_said(tmp_path: Path, engine: str | None) -> None:
    deep = tmp_path.joinpath(*["d"] * (MAX_DEPTH + 2))
    deep.mkdir(parents=True)
    (deep / "f.md").touch()

    everywhere = await call(GLOB, tmp_path, ripgrep=engine, pattern="**/*.md")
    near = await call(GLOB, tmp_path, ripgrep=engine, pattern="d/*")

    found = (everywhere.status, everywhere.stats["total_paths"], "too deeply" in everywhere.text)
    assert found == (("success", 1, False) if engine is None else ("partial", 0, True))
    assert near.status == "success"


NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.md", ".h"])
SEGMENTS = st.sampled_from(["*", "a", "b", "a*", "*.py", "?", "[ab]", "*b*", "**"])


@both_engines
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=12),
    pattern=st.lists(SEGMENTS, min_size=1, max_size=4),
)
def test_what_is_found_is_what_pathlib_finds(
    tmp_path: Path, engine: str | None, files: list[list[str]], pattern: list[str]
) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        root = Path(folder)
        for parts in files:
            with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                root.joinpath(*parts[:-1]).mkdir(parents=True, exist_ok=True)
                root.joinpath(*parts).touch()
        joined = "/".join(pattern)
        # pathlib finds only directories for a pattern that ends with '**'
        every = root.glob(f"{joined}/*" if pattern[-1] == "**" else joined)
        expected = sorted({str(path.relative_to(root)) for path in every if path.is_file()})
        response = asyncio.run(call(GLOB, root, ripgrep=engine, pattern=joined))

    assert (response.status, response.data["paths"]) == ("success", expected)


@both_engines
@pytest.mark.parametrize("git", ["a/b/.git/info/exclude", "a/b/.git"], ids=["directory", "file"])
async def test_a_repository_that_lies_deep_is_not_listed(tmp_path: Path, engine: str | None, git: str) -> None:
    plant(tmp_path, {"a/b/kept.py": "", "a/b/.gitattributes": "", git: "x\n"})

    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="**")

    assert response.data["paths"] == ["a/b/.gitattributes", "a/b/kept.py"]


@both_engines
async def test_brackets_that_match_nothing_are_read_as_names(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"app/[id]/page.tsx": "", "app/[...all]/page.tsx": "", "app/x/page.tsx": ""})
    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="app/[id]/page.tsx")

    assert response.data["paths"] == ["app/[id]/page.tsx"]
    assert "The brackets were read as part of the names" in response.text


@both_engines
async def test_a_set_that_matches_stays_a_set(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {"app/[id]/page.tsx": "", "app/i/page.tsx": ""})
    response = await call(GLOB, tmp_path, ripgrep=engine, pattern="app/[id]/page.tsx")

    assert (response.data["paths"], "brackets" in response.text) == (["app/i/page.tsx"], False)


@both_engines
async def test_no_version_control_is_listed(tmp_path: Path, engine: str | None) -> None:
    hidden = {f"{top}{name}/f": "" for name in (".git", ".hg", ".svn", ".jj") for top in ("", "sub/deep/")}
    plant(tmp_path, {**hidden, "sub/f": ""})

    assert (await call(GLOB, tmp_path, ripgrep=engine, pattern="**/f")).data["paths"] == ["sub/f"]
