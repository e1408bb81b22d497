"""Reading policies: what is accepted, and what each mistake is told."""

import re
from pathlib import Path

import pytest

from toolgate.errors import PolicyError
from toolgate.runtime.policy import Policy, Rule, parse_policy
from toolgate.runtime.policy.builtin import builtin_rules


def test_the_rule_of_the_design() -> None:
    document = parse_policy(
        """
        [[rule]]
        tool = "Bash"                     # or another tool, with args = { path = "docs/**" } instead of words
        words = ["git", "push"]           # prefix of a parsed simple command
        decision = "ask"                  # allow | ask | deny
        reason = "publishes"
        match = ["git push origin main"]  # checked at load
        not_match = ["git pushd"]

        [[rule]]
        tool = "write_file"
        args = { path = "docs/**" }
        decision = "allow"
        match = ["docs/index.md", { path = "./docs/x", content = "" }]
        not_match = ["docs/../x", { content = "" }]

        [unmatched]
        Bash = "ask"
        """,
        "policy.toml",
    )
    assert document.rules == (
        Rule(
            tool="Bash",
            words=("git", "push"),
            decision="ask",
            reason="publishes",
            match=("git push origin main",),
            not_match=("git pushd",),
        ),
        Rule(
            tool="write_file",
            args={"path": "docs/**"},
            decision="allow",
            match=("docs/index.md", {"path": "./docs/x", "content": ""}),
            not_match=("docs/../x", {"content": ""}),
        ),
    )
    assert document.unmatched == {"Bash": "ask"}


def test_an_empty_policy_has_no_rules() -> None:
    assert parse_policy("", "p").rules == ()


