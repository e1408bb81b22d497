"""`Policy`: what the rules of all layers say about a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.runtime.policy import reading, remembered_calls
from toolgate.runtime.policy.builtin import builtin_rules, stands_for
from toolgate.runtime.policy.documents import checked_document, merge, merge_program
from toolgate.runtime.policy.load import PROJECT_FILE, PolicyDocument, parse_policy, read_user_file
from toolgate.runtime.policy.matching import CallToMatch
from toolgate.runtime.policy.rules import SHELL, TERMINAL, Choice, Layer, Rule
from toolgate.runtime.policy.verdict import (
    FULL,
    NOT_ANALYSED,
    SECRETS,
    UNCONFINED,
    PlacedRule,
    Verdict,
    commands_of,
    rules_for,
    strictest,
    suspected,
)

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.workspace import Workspace

_NO_DEFAULTS: Mapping[str, Any] = {}


class Policy:
    """The rules of all layers, and the calls that the session remembers.

    The strictest rule that matches wins; a project's rules only tighten. A call with full access is always asked about;
    so is one that the sandbox does not confine, unless a person had exactly this call remembered.
    """

    def __init__(self, layers: Mapping[Layer, PolicyDocument], project: str | None = None) -> None:
        """`project` is the path of the project's root: rules for another one have no effect."""
        if not isinstance(layers, Mapping) or not all(isinstance(one, PolicyDocument) for one in layers.values()):
            raise TypeError(
                f"Policy takes documents by layer, not {layers!r:.80}: write Policy.of(Rule(…)) or Policy.parse(text)"
            )
        self._project = project
        self._remembered: set[str] = set()
        self._session_rules: tuple[Rule, ...] = ()
        self.replace_layers(layers)

    def replace_layers(self, layers: Mapping[Layer, PolicyDocument]) -> None:
        """Use other layers, because a file has changed. What the session remembers stays."""
        self._layers = layers
        self._rules: dict[str, list[PlacedRule]] = {}
        self._unmatched: dict[str, Verdict] = {}
        self.ignored: list[str] = []
        """Rules without effect: a project may not allow anything."""
        for layer, document in layers.items():
            self._place_all(document.rules, layer)
            for tool, decision in document.unmatched.items():
                self._place_unmatched(tool, decision, layer)
        self._place_all(self._session_rules, "session")
        self.path_rules = reading.path_rules(self._rules.get(reading.READER, ()))
        """What the rules say about reading paths, for every tool and for commands."""

    @classmethod
    def of(cls, *rules: Rule, unmatched: Mapping[str, Choice] | None = None) -> Policy:
        """The built-in rules and these, for `policy=`; no file and no environment is read.

        `unmatched` says what to decide about the calls of a tool that no rule is about: `ask` or `deny`.
        """
        return cls(
            {"built-in": PolicyDocument(rules=builtin_rules()), "settings": checked_document(rules, unmatched or {})}
        )

    @classmethod
    def parse(cls, text: str, name: str = "policy") -> Policy:
        """The built-in rules and those of a TOML text; `name` is how errors call it."""
        return cls({"built-in": PolicyDocument(rules=builtin_rules()), "settings": parse_policy(text, name)})

    @classmethod
    def load(
        cls,
        *,
        user_file: Path | None = None,
        project_text: str | None = None,
        extra: Sequence[Rule] = (),
        project: str | None = None,
        program: Policy | None = None,
    ) -> Policy:
        """All layers; a file that is not there has no rules, one that is unreadable or invalid is a `PolicyError`.

        `project` is the path of the project's root, for rules that are about one project only. `program` is a policy
        of the program's own: its rules are added as the layer `settings`.
        """
        own = merge_program({} if program is None else program.layers, extra)
        project_document = parse_policy(project_text, PROJECT_FILE) if project_text is not None else PolicyDocument()
        layers: dict[Layer, PolicyDocument] = {
            "built-in": PolicyDocument(rules=builtin_rules()),
            "user": read_user_file(user_file) if user_file is not None else PolicyDocument(),
            "settings": own,
            "project": project_document
            if program is None
            else merge(program.layers.get("project", PolicyDocument()), project_document),
        }
        policy = cls(layers, project)
        if policy.ignored:
            from toolgate.log import logger

            logger("policy").warning("policy_rules_ignored", file=PROJECT_FILE, rules=policy.ignored)
        return policy

    def session(self) -> Policy:
        """The same rules for another session, which remembers nothing yet."""
        return Policy(self._layers, self._project)

    def with_rules(self, rules: Sequence[Rule]) -> Policy:
        """The same policy as if the user had these rules, too."""
        trial = copy(self)
        Policy._add_user_rules(trial, rules)
        return trial

    def _add_user_rules(self, rules: Sequence[Rule]) -> None:
        """Add rules to this copy and forget its remembered calls. The existing rules are not placed again."""
        user = self._layers.get("user", PolicyDocument())
        self._layers = {**self._layers, "user": PolicyDocument(rules=(*user.rules, *rules), unmatched=user.unmatched)}
        self._remembered = set()
        self._rules = {tool: list(placed) for tool, placed in self._rules.items()}
        self._place_all(rules, "user", first=len(user.rules) + 1)
        self.path_rules = reading.path_rules(self._rules.get(reading.READER, ()))

    @property
    def session_rules(self) -> tuple[Rule, ...]:
        """The rules that a person has chosen for this session."""
        return self._session_rules

    @property
    def layers(self) -> Mapping[Layer, PolicyDocument]:
        """The layers that were loaded."""
        return self._layers

    @property
    def project(self) -> str | None:
        """The path of the project's root, if it is known."""
        return self._project

    def replace_session_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the rules that a person has chosen for this session. Only rules that allow are kept."""
        if tuple(rules) == self._session_rules:
            return
        self._session_rules = tuple(rule for rule in rules if rule.decision == "allow")
        self.replace_layers(self._layers)

    def concerns(self, tool_name: str) -> bool:
        """Whether `decide` may have anything to say about calls of this tool that have no plan."""
        names = _names(tool_name)
        return (
            bool(self._remembered or self.path_rules.denied)
            or not self._rules.keys().isdisjoint((*names, *stands_for(tool_name)))
            or not self._unmatched.keys().isdisjoint(names)
        )

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that rules are about."""
        return frozenset(self._rules) | frozenset(self._unmatched)

    def decide(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        plan: Plan | None,
        *,
        workspace: Workspace | None = None,
        defaults: Mapping[str, Any] = _NO_DEFAULTS,
        resolved_paths: dict[str, tuple[str, ...]] | None = None,
    ) -> Verdict | None:
        """What the rules say, or None where they leave it to the tool.

        `workspace` lets path rules follow links; `defaults` are the values of arguments that the call leaves out.
        `resolved_paths` keeps the resolved paths of one call, so that it is judged by the same paths every time.
        """
        if plan is None and not self.concerns(tool_name):
            return None
        resources = plan.resources if plan is not None else ()
        given = {**defaults, **arguments}
        if tool_name == TERMINAL and plan is not None:
            given.setdefault("access", plan.access)
        elif resources and tool_name != SHELL:
            given.setdefault("path", list(resources))  # the tool has its paths within a text, such as a patch
        call = CallToMatch(arguments=given, workspace=workspace, resources=resources, resolved_paths=resolved_paths)
        verdict = strictest([*self._trusted(tool_name, call, plan), *self._tightening(tool_name, call, plan)])
        if verdict is not None and verdict.decision == "deny":
            return verdict
        if self.remembers(tool_name, arguments, plan):
            rule = remembered_calls.describe(tool_name, arguments, self.fingerprint(tool_name, arguments, plan))
            return Verdict(decision="allow", rule=rule, reason="remembered in this session", layer="session")
        return verdict

    def can_remember(self, plan: Plan | None) -> bool:
        """Whether the same call will do the same thing again, so that one answer can be for all of them."""
        return plan is None or (plan.access != "full" and not plan.once)

    def remembers(self, tool_name: str, arguments: dict[str, Any], plan: Plan | None) -> bool:
        """Whether a person has allowed exactly this call for the rest of the session."""
        known = self._remembered
        return bool(known) and self.can_remember(plan) and self.fingerprint(tool_name, arguments, plan) in known

    def remember(self, tool_name: str, arguments: dict[str, Any], plan: Plan | None) -> None:
        """Allow exactly this call, as it was planned, for the rest of the session.

        A call with full access is never remembered, nor one of which something is only known when it runs.
        """
        if self.can_remember(plan):
            self._remembered.add(self.fingerprint(tool_name, arguments, plan))

    def fingerprint(self, tool_name: str, arguments: dict[str, Any], plan: Plan | None) -> str:
        """The hash that an approval request is bound to, and that a remembered answer is stored by."""
        return remembered_calls.fingerprint(tool_name, arguments, plan)

    def recall(self, fingerprints: Iterable[str]) -> None:
        """Remember calls that were allowed before the session was resumed here, by their fingerprints."""
        self._remembered.update(fingerprints)

    def replace_remembered(self, fingerprints: Iterable[str]) -> None:
        """Replace the calls that a person has allowed for this session, by their fingerprints."""
        self._remembered = set(fingerprints)

    def rule_shown(self, tool_name: str, arguments: dict[str, Any], plan: Plan | None, fingerprint: str = "") -> str:
        """The rule that `remember` would store, as a person reads it before it is stored.

        `fingerprint` is the call's own, if the caller has it already.
        """
        if plan is not None and plan.access == "full":
            return f"{tool_name} with full access is asked about every time: nothing is remembered"
        if plan is not None and plan.once:
            return f"this call is asked about every time: {plan.once}"
        return remembered_calls.describe(
            tool_name, arguments, fingerprint or self.fingerprint(tool_name, arguments, plan)
        )

    def _place_all(self, rules: Sequence[Rule], layer: Layer, first: int = 1) -> None:
        for number, rule in enumerate(rules, start=first):
            if rule.project is None or rule.project == self._project:
                self._place(PlacedRule.of(rule, layer, number))

    def _place(self, placed: PlacedRule) -> None:
        if placed.layer == "project" and placed.rule.decision == "allow":
            self.ignored.append(f"{placed.verdict().rule} (a project can only tighten)")
        else:
            self._rules.setdefault(placed.rule.tool, []).append(placed)

    def _place_unmatched(self, tool: str, decision: Choice, layer: Layer) -> None:
        rule = f"{layer} unmatched: {decision} {tool}"
        verdict = Verdict(decision=decision, rule=rule, reason="no rule is about this call", layer=layer)
        self._unmatched[tool] = strictest([self._unmatched.get(tool, verdict), verdict]) or verdict

    def _about(self, tool_name: str) -> Sequence[PlacedRule]:
        """The rules that are about calls of a tool."""
        return [placed for name in _names(tool_name) for placed in self._rules.get(name, ())]

    def _trusted(self, tool_name: str, call: CallToMatch, plan: Plan | None) -> Iterator[Verdict | None]:
        """Verdicts of the trusted layers on each command, or on the call. None means that no rule is about it."""
        rules = [placed for placed in self._about(tool_name) if placed.layer != "project"]
        if plan is not None and plan.asks:  # a rule picked in the session does not cover dangers that it did not show
            rules = [placed for placed in rules if placed.layer != "session"]
        unmatched = strictest([self._unmatched.get(name) for name in _names(tool_name) if name in self._unmatched])
        commands = commands_of(tool_name, plan)
        harmless = frozenset(plan.harmless) if plan is not None else frozenset()
        for command in commands:
            verdict = strictest(
                [placed.verdict() for placed in rules_for(rules, command) if placed.matches(call, command)]
            )
            if verdict is not None or plan is None or command not in harmless:
                yield verdict or unmatched
        # rules about words cannot allow what the call does besides its commands
        if plan is not None and not plan.plain and (plan.commands or plan.asks):
            yield unmatched

    def _tightening(self, tool_name: str, call: CallToMatch, plan: Plan | None) -> Iterator[Verdict]:
        """Verdicts that can only tighten: those of the project's rules, and those that hold whatever the rules say."""
        rules = self._about(tool_name)
        for placed in rules:
            if placed.layer == "project" and any(
                placed.matches(call, command) for command in commands_of(tool_name, plan)
            ):
                yield placed.verdict()
        for other in stands_for(tool_name):
            for placed in self._rules.get(other, ()):
                if placed.rule.decision != "allow" and placed.matches(call, ()):
                    yield placed.verdict()
        if plan is not None and tool_name in (SHELL, TERMINAL):
            yield from suspected(rules, plan.suspects)
        if plan is not None and plan.access == "full":
            yield FULL
        yield from reading.denials(self._rules.get(reading.READER, ()), tool_name, call)
        if plan is not None and (paths := reading.unshown(plan.reveals, self.path_rules)):
            yield replace(SECRETS, reason=plan.reason or f"it shows {', '.join(paths)}, which may hold secrets")
        if plan is not None and plan.unconfined:
            yield replace(UNCONFINED, reason=plan.reason or UNCONFINED.reason)
        if plan is None and any(placed.kind.needs_analysis for placed in rules):
            yield NOT_ANALYSED


def _names(tool_name: str) -> tuple[str, ...]:
    """The tools whose rules hold for a call."""
    return (tool_name, SHELL) if tool_name == TERMINAL else (tool_name,)
