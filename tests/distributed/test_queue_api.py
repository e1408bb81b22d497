"""The queue's library is used through its public API: by one module, without its tables and without private names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolgate

SOURCE = Path(toolgate.__file__).parent
QUEUE = SOURCE / "distributed" / "queue.py"
MODULES = sorted(SOURCE.rglob("*.py"))
LIBRARIES = ("pgqueuer", "dbos", "procrastinate")
TABLES = re.compile(r"(?i)\b(pgqueuer(_log|_statistics|_schedules)?|dbos\.\w+|procrastinate_\w+)\b")
STATEMENT = re.compile(r"(?i)\b(select|insert|update|delete|truncate|alter|drop|create|lock)\b")


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _texts(tree: ast.AST) -> Iterator[str]:
    """The texts in the code, without docstrings."""
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.value


def _statements_on_its_tables(code: str) -> list[str]:
    return [text for text in _texts(ast.parse(code)) if TABLES.search(text) and STATEMENT.search(text)]


def _private(code: str) -> list[str]:
    """Private names of anything but this module's own, and assignments to attributes: they could patch the library."""
    tree = ast.parse(code)
    found = [name for name in _imports(tree) if re.search(r"(^|\.)_", name.replace("__future__", ""))]
    for node in ast.walk(tree):
        named = isinstance(node, ast.Attribute) and (_is_private(node.attr) or isinstance(node.ctx, ast.Store))
        patched = isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "vars")
        if named or patched:
            found.append(ast.unparse(node))
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def test_one_module_knows_the_library() -> None:
    users = {
        str(path.relative_to(SOURCE)): sorted(set(_outside_of_types(path.read_text(encoding="utf-8"))))
        for path in MODULES
    }

    assert {name for name, found in users.items() if found} == {"distributed/queue.py"}


def _outside_of_types(code: str) -> Iterator[str]:
    """The imports of a library that are made when the program runs."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return (name for name in _imports(tree) if name.partition(".")[0] in LIBRARIES)


def test_no_statement_names_a_table_of_the_library() -> None:
    found = {
        str(path.relative_to(SOURCE)): _statements_on_its_tables(path.read_text(encoding="utf-8")) for path in MODULES
    }

    assert {name: texts for name, texts in found.items() if texts} == {}


def test_no_private_name_is_used_and_nothing_is_patched() -> None:
    assert _private(QUEUE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "transaction.run(\"UPDATE dbos.workflow_status SET status = 'ENQUEUED'\")",
        'transaction.rows(f"SELECT id FROM pgqueuer.pgqueuer WHERE id = {number}")',
        'sql = "DELETE FROM pgqueuer_log"',
    ],
)
def test_a_statement_on_its_tables_would_be_found(code: str) -> None:
    assert _statements_on_its_tables(code)


@pytest.mark.parametrize(
    "code",
    [
        "stop.wait = wait",
        "queries.driver._connection.close()",
        "from pgqueuer._version import version",
        "setattr(queries, 'dequeue', mine)",
        "vars(queries)['dequeue'] = mine",
    ],
)
def test_a_patch_or_a_private_name_would_be_found(code: str) -> None:
    assert _private(code)
