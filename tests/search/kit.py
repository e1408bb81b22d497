"""Random trees and questions, for the comparison of the two search engines."""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.searching import ENGINES, call
from toolgate.errors import ToolError
from toolgate.tools.base import Tool

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


NAMES = "a b ab foo.py bar.txt x.log build src node_modules .hidden déjà sp\u00a0ace -rf [x] Makefile a.b.c é.md".split(
    " "
)

WORDS = [
    "foo",
    "bar",
    "Foo",
    "BAR",
    "a1",
    "_x",
    "é",
    "ß",
    "日本",
    "",
    "  ",
    "\t",
    "foo_bar",
    "12",
    "x-y",
    "\r",
    "\x0c",
    "\u00a0",
]

RULES = (
    "*.log build build/ /src src/ !foo.py foo.py **/a a/** a/* *.py !*.py /a/b a/**/b [ab] ? * !src !src/ "
    "node_modules/ b* *b* \\[x\\] #c /*/foo.py **/src/** src/**/x.log *.{py,txt} !/a/ ab/ ** /** é* [!a] [^a]*"
).split()


texts = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), st.sampled_from(["\n", "\n", "\r\n", ""])),
    max_size=6,
).map(lambda parts: "".join(text + end for text, end in parts))

contents = st.one_of(
    texts.map(str.encode),
    texts.map(lambda text: b"\xef\xbb\xbf" + text.encode()),
    texts.map(lambda text: text.encode("utf-16")),
    texts.map(lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    texts.map(lambda text: text.encode() + b"\xff\n" + text.encode()[:3]),
    texts.map(lambda text: text.encode() + b"\0" + text.encode()),
    texts.map(lambda text: text.encode("latin-1", "replace")),
)

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)

rule_files = st.lists(st.sampled_from(RULES), min_size=1, max_size=3).map("\n".join)

trees = st.fixed_dictionaries(
    {
        "files": st.dictionaries(paths, contents, min_size=1, max_size=14),
        "rules": st.dictionaries(st.one_of(st.just("."), paths), rule_files, max_size=4),
        "excludes": st.dictionaries(st.one_of(st.just("."), paths), rule_files, max_size=1),
        "links": st.dictionaries(paths, st.sampled_from([".", "..", "/etc", "a", "foo.py"]), max_size=2),
    }
)


def grow(root: Path, tree: dict[str, Any]) -> None:
    """Make a tree; what is in the way of something else stays away."""
    for path, content in tree["files"].items():
        write(root / path, content)
    for folder, rules in tree["rules"].items():
        write(root / folder / ".gitignore", rules.encode())
    for folder, rules in tree["excludes"].items():
        write(root / folder / ".git" / "info" / "exclude", rules.encode())
    for path, target in tree["links"].items():
        if (root / path).parent.is_dir() and not os.path.lexists(root / path):
            (root / path).symlink_to(target)


def write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return


async def outcome(root: Path, tool: Tool[Any], engine: str | None, arguments: dict[str, Any]) -> Any:
    """Everything that a search says, apart from which engine it was."""
    try:
        response = await call(tool, root, ripgrep=engine, **arguments)
    except ToolError as error:
        return error.code, error.message
    return response.data | {"fallback": ""}, response.stats


few = settings(
    max_examples=15 * TORTURE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def agree(tree: dict[str, Any], tool: Tool[Any], some: list[dict[str, Any]]) -> None:
    """Make the tree, and compare what both engines say about it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        grow(root, tree)
        for arguments in some:
            first, second = (asyncio.run(outcome(root, tool, engine, arguments)) for engine in ENGINES)
            assert first == second
