"""docs/extending.md: its files exist, its tables are those of the code, and its changes work as they are written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from toolgate.gateway.methods import Methods
from toolgate.protocol.choices import LAYERS, PROVIDERS, TRUNCATIONS
from toolgate.protocol.requests import METHODS
from toolgate.runtime.policy.kinds import KINDS
from toolgate.tools.builtin import builtin_tools

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}
_EDIT = re.compile(
    r"^(?:(?P<new>New file) |(?P<end>At the end of )|In )`(?P<path>[^`]+)`"
    r"(?:, (?P<how>after|before|replace) `(?P<anchor>[^\n]+)`)?:\n\n```\w+\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMANDS = re.compile(r"^Check it:\n\n((?:    .+\n?)+)", re.MULTILINE)
_NAMED = re.compile(r"`((?:src|tests|scripts|docs)/[\w./]*)`")


class Edit(NamedTuple):
    """One change of one file."""

    path: str
    how: str
    anchor: str
    code: str


def _edits(section: str) -> list[Edit]:
    found = _EDIT.finditer(SECTIONS[section])
    return [
        Edit(
            one["path"], "new" if one["new"] else "end" if one["end"] else one["how"], one["anchor"] or "", one["code"]
        )
        for one in found
    ]


def _commands(section: str) -> list[list[str]]:
    found = _COMMANDS.search(SECTIONS[section])
    assert found is not None, f"{section}: no commands"
    return [line.split() for line in found[1].splitlines()]


def _apply(edit: Edit, project: Path) -> None:
    path = project / edit.path
    if edit.how == "new":
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(edit.code, encoding="utf-8")
        return
    text, anchor = path.read_text(encoding="utf-8"), edit.anchor + "\n"
    if edit.how == "end":
        path.write_text(text + edit.code, encoding="utf-8")
        return
    assert text.count(f"\n{anchor}") == 1, f"{edit.path} has no single line {edit.anchor!r}"
    new = {"after": anchor + edit.code, "before": edit.code + anchor, "replace": edit.code}[edit.how]
    path.write_text(text.replace(f"\n{anchor}", f"\n{new}"), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project."""
    copy = tmp_path / "project"
    for folder in ("src", "tests", "scripts", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("images", "data"))
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, copy / file)
    return copy


def test_the_page_has_the_six_changes() -> None:
    names = ["A tool", "A policy rule kind", "A sandbox layer", "A model provider", "A wire method", "A truncation"]
    assert list(SECTIONS) == names
    assert all(_edits(section) and _commands(section) for section in names)


def test_every_file_that_the_page_names_exists_or_is_made_by_it() -> None:
    made = {edit.path for section in SECTIONS for edit in _edits(section) if edit.how == "new"}
    named = {path for path in _NAMED.findall(PAGE) if not re.search(r"NAME|METHOD", path)}
    assert len(named) > 20
    assert sorted(path for path in named - made if not (ROOT / path).exists()) == []


def test_every_block_of_code_is_a_change() -> None:
    blocks = sum(text.count("\n```") // 2 for text in SECTIONS.values())
    assert blocks == sum(len(_edits(section)) for section in SECTIONS)


def test_the_tables_are_where_the_page_says() -> None:
    assert {"current_time", "grep", "Bash"} <= {tool.name for tool in builtin_tools()}
    assert {"words", "args"} <= KINDS.keys()
    assert {"bwrap", "landlock", "off"} <= LAYERS.keys()
    assert {"offline", "openai", "anthropic"} <= PROVIDERS.keys()
    assert {"head", "tail", "head_tail"} <= TRUNCATIONS.keys()
    assert {"chat.send", "session.list"} <= METHODS.keys()
    assert callable(Methods.call)


@pytest.mark.slow
@pytest.mark.timeout(300)  # a copy of the project, and other processes that run its tests
@pytest.mark.parametrize("section", SECTIONS)
def test_the_change_works_as_it_is_written(section: str, project: Path) -> None:
    for edit in _edits(section):
        _apply(edit, project)
    environ = {**os.environ, "PYTHONPATH": str(project / "src"), "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:randomly"}
    for command in _commands(section):
        assert command[0] == "python"
        done = subprocess.run(
            [sys.executable, *command[1:]], cwd=project, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
