"""Rules that a person had remembered for a project: blocks in the user's own policy file."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.errors import PolicyError
from toolgate.runtime.policy.load import parse_policy
from toolgate.text.visible import visible
from toolgate.workspace.user_config import read_config, update_config

if TYPE_CHECKING:
    from toolgate.protocol.approval import ApprovalChoice
    from toolgate.tools.context import ToolContext
    from toolgate.workspace import Workspace

_BLOCK = re.compile(
    r"^# Remembered (?P<at>\S+): (?P<label>[^\n]*)\n(?P<rule>(?:\[\[rule\]\]\n(?:[a-z_]+ = [^\n]*(?:\n|\Z))+)+)",
    re.MULTILINE,
)
"""One remembered choice, exactly as it was written: a comment, and its rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRule:
    """A choice that was remembered for a project."""

    id: str
    label: str
    rule: str
    created_at: float


def can_remember_for_project(file: Path | None, workspace: Workspace | None) -> bool:
    """Whether there is a policy file of the user's own that rules can be written to: one outside the project."""
    if file is None or workspace is None:
        return False
    root, path = os.path.realpath(workspace.root), os.path.realpath(file)
    return not (path == root or path.startswith(f"{root}/"))


async def remember_for_project(context: ToolContext, choice: ApprovalChoice) -> None:
    """Write a choice to the user's policy file; it counts at once. `PolicyError`: nothing has changed."""
    from toolgate.runtime.policy_source import refresh_policy

    file = context.settings.policy_file
    if not can_remember_for_project(file, context.workspace) or file is None:
        raise PolicyError(
            "There is no policy file of the user's own that the rule could be written to. "
            "Set TOOLGATE_POLICY_FILE to one outside the project."
        )
    await asyncio.to_thread(add_rule, file, choice.label, choice.rule)
    refresh_policy(context)


def add_rule(file: Path, label: str, rule: str) -> None:
    """Add a block at the end of a policy file, and leave everything else in it as it is."""

    def added(text: str | None) -> str:
        before = text or ""
        was = parse_policy(before, str(file))  # a file with a mistake is left to its author
        if any(found["rule"].strip() == rule.strip() for found in _BLOCK.finditer(before)):
            return before
        at = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        gap = "\n" if before.endswith("\n") else "\n\n"
        if not before:
            gap = ""
        after = f"{before}{gap}# Remembered {at}: {visible(label, keep='')}\n{rule.rstrip()}\n"
        now, new = parse_policy(after, str(file)), parse_policy(rule, "the rule")
        if (now.rules, now.unmatched) != ((*was.rules, *new.rules), was.unmatched):
            raise PolicyError(f"{file}: the rule cannot be added to this file without changing others.")
        return after

    _update(file, added)


def project_rules(file: Path | None, project: str) -> list[ProjectRule]:
    """What was remembered for a project, in the order of the file. Raises `PolicyError`."""
    if file is None:
        return []
    try:
        text = read_config(file)
    except (OSError, ValueError) as error:
        raise PolicyError(f"{file}: cannot be read: {_reason(error)}.") from None
    return [rule for found in _BLOCK.finditer(text or "") if (rule := _rule(found, project)) is not None]


def remove_rule(file: Path, project: str, rule_id: str) -> bool:
    """Remove a remembered choice from a policy file; False if it is not there."""
    removed = False

    def without(text: str | None) -> str:
        nonlocal removed
        kept = text or ""
        for found in _BLOCK.finditer(kept):
            rule = _rule(found, project)
            if rule is not None and rule.id == rule_id:
                removed = True
                before, after = kept[: found.start()], kept[found.end() :]
                kept = before.removesuffix("\n") + after if before.endswith("\n\n") else before + after
                break
        parse_policy(kept, str(file))
        return kept

    _update(file, without)
    return removed


def _rule(found: re.Match[str], project: str) -> ProjectRule | None:
    """The block, if it is about this project."""
    try:
        rules = parse_policy(found["rule"], "a remembered rule").rules
        at = datetime.strptime(found["at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except (PolicyError, ValueError):
        return None  # somebody has edited it, so it no longer counts as remembered
    if not rules or any(rule.project != project for rule in rules):
        return None
    identifier = hashlib.sha256(found.group().encode()).hexdigest()[:16]
    return ProjectRule(id=f"project-{identifier}", label=found["label"], rule=found["rule"].rstrip(), created_at=at)


def _update(file: Path, change: Callable[[str | None], str]) -> None:
    try:
        update_config(Path(os.path.realpath(file)), change)
    except (OSError, ValueError) as error:
        raise PolicyError(
            f"{file}: the rule could not be saved: {_reason(error)}. Make it a TOML file that you can write."
        ) from None


def _reason(error: OSError | ValueError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
