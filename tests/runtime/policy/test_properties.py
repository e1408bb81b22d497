"""What holds for any rules."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from toolgate.protocol.plan import Plan
from toolgate.runtime.policy import Layer, Policy, Rule
from toolgate.runtime.policy.load import PolicyDocument

RANK = {"allow": 0, None: 1, "ask": 2, "deny": 3}
DECISIONS = st.sampled_from(["allow", "ask", "deny"])
WORDS = st.lists(st.sampled_from(["ls", "rm", "git", "/bin/rm", "-f"]), min_size=1, max_size=3).map(tuple)
PATHS = st.sampled_from(["a", "docs/a", "docs/../a", "./docs", "docs/x/y"])
PATTERNS = st.sampled_from(["**", "docs/**", "a", "*", "docs/*"])
RULES = st.one_of(
    st.builds(Rule, tool=st.just("Bash"), words=WORDS, decision=DECISIONS),
    st.builds(Rule, tool=st.sampled_from(["Bash", "write_file"]), decision=DECISIONS),
    st.builds(
        Rule,
        tool=st.just("write_file"),
        args=st.fixed_dictionaries({"path": PATTERNS}),
        decision=DECISIONS,
    ),
)
UNMATCHED = st.dictionaries(st.just("Bash"), st.sampled_from(["ask", "deny"]))
DOCUMENTS = st.builds(PolicyDocument, rules=st.lists(RULES, max_size=4).map(tuple), unmatched=UNMATCHED)
PLANS = st.builds(
    Plan,
    summary=st.just("Run"),
    commands=st.lists(WORDS, max_size=3).map(tuple),
    asks=st.booleans(),
    plain=st.booleans(),
    access=st.sampled_from(["read", "write", "full"]),
)


def rank(layers: dict[Layer, PolicyDocument], plan: Plan, path: str) -> list[int]:
    policy = Policy(layers)
    verdicts = [policy.decide("Bash", {}, plan), policy.decide("write_file", {"path": path}, None)]
    return [RANK[verdict.decision if verdict else None] for verdict in verdicts]


@given(DOCUMENTS, DOCUMENTS, PLANS, PATHS)
def test_a_projects_rules_never_weaken_a_decision(
    user: PolicyDocument, project: PolicyDocument, plan: Plan, path: str
) -> None:
    without = rank({"user": user}, plan, path)
    added = rank({"user": user, "project": project}, plan, path)
    assert all(after >= before for before, after in zip(without, added, strict=True))


@given(DOCUMENTS, DOCUMENTS, WORDS, PLANS)
def test_a_deny_always_denies_its_example(
    user: PolicyDocument, project: PolicyDocument, words: tuple[str, ...], plan: Plan
) -> None:
    deny = Rule(tool="Bash", words=words, decision="deny", match=(" ".join(words),))
    policy = Policy({"user": user, "settings": PolicyDocument(rules=(deny,)), "project": project})
    example = plan.model_copy(update={"commands": (*plan.commands, words)})
    policy.remember("Bash", {}, example)
    verdict = policy.decide("Bash", {}, example)
    assert verdict is not None
    assert verdict.decision == "deny"


@given(DOCUMENTS, st.randoms(use_true_random=False), PLANS, PATHS)
def test_the_order_of_rules_does_not_matter(document: PolicyDocument, random: Random, plan: Plan, path: str) -> None:
    rules = list(document.rules)
    random.shuffle(rules)
    shuffled = PolicyDocument(rules=tuple(rules), unmatched=document.unmatched)
    assert rank({"user": document}, plan, path) == rank({"user": shuffled}, plan, path)


@given(DOCUMENTS, PLANS, WORDS)
def test_a_further_command_never_weakens_a_decision(
    document: PolicyDocument, plan: Plan, words: tuple[str, ...]
) -> None:
    if not plan.commands:
        return
    longer = plan.model_copy(update={"commands": (*plan.commands, words)})
    assert rank({"user": document}, longer, "a")[0] >= rank({"user": document}, plan, "a")[0]


@given(DOCUMENTS, PLANS, PATHS)
def test_full_access_is_never_allowed(document: PolicyDocument, plan: Plan, path: str) -> None:
    full = plan.model_copy(update={"access": "full"})
    assert rank({"user": document}, full, path)[0] >= RANK["ask"]
