"""A rule in its layer, what it says about a call, and which of several verdicts wins."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolgate.runtime.policy.kinds import Command, RuleKind
from toolgate.runtime.policy.matching import CallToMatch
from toolgate.runtime.policy.rules import SHELL, TERMINAL, Choice, Layer, Rule

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the policy says, which rule said it, and where that rule comes from."""

    decision: Choice
    rule: str
    reason: str
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRule:
    """A rule in its layer."""

    rule: Rule
    layer: Layer
    number: int
    kind: RuleKind
    value: Any
    program: str | None
    """The only program that the rule is about; None if it is about others, too."""

    @classmethod
    def of(cls, rule: Rule, layer: Layer, number: int) -> PlacedRule:
        """A rule in its layer, by its number there."""
        kind, value = rule.kind()
        return cls(rule=rule, layer=layer, number=number, kind=kind, value=value, program=kind.program(value))

    def matches(self, call: CallToMatch, command: Command) -> bool:
        """Whether the rule is about a call, or one command of it."""
        return self.kind.matches(self.value, call, command, allows=self.rule.decision == "allow")

    def verdict(self) -> Verdict:
        """What the rule says."""
        rule = self.rule
        name = f"{self.layer} rule {self.number}: {rule}"
        reason = rule.reason or f"a rule of the {self.layer} policy"
        return Verdict(decision=rule.decision, rule=name, reason=reason, layer=self.layer)


FULL = Verdict(decision="ask", rule="built-in: full access asks", reason="full access always asks", layer="built-in")
UNCONFINED = Verdict(
    decision="ask",
    rule="built-in: unconfined commands ask",
    reason="the sandbox does not enforce everything that it should",
    layer="built-in",
)
SECRETS = Verdict(
    decision="ask", rule="built-in: secret files ask", reason="it shows a file that may hold secrets", layer="built-in"
)
NOT_ANALYSED = Verdict(
    decision="ask", rule="built-in: unread commands ask", reason="the command was not analysed", layer="built-in"
)


def suspected(rules: Iterable[PlacedRule], suspects: Iterable[tuple[str, ...]]) -> Iterator[Verdict]:
    """Verdicts that ask about unknown programs, which may run what a rule denies or asks about."""
    for placed in rules:
        if placed.rule.decision == "allow":
            continue
        for program, *rest in suspects:
            if found := placed.kind.suspected(placed.value, tuple(rest)):
                reason = f"'{program}' is not a known program, and may run '{found}', which a rule is about"
                yield dataclasses.replace(placed.verdict(), decision="ask", reason=reason)


def rules_for(rules: Iterable[PlacedRule], command: Command) -> list[PlacedRule]:
    """The rules that may match a command. Those about other programs are left out."""
    programs = (None, command[0], posixpath.basename(command[0])) if command else (None,)
    return [placed for placed in rules if placed.program in programs]


def commands_of(tool_name: str, plan: Plan | None) -> tuple[tuple[str, ...], ...]:
    """The commands to judge one by one; for every other call a single, empty one."""
    return (plan.commands if plan is not None and tool_name in (SHELL, TERMINAL) else ()) or ((),)


_RANK: dict[str | None, int] = {"allow": 0, None: 1, "ask": 2, "deny": 3}
"""Strictness; None is the tool's own default."""


def strictest(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """The strictest of them, the first of equals."""
    return max(verdicts, key=lambda verdict: _RANK[verdict.decision if verdict else None], default=None)
