"""The built-in rules."""

from toolgate.runtime.policy.builtin import WRITERS, builtin_rules, stands_for
from toolgate.tools.builtin import builtin_tools


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


def test_every_built_in_tool_that_changes_files_is_a_writer() -> None:
    changing = [tool for tool in builtin_tools() if not tool.read_only]
    names = {tool.name for tool in changing if not {"path", "patch"}.isdisjoint(tool.parameters["properties"])}

    assert names == set(WRITERS)


def test_rules_about_simple_writers_apply_to_every_other_writer() -> None:
    simple = ("write_file", "edit_file")
    others = {tool: simple for tool in WRITERS if tool not in simple}
    assert {"apply_patch", "edit_notebook"} <= others.keys()

    assert {tool: stands_for(tool) for tool in (*WRITERS, "read_file")} == {
        **dict.fromkeys((*simple, "read_file"), ()),
        **others,
    }
