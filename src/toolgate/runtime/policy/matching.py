"""Whether a rule is about a call. In doubt a rule that asks or denies is, and a rule that allows is not."""

import functools
import json
import posixpath
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.runtime.policy.globs import PathGlob, TextGlob, is_path_name, normal_path

if TYPE_CHECKING:
    from toolgate.runtime.policy.rules import Rule
    from toolgate.workspace import Workspace


class Call:
    """What rules look at: the arguments, and the paths that a path argument really leads to."""

    def __init__(
        self, *, arguments: dict[str, Any], workspace: "Workspace | None" = None, resources: Sequence[str] = ()
    ) -> None:
        self.arguments = arguments
        self._workspace = workspace
        self._resources = tuple(resources)
        self._places: dict[str, tuple[str, ...]] = {}

    def places(self, path: str) -> tuple[str, ...]:
        """Every path that this one may mean: as typed, with links resolved, and what the plan says it touches."""
        if path not in self._places:
            self._places[path] = (*_spellings(path, self._workspace), *self._resources)
        return self._places[path]


def matches(rule: "Rule", call: Call, command: tuple[str, ...]) -> bool:
    """Whether the rule is about the call, and for a rule with words about this command of it."""
    if rule.words is not None:
        return _starts_with(command, rule.words, by_name=rule.decision != "allow")
    quantifier = all if rule.decision == "allow" else any
    return all(
        name in call.arguments and _fits(name, pattern, call.arguments[name], call, quantifier)
        for name, pattern in (rule.args or {}).items()
    )


def _starts_with(command: tuple[str, ...], words: tuple[str, ...], *, by_name: bool) -> bool:
    """Whole words only. `by_name`: `/bin/rm` counts as `rm`, which would allow too much in a rule that allows."""
    if len(command) < len(words) or command[1 : len(words)] != words[1:]:
        return False
    program = command[0]
    return program == words[0] or (by_name and "/" in program and posixpath.basename(program) == words[0])


def _fits(name: str, pattern: Any, value: Any, call: Call, quantifier: Callable[[Any], bool]) -> bool:
    if not isinstance(pattern, str):
        return _canonical(pattern) == _canonical(value)
    given = value if isinstance(value, list) else [value]
    texts = [text for text in given if isinstance(text, str)]
    if not texts or (quantifier is all and len(texts) < len(given)):
        return False
    if not is_path_name(name):
        return quantifier(_text_glob(pattern).matches(text) for text in texts)
    return quantifier(_path_glob(pattern).matches(place) for text in texts for place in call.places(text))


def _canonical(value: Any) -> str:
    """JSON with sorted keys: tells `true` from 1, and is the same for equal objects."""
    return json.dumps(value, sort_keys=True, default=repr)


_text_glob = functools.lru_cache(maxsize=1024)(TextGlob)
_path_glob = functools.lru_cache(maxsize=1024)(PathGlob)


def _spellings(path: str, workspace: "Workspace | None") -> set[str]:
    """The normal form, and where links lead; a path that cannot be resolved is what it says."""
    if workspace is None:
        return {normal_path(path)}
    found = set()
    try:
        found.add(workspace.relative(path))
        found.add("/".join(workspace.locate(path).parts) or ".")
    except ToolError:
        found.add(normal_path(path))
    return found
