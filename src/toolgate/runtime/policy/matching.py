"""The call that rules look at, and whether the value of an argument fits a pattern."""

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.runtime.policy.globs import PathGlob, TextGlob, is_path_name, normal_path
from toolgate.web.urls import canonical

if TYPE_CHECKING:
    from toolgate.workspace import Workspace


class CallToMatch:
    """What rules look at: the arguments, and the paths that a path argument really leads to."""

    def __init__(
        self,
        *,
        arguments: dict[str, Any],
        workspace: "Workspace | None" = None,
        resources: Sequence[str] = (),
        places: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.arguments = arguments
        self._workspace = workspace
        self.resources = tuple(resources)
        """The paths that the plan says the call will touch, relative to the root."""
        self._places = {} if places is None else places

    def places(self, path: str) -> tuple[str, ...]:
        """Every path that this one may mean: as typed, with links resolved, and what the plan says it touches."""
        if path not in self._places:
            self._places[path] = (*_spellings(path, self._workspace), *self.resources)
        return self._places[path]


def fits(name: str, pattern: Any, value: Any, call: CallToMatch, *, every: bool) -> bool:
    """Whether the value of an argument fits a pattern. Of several texts or paths, `every` one must fit, or any one."""
    if not isinstance(pattern, str):
        return _canonical(pattern) == _canonical(value)
    given = value if isinstance(value, list) else [value]
    texts = [text for text in given if isinstance(text, str)]
    if not texts or (every and len(texts) < len(given)):
        return False
    quantifier = all if every else any
    if name == "url":
        texts = [spelling for text in texts for spelling in _addresses(text, call, every=every)]
    if not is_path_name(name):
        return quantifier(_text_glob(pattern).matches(text) for text in texts)
    places = {place for text in texts for place in call.places(text)}  # each text brings all that the plan touches
    return quantifier(_path_glob(pattern).matches(place) for place in places)


def _addresses(text: str, call: CallToMatch, *, every: bool) -> tuple[str, ...]:
    """The spellings of an address that a rule is about. A rule that allows is about what the plan says is sent."""
    sent = canonical(text)
    return (sent,) if every and sent in call.resources else (text, sent)


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
        if workspace.extra:
            from toolgate.workspace.extra_directories import path_forms

            found |= path_forms(workspace, path)
    return found
