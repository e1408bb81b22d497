"""`/permissions`: lists and removes the permissions that are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.visible import visible
from toolgate.language.translate import translatable, translate
from toolgate.runtime.project_rules import can_remember_for_project, project_rules, remove_rule

if TYPE_CHECKING:
    from pathlib import Path

    from toolgate.cli.chat.conversation import Conversation

_SESSION, _PROJECT = translatable("this session"), translatable("this project")
_USAGE = translatable("/permissions lists them; /permissions remove N takes back number N")


async def permissions_command(conversation: Conversation, say: Callable[..., None], rest: str) -> None:
    """List the remembered permissions, or remove one."""
    found = await _found(conversation)
    if not rest:
        for number, (_, scope, label, rule) in enumerate(found, 1):
            say(f"{number:>3}  {visible(label, keep='')}  ({translate(scope)})")
            say("\n".join(f"       {line}" for line in visible(rule).splitlines()), "dim")
        say(translate(_USAGE) if found else translate("Nothing is allowed for good. A in a question offers to."), "dim")
        return
    word, _, typed = rest.partition(" ")
    if word != "remove" or not typed.strip().isdecimal():
        raise UsageError(translate(_USAGE))
    position = int(typed) - 1
    if not 0 <= position < len(found):
        raise UsageError(translate("there is no permission {typed}; {usage}", typed=typed, usage=translate(_USAGE)))
    identifier, scope, label, _ = found[position]
    await _remove(conversation, identifier, scope)
    say(translate("Taken back: {label}. It is asked about again.", label=visible(label, keep="")), "dim")


async def _found(conversation: Conversation) -> list[tuple[str, str, str, str]]:
    """Id, scope, label and rule of everything that was allowed."""
    rules: list[tuple[str, str, str, str]] = []
    if conversation.session is not None:
        for known in (await conversation.stack.sessions.permissions(conversation.session.id)).permissions:
            label = known.label if known.choice != "call" else f"{known.label}: {known.summary}"
            rules.append((known.id, _SESSION, label, known.rule))
    file = _policy_file(conversation)
    if file is not None:
        root = str(conversation.stack.workspace.root)
        for kept in await asyncio.to_thread(project_rules, file, root):
            rules.append((kept.id, _PROJECT, kept.label, kept.rule))
    return rules


async def _remove(conversation: Conversation, identifier: str, scope: str) -> None:
    file = _policy_file(conversation)
    if scope == _SESSION and conversation.session is not None:
        removed = await conversation.stack.sessions.remove_permission(conversation.session.id, identifier)
    else:
        root = str(conversation.stack.workspace.root)
        removed = file is not None and await asyncio.to_thread(remove_rule, file, root, identifier)
    if not removed:
        raise UsageError(translate("it was taken back already"))


def _policy_file(conversation: Conversation) -> Path | None:
    stack = conversation.stack
    file = stack.settings.policy_file
    return file if can_remember_for_project(file, stack.workspace) else None
