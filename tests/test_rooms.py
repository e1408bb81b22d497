"""The rooms' walls that neither import-linter nor ruff's banned-api can see: builtins and methods of pathlib."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "toolgate"
NOT_THE_PROJECT = {
    SOURCE / "cli" / "errors.py",  # replaces a closed standard stream with /dev/null
    SOURCE / "transcript.py",  # reads and writes the file that a test names
    SOURCE / "userfiles.py",  # reads the user's config file, outside every project
    SOURCE / "gateway" / "assets.py",  # reads the page's own files, a part of this package, once
    SOURCE / "plugins.py",  # reads the metadata of installed packages, to find their entry points
    SOURCE / "sessions" / "files.py",  # makes and checks the database's own file, outside every project
    SOURCE / "sessions" / "sqlite_log.py",  # reads the log that SQLite keeps beside that file
    SOURCE / "process",  # finds programs, and reads about processes in /proc
    SOURCE / "sandbox",  # makes the private places of a sandbox, and looks at the repository that it protects
}
OPENS = {
    "open",
    "io.open",
    "os.open",
    "os.scandir",
    "os.listdir",
    "os.walk",
    "os.mkdir",
    "os.makedirs",
    "os.remove",
    "os.unlink",
    "os.rename",
    "os.replace",
    "os.link",
    "os.symlink",
    "os.truncate",
}
PATH_METHODS = {
    "open",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "iterdir",
    "rglob",
    "unlink",
    "mkdir",
    "rmdir",
    "touch",
    "symlink_to",
    "hardlink_to",
}
STARTS = (
    "subprocess",
    "multiprocessing",
    "pty",
    "os.exec",
    "os.fork",
    "os.spawn",
    "os.posix_spawn",
    "os.system",
    "os.popen",
)


def _modules(*, outside: str) -> Iterator[Path]:
    return (path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] != outside)


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Everything that is called or imported, as dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


DECODES = {"PIL.Image.open", "Image.open"}
"""Decode what is open already: the worker of `documents/` gets a descriptor and cannot open files of the project."""


def _opening(code: str) -> list[str]:
    """The names in `code` that open, list or change files of a host; a module's own text is none."""
    return [
        f"{line}: {name}"
        for line, name in _names(ast.parse(code))
        if (name in OPENS or name.rpartition(".")[2] in PATH_METHODS)
        and not name.startswith("toolgate.")
        and name not in DECODES
        and not name.endswith(
            (
                "journal.open",
                "workspace.read_text",
                "workspace.write_text",
                "with_suffix('.md').read_text",
                "with_name('declarations.json').read_bytes",
            )
        )
    ]


LABELS = ("Lives here: ", "May touch: ", "Start reading: ")
NAMED = re.compile(r"`((?:\w+/)*\w+(?:\.py|/))`")
"""A module or a directory in a docstring."""


def _docstrings() -> Iterator[tuple[Path, str]]:
    """Every package with its docstring."""
    for path in sorted(SOURCE.rglob("__init__.py")):
        yield path.parent, ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


@pytest.mark.parametrize("room", sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")))
def test_a_room_says_what_lives_there_what_it_may_touch_and_where_to_start_reading(room: str) -> None:
    lines = dict(_docstrings())[SOURCE / room].splitlines()
    assert [label for label in LABELS if not any(line.startswith(label) for line in lines)] == []


def test_the_modules_that_a_package_names_exist() -> None:
    gone = [
        f"{package.relative_to(SOURCE)}: {name}"
        for package, text in _docstrings()
        for name in NAMED.findall(text)
        if not any((place / name).exists() for place in (package, SOURCE))
    ]

    assert gone == []


def test_contributing_has_the_order_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    order = re.sub(r"\s+", " ", text[text.index("    cli > ") : text.index("Only `workspace/`")])

    assert order.strip().replace(", ", " | ").split(" > ") == [re.sub(r"[()]", "", layer) for layer in contract]


def test_only_the_workspace_opens_files() -> None:
    hits = [
        f"{path.relative_to(SOURCE)}:{hit}"
        for path in _modules(outside="workspace")
        if NOT_THE_PROJECT.isdisjoint([path, *path.parents])
        for hit in _opening(path.read_text(encoding="utf-8"))
    ]

    assert hits == []


def test_only_the_process_room_starts_processes() -> None:
    hits = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in _modules(outside="process")
        if SOURCE / "sandbox" / "supervisor" not in path.parents  # a program of its own
        for _, name in _names(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith(STARTS) or "create_subprocess" in name
    ]

    assert hits == []


@pytest.mark.parametrize(
    "code",
    ["open('x')", "os.open('x', 0)", "Path('x').read_text()", "path.open()", "from os import open", "os.listdir('.')"],
)
def test_the_wall_notices(code: str) -> None:
    assert len(_opening(code)) == 1


@pytest.mark.parametrize(
    "code", ["workspace.open_file('x')", "toolgate.open('.')", "Path(__file__).with_suffix('.md').read_text()"]
)
def test_the_wall_lets_through_what_is_not_a_host_file(code: str) -> None:
    assert _opening(code) == []


def test_importing_toolgate_loads_no_heavy_package() -> None:
    heavy = (
        "structlog",
        "tree_sitter",
        "jsonschema_rs",
        "rich",
        "prompt_toolkit",
        "opentelemetry",
    )
    code = f"import sys, toolgate; print(sorted(set({heavy!r}) & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_importing_toolgate_says_and_creates_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import toolgate, toolgate.cli"],
        capture_output=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
    )

    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == (b"", b"", [])
