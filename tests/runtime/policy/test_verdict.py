"""Which of several verdicts wins, and what is suspected of unknown programs."""

import itertools

from toolgate.protocol.plan import Plan
from toolgate.runtime.policy.matching import CallToMatch
from toolgate.runtime.policy.rules import Choice, Rule
from toolgate.runtime.policy.verdict import PlacedRule, Verdict, commands_of, rules_for, strictest, suspected


def verdict(decision: Choice, rule: str = "") -> Verdict:
    return Verdict(decision=decision, rule=rule, reason="", layer="user")


def test_the_strictest_wins_in_whatever_order_they_come() -> None:
    for order in itertools.permutations([verdict("allow"), None, verdict("ask"), verdict("deny")]):
        kept = list(order)
        for expected in ("deny", "ask", None, "allow"):
            found = strictest(kept)
            assert (found.decision if found else None) == expected
            kept.remove(found)


def test_of_equals_the_first_wins_and_of_nothing_nothing() -> None:
    found = strictest([verdict("ask", "first"), verdict("ask", "second")])

    assert found is not None
    assert found.rule == "first"
    assert strictest([]) is None


def test_only_a_command_line_is_judged_command_by_command() -> None:
    plan = Plan(summary="x", commands=(("ls",), ("rm", "a")))

    assert commands_of("Bash", plan) == (("ls",), ("rm", "a"))
    assert commands_of("read_file", plan) == ((),)
    assert commands_of("Bash", None) == ((),)


def test_an_unknown_program_with_a_denied_word_asks_and_never_allows() -> None:
    denied = PlacedRule.of(Rule(tool="Bash", words=("rm",), decision="deny"), "user", 1)
    allowed = PlacedRule.of(Rule(tool="Bash", words=("rm",), decision="allow"), "user", 2)

    [found] = suspected([denied, allowed], [("frobnicate", "rm", "a")])
    assert found.decision == "ask"
    assert "'frobnicate' is not a known program, and may run 'rm'" in found.reason
    assert list(suspected([denied], [("frobnicate", "ls")])) == []


def test_a_rule_says_where_it_stands() -> None:
    placed = PlacedRule.of(Rule(tool="grep", decision="deny", reason="no searches"), "project", 3)

    assert placed.matches(CallToMatch(arguments={}), ())
    assert placed.verdict().rule.startswith("project rule 3: ")
    assert placed.verdict().reason == "no searches"


def test_what_is_left_out_without_a_closer_look_would_not_have_matched() -> None:
    words = [("rm",), ("git", "push"), ("/bin/rm",), ("ls", "-l")]
    rules = [
        PlacedRule.of(Rule(tool="Bash", words=some, decision=decision), "user", 1)
        for some in words
        for decision in ("allow", "ask", "deny")
    ]
    rules.append(PlacedRule.of(Rule(tool="Bash", decision="ask"), "user", 1))
    rules.append(PlacedRule.of(Rule(tool="Bash", args={"access": "full"}, decision="deny"), "user", 1))
    call = CallToMatch(arguments={"access": "full"})
    for command in [(), ("rm",), ("/bin/rm", "a"), ("./rm",), ("git", "push", "x"), ("git",), ("/x/ls", "-l"), ("",)]:
        left = rules_for(rules, command)
        assert [rule for rule in left if rule.matches(call, command)] == [
            rule for rule in rules if rule.matches(call, command)
        ]
    assert len(rules_for(rules, ("rm",))) == 5
