"""Rules about reading a path: they hold for every tool and for commands, not for `read_file` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolgate.runtime.policy.globs import PathGlob, is_path_name
from toolgate.runtime.policy.matching import CallToMatch
from toolgate.runtime.policy.rules import SHELL
from toolgate.runtime.policy.verdict import PlacedRule, Verdict
from toolgate.workspace.file_guard import PathRules

READER = "read_file"
"""The tool whose rules are about reading."""


def path_rules(rules: Iterable[PlacedRule]) -> PathRules:
    """The patterns of rules that deny or allow reading paths."""
    found: dict[str, list[PathGlob]] = {"allow": [], "ask": [], "deny": []}
    for placed in rules:
        if (pattern := _pattern(placed)) is not None:
            found[placed.rule.decision].append(PathGlob(pattern, _shown(placed)))
    return PathRules(denied=tuple(found["deny"]), shown=tuple(found["allow"]))


def denials(rules: Iterable[PlacedRule], tool_name: str, call: CallToMatch) -> Iterator[Verdict]:
    """What rules that deny reading a path say about a call of another tool."""
    # read_file has been judged by these rules already; from commands the sandbox hides the files
    if tool_name in (READER, SHELL):
        return
    given = [value for name, value in call.arguments.items() if is_path_name(name)]
    paths = [path for value in given for path in (value if isinstance(value, list) else [value])]
    for placed in rules:
        pattern = _pattern(placed) if placed.rule.decision == "deny" else None
        if pattern is None:
            continue
        glob = PathGlob(pattern)
        if any(glob.matches(found) for path in paths if isinstance(path, str) for found in call.resolved_paths(path)):
            yield placed.verdict()


def unshown(paths: Sequence[str], rules: PathRules) -> list[str]:
    """Those of the secret files that no rule allows to show."""
    return [path for path in paths if not any(pattern.matches(path) for pattern in rules.shown)]


def _shown(placed: PlacedRule) -> str:
    """The rule as messages name it, with the reason that its author gave."""
    reason = placed.rule.reason
    return placed.verdict().rule + (f", because {reason.rstrip('.')}" if reason else "")


def _pattern(placed: PlacedRule) -> str | None:
    """The pattern of a rule that is about the path and nothing else."""
    key, value = placed.rule.condition()
    if key != "args" or set(value) != {"path"} or not isinstance(value["path"], str):
        return None
    return str(value["path"])
