"""The rules of a program as a policy document, and several documents as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolgate.errors import PolicyError
from toolgate.runtime.policy.load import PolicyDocument, checked_unmatched
from toolgate.runtime.policy.rules import Choice, Layer, Rule


def checked_document(rules: Sequence[object], unmatched: Mapping[str, Choice]) -> PolicyDocument:
    """Return the rules as a document. Raises `PolicyError` for an item that is not a rule."""
    for number, rule in enumerate(rules, start=1):
        if not isinstance(rule, Rule):
            kind = type(rule).__name__
            raise PolicyError(
                f"rule {number} is a {kind}, not a toolgate.Rule. "
                'Write Policy.of(Rule(tool="Bash", words=("git", "push"), decision="deny")).'
            )
    return PolicyDocument(rules=tuple(rules), unmatched=checked_unmatched(dict(unmatched), "Policy.of"))  # type: ignore[arg-type]  # all are rules


def merge(*documents: PolicyDocument) -> PolicyDocument:
    """All rules of several documents; of two defaults for one tool the stricter one counts."""
    unmatched: dict[str, Choice] = {}
    for document in documents:
        for tool, decision in document.unmatched.items():
            unmatched[tool] = "deny" if "deny" in (decision, unmatched.get(tool)) else decision
    return PolicyDocument(rules=tuple(rule for document in documents for rule in document.rules), unmatched=unmatched)


def merge_program(layers: Mapping[Layer, PolicyDocument], extra: Sequence[Rule]) -> PolicyDocument:
    """What a program's own policy says, whichever layer it has it in; the project's is not part of it."""
    own = (
        layers.get("user", PolicyDocument()),
        layers.get("settings", PolicyDocument()),
        PolicyDocument(rules=tuple(extra)),
    )
    return merge(*own)
