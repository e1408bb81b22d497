"""Reads the sources of the reasons: why a call is allowed, asked about or denied, as a person reads it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from toolgate.command.analysis.program import REASONS, every_program, program

SOURCE = Path(__file__).parents[2] / "src" / "toolgate"
_ROOMS = ("command/analysis", "runtime/policy", "runtime/permission.py", "tools")
_CALLED = {"add_danger", "add_unclear", "note_skipped", "_ask"}
"""Functions whose last text is a reason."""
SAMPLE = "X1"
"""What stands in place of a value."""
_NESTED = {"reason", "rule.reason", "REASONS['remote']", "REASONS['publishes']", "REASONS['system']"}
"""Values that are reasons themselves."""
_NOT_REASONS = {"?", ""}


def reasons() -> set[str]:
    """Return every reason that is written in the source, with a sample in place of each value."""
    paths = [path for room in _ROOMS for path in sorted((SOURCE / room).rglob("*.py")) or [SOURCE / room]]
    found = {text for path in paths for node in _nodes(path) for text in _texts(node)}
    rules = {rule.reason.replace("{name}", SAMPLE) for name in every_program() for rule in program(name).rules}
    return (found | rules | set(REASONS.values())) - _NOT_REASONS


def _nodes(path: Path) -> Iterator[ast.AST]:
    """Yield the expressions of a module that are reasons."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[*_, last]) if name in _CALLED:
                yield node.args[0] if name != "_ask" else last
            case ast.keyword(arg="reason", value=value):
                yield value
            case ast.Assign(targets=[ast.Name(id="reason")], value=value):
                yield value
            case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="unresolved"), slice=key)]):
                yield key
            case ast.Call(func=ast.Attribute(value=ast.Name(id="reasons"), attr="append"), args=[value]):
                yield value
            case ast.AugAssign(target=ast.Name(id="reasons"), value=ast.ListComp(elt=value)):
                yield value


def _texts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(_part(part) for part in parts)
        case ast.IfExp(body=first, orelse=second):
            yield from (*_texts(first), *_texts(second))
        case ast.BoolOp(values=values):
            for value in values:
                yield from _texts(value)


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    value = ast.unparse(part.value)
    if "hint" in value:  # a clause that is there for some files only
        return ""
    return REASONS["removes"] if value in _NESTED else SAMPLE