BASH = '[[rule]]\ntool = "Bash"\ndecision = "deny"\n'
WRITE = '[[rule]]\ntool = "write_file"\ndecision = "deny"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule =", "p: is not TOML: Invalid value (at end of document). A rule is [[rule]] with"),
        ("[rule]\ntool = 'x'", "p: 'rule' must be an array of tables. Write [[rule]] with"),
        ("rule = [1]", "p, rule 1: must be a table. Write [[rule]] with"),
        ("[[rules]]\n", "p: unknown key 'rules' (did you mean 'rule'?). A rule is"),
        ('[[rule]]\ntool = "x"', "p, rule 1: 'decision' is missing: write decision = \"ask\"."),
        ('[[rule]]\ndecision = "ask"', "p, rule 1: 'tool' is missing: write tool = \"Bash\"."),
        (
            '[[rule]]\ntool = "x"\ndecision = "yes"',
            'p, rule 1: \'decision\' is \'yes\': write "allow", "ask" or "deny".',
        ),
        (
            BASH + 'word = ["rm"]',
            "p, rule 1: unknown key 'word' (did you mean 'words'?) (known: tool, decision, words,",
        ),
        (BASH + "words = []", "p, rule 1: 'words' must be a list of words that are not empty"),
        (BASH + 'words = [""]', "p, rule 1: 'words' must be a list of words that are not empty"),
        (BASH + 'words = "rm"', "p, rule 1: 'words' must be a list of words that are not empty"),
        (BASH + "words = [1]", "p, rule 1: 'words' must be a list of words that are not empty"),
        (BASH + 'words = ["git push"]', '\'git push\' is not one word: write words = ["git", "push"].'),
        (BASH + "args = {}", "p, rule 1: 'args' must be a table of arguments"),
        (BASH + 'args = { command = "rm*" }', "matches the text of a command, which quoting can disguise: write words"),
        (BASH + 'words = ["rm"]\nargs = { access = "read" }', "p, rule 1: the rule has both 'words' and 'args'"),
        (WRITE + 'words = ["rm"]', "'words' are for Bash only: write args = { … } for write_file."),
        (WRITE + 'args = { path = "/etc/**" }', "path = '/etc/**' must be relative to the project root, without '..'"),
        (WRITE + 'args = { path = "../**" }', "must be relative to the project root"),
        (WRITE + 'args = { path = "docs/" }', "ends with '/': write 'docs/**' for all that is below it"),
        (WRITE + "reason = 1", "p, rule 1: 'reason' Input should be a valid string."),
        (WRITE + 'match = "docs"', "p, rule 1: 'match' must be a list of examples"),
        ("[unmatched]\nBash = 'allow'", 'p: unmatched.Bash is \'allow\': write "ask" or "deny"'),
        ("unmatched = 'ask'", "p: 'unmatched' must be a table."),
        (BASH + BASH + "x = 1", "p, rule 2: unknown key 'x'"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BASH + 'words = ["rm"]\nmatch = ["rmdir x"]', "does not match its own example 'rmdir x'"),
        (
            BASH + 'words = ["git", "push"]\nnot_match = ["git push -f"]',
            "matches 'git push -f', which 'not_match' forbids",
        ),
        (BASH + 'words = ["rm"]\nmatch = ["rm x; ls"]', "example 'rm x; ls' must be one simple command"),
        (BASH + 'words = ["rm"]\nmatch = ["rm $(ls)"]', "must be one simple command"),
        (BASH + 'words = ["rm"]\nmatch = ["rm \'x"]', "is not a command line: No closing quotation"),
        (BASH + 'words = ["rm"]\nmatch = [{ command = "rm" }]', "must be a command line, since the rule has 'words'"),
        (WRITE + 'args = { path = "docs/**" }\nmatch = ["docs/../x"]', "does not match its own example 'docs/../x'"),
        (WRITE + 'args = { path = "a", content = "b" }\nmatch = ["a"]', "must be a table of arguments: write {"),
        (WRITE + 'not_match = [{ path = "a" }]', "matches {'path': 'a'}, which 'not_match' forbids"),
    ],
)
def test_a_rule_that_contradicts_its_examples_is_an_error(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p")
    assert message in str(caught.value)


def test_all_mistakes_of_a_rule_are_named_at_once() -> None:
    with pytest.raises(PolicyError, match=r"'decision' is missing.*unknown key 'x'"):
        parse_policy('[[rule]]\ntool = "Bash"\nx = 1', "p")


def test_a_rule_made_in_a_program_is_checked_too() -> None:
    with pytest.raises(ValueError, match="does not match its own example"):
        Rule(tool="Bash", words=("rm",), decision="deny", match=("ls",))


def test_a_byte_order_mark_and_crlf_change_nothing() -> None:
    text = '[[rule]]\ntool = "x"\ndecision = "deny"\n'

    assert parse_policy("\ufeff" + text.replace("\n", "\r\n"), "p") == parse_policy(text, "p")


def test_a_missing_user_file_has_no_rules(tmp_path: Path) -> None:
    assert Policy.load(user_file=tmp_path / "none.toml").decide("x", {}, None) is None


def test_an_invalid_user_file_is_named_with_its_rule(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(BASH + "x = 1")
    with pytest.raises(PolicyError, match=rf"^{path}, rule 1: unknown key 'x'"):
        Policy.load(user_file=path)


def test_an_invalid_project_file_is_named() -> None:
    with pytest.raises(PolicyError, match=r"^\.toolgate/policy\.toml: is not TOML"):
        Policy.load(project_text="rule = [")


def test_an_unreadable_user_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"cannot be read: it is not a regular file\. Make it a readable TOML file"):
        Policy.load(user_file=tmp_path)


def test_the_examples_of_the_documentation_load() -> None:
    page = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [len(parse_policy(example, "docs").rules) for example in examples] == [3]


def test_the_documentation_lists_the_built_in_rules() -> None:
    page = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([^`]+)`", page.partition("## Built-in rules")[2].partition("## ")[0]))
    rules = builtin_rules()
    assert {rule.tool for rule in rules} <= documented
    assert {next(iter((rule.args or {}).values())) for rule in rules} == {"full", "**/.git/**", "tool-output/**"}
    assert {"**/.git/**", "tool-output/**"} <= documented
