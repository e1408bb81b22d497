"""The built-in layer: a few rules that no allow rule of another layer overrides."""

import functools

from toolgate.runtime.policy.rules import SHELL, Rule

_SIMPLE_WRITERS = ("write_file", "edit_file")
WRITERS = (*_SIMPLE_WRITERS, "apply_patch", "edit_notebook")
"""The tools that write files."""


def stands_for(tool: str) -> tuple[str, ...]:
    """The tools whose rules that ask or deny apply to this tool, too, because it does the same to files."""
    return _SIMPLE_WRITERS if tool in WRITERS and tool not in _SIMPLE_WRITERS else ()


@functools.cache
def builtin_rules() -> tuple[Rule, ...]:
    """The rules; `docs/policy.md` lists them."""
    return (
        Rule(
            tool=SHELL,
            args={"access": "full"},
            decision="ask",
            reason="full access reaches the network and beyond the project root",
            match=("full",),
            not_match=("read", "write"),
        ),
        *(_ask(tool, "**/.git/**", "git's own files; a change there can lose history or run code") for tool in WRITERS),
        *(_ask(tool, "tool-output/**", "the runtime's own record of long outputs") for tool in WRITERS),
    )


def _ask(tool: str, path: str, reason: str) -> Rule:
    return Rule(tool=tool, args={"path": path}, decision="ask", reason=reason)
