"""The built-in rules."""

from toolgate.runtime.policy.builtin import builtin_rules


def test_no_built_in_rule_allows_anything() -> None:
    assert {rule.decision for rule in builtin_rules()} == {"ask"}


def test_every_rule_says_why() -> None:
    assert all(rule.reason for rule in builtin_rules())


def test_both_tools_that_write_ask_about_the_same_paths() -> None:
    paths = {
        tool: {str(rule.args) for rule in builtin_rules() if rule.tool == tool} for tool in ("write_file", "edit_file")
    }

    assert paths["write_file"] == paths["edit_file"]
    assert len(paths["write_file"]) == 2
