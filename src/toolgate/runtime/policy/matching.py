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
        resolved_paths: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.arguments = arguments
        self._workspace = workspace
        self.resources = tuple(resources)
        """The paths that the plan says the call will touch, relative to the root."""
        self._resolved_paths = {} if resolved_paths is None else resolved_paths

    def resolved_paths(self, path: str) -> tuple[str, ...]:
        """Every path that rules compare with: this one as typed, with links resolved, and the paths of the plan."""
        if path not in self._resolved_paths:
            self._resolved_paths[path] = (*_spellings(path, self._workspace), *self.resources)
        return self._resolved_paths[path]


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
    paths = {path for text in texts for path in call.resolved_paths(text)}  # each text brings all that the plan touches
    return quantifier(_path_glob(pattern).matches(path) for path in paths)


def _addresses(text: str, call: CallToMatch, *, every: bool) -> tuple[str, ...]:
    """The forms of an address that a rule compares with. For a rule that allows: only the one that is sent."""
    sent = canonical(text)
    return (sent,) if every and sent in call.resources else (text, sent)


def _canonical(value: Any) -> str:
    """JSON with sorted keys: tells `true` from 1, and is the same for equal objects."""
    return json.dumps(value, sort_keys=True, default=repr)


_text_glob = functools.lru_cache(maxsize=1024)(TextGlob)
_path_glob = functools.lru_cache(maxsize=1024)(PathGlob)


def _spellings(path: str, workspace: "Workspace | None") -> set[str]:
    """The path in normal form and with links resolved; only in normal form if it cannot be resolved."""
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
