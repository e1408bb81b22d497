"""JSON Schemas of foreign tools: compiled and used within bounds, because they are not trusted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from toolgate.extras import optional_imports

MAX_SCHEMAS = 20_000
"""Subschemas that a schema may have once its references are followed."""
MAX_STEPS = 20_000_000
"""Subschemas times values that one validation may come to."""
MAX_ERRORS = 20
_MAX_DEPTH = 100
_RE_ENTRIES = (4, 2, 1)
"""How often a reference to itself is followed; the largest number that stays within the bounds is taken."""
_BACKTRACKING = 100_000
_PATTERN_BYTES = 1 << 20
DATA = frozenset({"default", "const", "enum", "examples", "required", "type"})
"""Keywords whose values hold no schemas."""
BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords that map names to schemas."""
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


class ForeignSchema:
    """A compiled schema. `ValueError` says why one cannot be used."""

    def __init__(self, schema: dict[str, Any]) -> None:
        followed, self._cost = _within_bounds(schema)
        self._validator = _compiled(followed)

    def errors(self, instance: Any) -> list[tuple[str, str]]:
        """The first few errors as (where, what). An empty `where` means the whole value."""
        if self._cost * _count(instance, MAX_STEPS // self._cost) > MAX_STEPS:
            return [("", "is too large to be checked against the schema of this tool")]
        found = itertools.islice(self._validator.iter_errors(instance), MAX_ERRORS)
        return [(".".join(map(str, error.instance_path)), str(error.message)) for error in found]


def _compiled(schema: Any) -> Any:
    with optional_imports():
        import jsonschema_rs

    patterns = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_BACKTRACKING, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
    )
    try:
        return jsonschema_rs.validator_for(schema, retriever=_never_fetch, pattern_options=patterns)
    except (TypeError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(str(error)) from None


def _never_fetch(uri: str) -> Any:
    raise ValueError(f"the reference {uri!r} leads outside, and nothing is fetched")


def _within_bounds(schema: dict[str, Any]) -> tuple[Any, int]:
    """The schema to compile and the number of its subschemas. References to itself are followed a few times only."""
    for limit in _RE_ENTRIES:
        expansion = _Expansion(schema, limit)
        try:
            followed = expansion.of(schema, (), 0)
        except _TooLarge:
            if not expansion.recursive or limit == _RE_ENTRIES[-1]:
                raise ValueError(
                    f"it has more than {MAX_SCHEMAS} subschemas or {_MAX_DEPTH} levels once its references are followed"
                ) from None
            continue
        return (followed if expansion.recursive else schema), max(1, expansion.count)
    raise AssertionError


class _TooLarge(Exception):
    """The schema exceeds the bounds."""


class _Expansion:
    """Expands the references of a schema, and counts its subschemas."""

    def __init__(self, root: dict[str, Any], re_entries: int) -> None:
        self._root = root
        self._re_entries = re_entries
        self.count = 0
        self.recursive = False

    def of(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        """The copy of a subschema; `inside` are the references that it was reached by."""
        self.count += 1
        if self.count > MAX_SCHEMAS or depth > _MAX_DEPTH:
            raise _TooLarge
        if isinstance(node, list):
            return [self.of(item, inside, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        if any(key in node for key in _DYNAMIC) or ("$id" in node and node is not self._root):
            raise ValueError("it uses $dynamicRef, $recursiveRef or an inner $id, which are not followed")
        copied = {
            key: self._member(key, value, inside, depth)
            for key, value in node.items()
            if key not in ("$ref", "$defs", "definitions")
        }
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return copied
        target = self._followed(reference, inside, depth)
        return target if not copied else {**copied, "allOf": [*copied.get("allOf", []), target]}

    def _member(self, key: str, value: Any, inside: tuple[str, ...], depth: int) -> Any:
        if key in DATA:
            return value
        if key in BY_NAME and isinstance(value, dict):
            return {name: self.of(schema, inside, depth + 1) for name, schema in value.items()}
        return self.of(value, inside, depth + 1) if isinstance(value, dict | list) else value

    def _followed(self, reference: str, inside: tuple[str, ...], depth: int) -> Any:
        if reference in inside:
            self.recursive = True
            if inside.count(reference) > self._re_entries:
                return {}
        return self.of(self._resolved(reference), (*inside, reference), depth + 1)

    def _resolved(self, reference: str) -> Any:
        own = self._root.get("$id")
        local = reference.removeprefix(own.removesuffix("#")) if isinstance(own, str) else reference
        if local in ("", "#"):
            return self._root
        if not local.startswith("#"):
            _never_fetch(reference)
        if not local.startswith("#/"):
            return _anchored(self._root, local[1:], 0) or {}
        found: Any = self._root
        for part in unquote(local[2:]).split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise ValueError(f"the reference {reference!r} leads nowhere")
        return found


def _anchored(node: Any, name: str, depth: int) -> Any:
    """The subschema with that anchor."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, dict) and name in (node.get("$anchor"), node.get("$dynamicAnchor")):
        return node
    children: Any = node if isinstance(node, list) else ()
    if isinstance(node, dict):
        children = node.values()
    return next((found for child in children if (found := _anchored(child, name, depth + 1)) is not None), None)


def _count(instance: Any, limit: int) -> int:
    """Values in a JSON document; not counted further once there are too many."""
    return sum(1 for _ in itertools.islice(_values(instance), limit + 1))


def _values(instance: Any) -> Iterator[Any]:
    waiting = [instance]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
