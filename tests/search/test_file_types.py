"""File types: those of ripgrep, and the nearest names of one that does not exist."""

import re
import subprocess

import pytest

from toolgate.search import ripgrep
from toolgate.search.file_types import FILE_TYPES, similar


def program() -> str:
    """The ripgrep of this environment."""
    found = ripgrep.find(None, "/project")
    assert found is not None
    return found


def test_the_types_are_those_of_ripgrep() -> None:
    listed = subprocess.run([program(), "--type-list"], capture_output=True, text=True, check=True).stdout
    theirs = {name: globs.split(", ") for name, globs in re.findall(r"^(\w[\w-]*): (.*)$", listed, re.MULTILINE)}

    assert {name: sorted(globs) for name, globs in FILE_TYPES.items()} == {
        name: sorted(theirs[name]) for name in FILE_TYPES
    }


@pytest.mark.parametrize(
    ("name", "meant"), [("rs", "rust"), ("*.kt", "kotlin"), ("javscript", "typescript"), ("Python", "python")]
)
def test_a_wrong_type_has_neighbours(name: str, meant: str) -> None:
    assert meant in similar(name)
