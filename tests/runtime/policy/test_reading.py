"""Rules about reading a path."""

from toolgate import Plan
from toolgate.runtime.policy import Policy, parse_policy

TEXT = """
[[rule]]
tool = "read_file"
args = { path = "vault/**" }
decision = "deny"

[[rule]]
tool = "read_file"
args = { path = ".env.test" }
decision = "allow"

[[rule]]
tool = "read_file"
args = { path = "big.log", limit = 5 }
decision = "deny"
"""


def policy() -> Policy:
    return Policy({"user": parse_policy(TEXT, "policy.toml")})


def test_a_rule_that_denies_reading_denies_every_tool_with_a_path() -> None:
    for tool, arguments in (
        ("edit_file", {"path": "vault/a"}),
        ("some_tool", {"source_file": "vault/a"}),
        ("other", {"dir": "vault"}),
        ("patch", {"path": ["a", "vault/b"]}),
    ):
        verdict = policy().decide(tool, arguments, None)
        assert verdict is not None, tool
        assert verdict.decision == "deny"
    assert policy().decide("edit_file", {"path": "src/a"}, None) is None
    assert policy().decide("grep", {"pattern": "vault/a"}, None) is None


def test_a_rule_with_another_argument_is_about_read_file_only() -> None:
    assert policy().decide("edit_file", {"path": "big.log", "limit": 5}, None) is None


def test_secret_files_ask_unless_a_rule_shows_each_of_them() -> None:
    plan = Plan(summary="s", access="read", reveals=(".env.test",))
    assert policy().decide("Bash", {}, plan) is None
    both = Plan(summary="s", access="read", reveals=(".env.test", ".env"))
    verdict = policy().decide("Bash", {}, both)
    assert verdict is not None
    assert (verdict.decision, verdict.rule) == ("ask", "built-in: secret files ask")
    assert ".env" in verdict.reason


def test_a_project_denies_and_shows_nothing() -> None:
    made = Policy({"project": parse_policy(TEXT, "policy.toml")})
    assert len(made.path_rules.denied) == 1
    assert made.path_rules.shown == ()
