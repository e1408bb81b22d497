"""Rules for commands: no operator, wrapper, variable or script hides what runs."""

import dataclasses
from typing import Literal

import pytest

from tests.runtime.policy.kit import BENIGN, RUN_BY_OTHERS, UNKNOWN, WRAPPED
from toolgate.command.analysis import CommandPlan, Kind, Surroundings, analyse, request_detail
from toolgate.protocol.plan import Plan
from toolgate.runtime.policy import Policy, parse_policy

ALLOWED = (["ls"], ["echo"], ["cat"], ["git", "log"], ["git", "status"], ["find"], ["grep"], ["rg"])
RULES = "".join(
    f'[[rule]]\ntool = "Bash"\nwords = {list(words)!r}\ndecision = "allow"\n' for words in ALLOWED
) + "".join(f'[[rule]]\ntool = "Bash"\nwords = ["{word}"]\ndecision = "deny"\n' for word in ("rm", "curl"))
MATRIX = Policy({"user": parse_policy(RULES + '[unmatched]\nBash = "ask"\n', "matrix")})
AROUND = Surroundings(root="/project", home="/home/user")


def planned(command: str) -> Plan:
    analysis = analyse(command, AROUND)
    return Plan(
        summary="run",
        detail=request_detail(command, reasons=analysis.dangers),
        commands=analysis.commands,
        harmless=analysis.harmless,
        plain=analysis.plain,
        suspects=analysis.suspects,
        asks=analysis.asks,
        reason=analysis.reason,
    )


def decision(command: str, policy: Policy = MATRIX) -> Literal["allow", "ask", "deny"]:
    plan = planned(command)
    verdict = policy.decide("Bash", {"command": command}, plan)
    if verdict is not None:
        return verdict.decision
    return "ask" if plan.asks else "allow"


def test_c01_a_list_is_as_bad_as_its_worst_command() -> None:
    assert decision("git log && rm x") == "deny"


@pytest.mark.parametrize(
    "operator", [";", "||", "|", "&", "\n", "|&", "&&&", "&&", " ; ", "\n\n", "&\n", "||\n", "&& \\\n"]
)
def test_c02_no_operator_hides_a_command(operator: str) -> None:
    assert decision(f"git log {operator} rm x") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        "git log --author=$(rm x)",
        'echo "`rm x`"',
        "echo $(echo $(rm x))",
        "echo ${x:-$(rm x)}",
        "echo $((1 + $(rm x)))",
        "x=$(rm x)",
        "ls ${x/$(rm x)/y}",
        "cat <<EOF\n$(rm x)\nEOF",
        "[[ $(rm x) ]] && ls",
        "for f in $(rm x); do ls; done",
        "case $(rm x) in *) ls;; esac",
        "ls | grep $(rm x)",
        'git log "--author=$(rm x)"',
    ],
)
def test_c03_substitutions_count(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize("command", ["cat <(rm x)", "ls > >(rm x)", "ls 2> >(rm x)", "cat < <(rm x)"])
def test_c04_process_substitutions_count(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > f",
        "echo x >>~/.bashrc",
        "ls 2>f",
        "ls &>f",
        "echo x > ../f",
        "echo x >| f",
        "> f",
        "echo x >& f",
        "ls &>> f",
        "echo x 1<> f",
        "{ ls; } > f",
        "ls > /tmp/f",
        "echo x > $f",
        "cat < /etc/passwd",
    ],
)
def test_c05_redirections_are_not_covered_by_a_rule_for_the_command(command: str) -> None:
    assert decision(command) == "ask"


@pytest.mark.parametrize("command", ["ls 2>/dev/null", "ls 2>&1", "echo x >&2", "grep x < f", "ls &>/dev/null"])
def test_c05_control_redirections_that_write_nothing_are_fine(command: str) -> None:
    assert decision(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "LD_PRELOAD=./e.so ls",
        "PAGER=./e git log",
        "export PATH=.:$PATH",
        "declare -x",
        "typeset",
        "X=1 ls",
        "PATH=.",
        "env PAGER=./e git log",
        "read PATH",
        "printf -v PATH .",
        "for PATH in .; do ls; done",
        "ls ${PATH:=.}",
    ],
)
def test_c06_variables_are_not_covered_by_a_rule_for_the_command(command: str) -> None:
    assert decision(command) == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find . -exec rm {} +", "deny"),
        ("find . -delete", "deny"),
        ("find . -fprintf f x", "ask"),
        ("find . -okdir rm {} \\;", "deny"),
        ("ls | xargs rm", "deny"),
        ("find . -execdir rm {} ';'", "deny"),
        ("find . -name x -exec sh -c 'rm \"$1\"' _ {} \\;", "deny"),
        ("find . -exec touch {} +", "ask"),
        ("find . -fls f", "ask"),
        ("find . >/dev/null -delete", "deny"),
        ("find . -exec {} \\;", "ask"),
        ("ls | xargs -I{} sh -c '{}'", "ask"),
        ("ls | xargs env", "ask"),
    ],
)
def test_c07_actions_of_find_and_xargs_count(command: str, expected: str) -> None:
    assert decision(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "git -c core.pager=./e log",
        "git log --output=f",
        "git --exec-path=. log",
        "git --git-dir=x log",
        "git --config-env=core.pager=X log",
        "git log --ext-diff",
        "git log --textconv",
        "git -c alias.log=!x log",
    ],
)
def test_c08_options_of_git_that_run_or_write_are_not_covered(command: str) -> None:
    assert decision(command) == "ask"


@pytest.mark.parametrize("command", ["git --no-pager log", "git -C src log", "git status -s"])
def test_c08_control_harmless_options_of_git_are_covered(command: str) -> None:
    assert decision(command) == "allow"


@pytest.mark.parametrize("command", ["git logout", "lsof", "echoX", "./ls", "ls/x", "git-log", "LS"])
def test_c09_words_are_compared_whole(command: str) -> None:
    assert decision(command) == "ask"


@pytest.mark.parametrize("command", WRAPPED)
def test_c10_a_deny_rule_matches_through_wrappers(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "/bin/rm x",
        "\\rm x",
        "r''m x",
        "r\\m x",
        "$'rm' x",
        '"rm" x',
        "'r'm x",
        "$'\\x72m' x",
        "r\\\nm x",
        "./rm x",
        "/usr/bin/rm x",
    ],
)
def test_c11_a_deny_rule_matches_however_the_word_is_written(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "/bin/r? x",
        "{rm,x}",
        "r[m] x",
        "$X x",
        "${X}m x",
        '"$X" x',
        "`echo rm` x",
        "~/rm x",
        "r$'\\155' x",
    ],
)
def test_c11_a_word_that_is_not_known_is_never_allowed(command: str) -> None:
    assert decision(command) in ("ask", "deny")


@pytest.mark.parametrize("command", RUN_BY_OTHERS)
def test_c20_a_deny_rule_reaches_what_other_programs_run(command: str) -> None:
    assert decision(command) == "deny"


ONLY_CURL = Policy({"user": parse_policy('[[rule]]\ntool = "Bash"\nwords = ["curl"]\ndecision = "deny"\n', "curl")})


@pytest.mark.parametrize("command", UNKNOWN)
def test_c21_a_program_that_is_not_known_asks_if_a_rule_denies_one_of_its_words(command: str) -> None:
    assert decision(command, ONLY_CURL) == "ask"


def test_c21_the_question_says_which_word_it_is() -> None:
    verdict = ONLY_CURL.decide("Bash", {"command": UNKNOWN[0]}, planned(UNKNOWN[0]))
    assert verdict is not None
    assert verdict.reason == "'frobnicate' is not a known program, and may run 'curl', which a rule is about"
    assert verdict.rule == 'user rule 1: deny Bash ["curl"]'


def test_c21_a_rule_of_several_words_is_looked_for_as_a_whole() -> None:
    push = Policy({"user": parse_policy('[[rule]]\ntool="Bash"\nwords=["git","push"]\ndecision="deny"\n', "push")})
    assert decision("frobnicate git push", push) == "ask"
    assert decision("frobnicate git status; frobnicate push", push) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "echo curl",
        "grep curl f",
        "man curl",
        "which curl",
        "ls curl",
        'git commit -m "curl x"',
        "pytest -k curl",
        "cat curl",
    ],
)
def test_c21_control_a_known_program_with_such_a_word_does_not_ask(command: str) -> None:
    assert decision(command, ONLY_CURL) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "true && " * 60 + "rm x",
        "true && " * 2500 + "rm x",
        f"echo {'a' * 20_000}; rm x",
        "echo a\n" * 3000 + "rm x",
        "ls;" * 6000 + "rm x",
    ],
    ids=["list", "long list", "long word", "lines", "commands"],
)
def test_c12_length_does_not_weaken_a_rule(command: str) -> None:
    assert decision(command) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "$(echo " * 500 + "rm x" + ")" * 500,
        "(" * 300 + "ls" + ")" * 300,
        "echo " + "a" * 30_000,
        "if ls; then " * 100 + "ls" + "; fi" * 100,
    ],
    ids=["substitutions", "brackets", "long word", "conditions"],
)
def test_c12_what_is_too_long_or_too_deep_to_follow_is_never_allowed(command: str) -> None:
    assert decision(command) in ("ask", "deny")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("eval 'rm x'", "deny"),
        (". ./s", "ask"),
        ("source s", "ask"),
        ("command rm", "deny"),
        ("builtin eval", "ask"),
        ("exec rm", "deny"),
        ("builtin eval 'rm x'", "deny"),
        ("eval r m", "ask"),
        ("eval rm x", "deny"),
        ('eval "$X"', "ask"),
        (". /dev/stdin <<< 'rm x'", "deny"),
        ("command -p rm x", "deny"),
        ("exec -a ls rm x", "deny"),
    ],
)
def test_c13_builtins_that_run_something_count(command: str, expected: str) -> None:
    assert decision(command) == expected


SCRIPTS = {
    "s": "rm x\n",
    "two": "set -e\n. ./s\n",
    "loop": "sh ./loop\n",
    "opaque": '"$CC" x\nrm\n',
    "calm": "$X y\nls\n",
}


def scripted(command: str) -> CommandPlan:
    return analyse(command, dataclasses.replace(AROUND, content=SCRIPTS.get))


@pytest.mark.parametrize(
    "command",
    [
        ". ./s",
        "source s",
        "bash s",
        "sh ./s",
        "bash -x s",
        "sh < s",
        "env bash s",
        "timeout 5 sh s",
        "bash two",
        "cd sub && sh ../s",
        "find . -exec sh s {} +",
        "echo $(sh s)",
        "trap 'sh s' EXIT",
        "bash --rcfile s -i -c true",
    ],
)
def test_c13_a_script_counts_as_what_it_runs(command: str) -> None:
    plan = scripted(command)

    assert any(words[0] == "rm" for words in plan.commands)
    assert any(reason.startswith("in 's': ") or "in 'two': in 's': " in reason for reason in plan.dangers)


def test_c13_what_a_script_leaves_open_is_not_asked_about() -> None:
    assert scripted("bash calm").dangers == scripted("sh loop").dangers == scripted("sh nowhere").dangers == ()
    assert ("rm",) in scripted("bash opaque").commands


@pytest.mark.parametrize("command", ["echo 'rm x' > s; sh s", "printf 'rm x' | tee n; . ./n"])
def test_c13_a_script_that_the_command_writes_itself_is_asked_about(command: str) -> None:
    assert any("which it writes itself" in reason for reason in scripted(command).dangers)


HIDDEN = r"""
sed --expression='1e rm x' f
sed --expr '1e rm x' f
sed -e'1e rm x' f
sed -ne '1e rm x' f
sed --file=p.sed f
sed -nf p.sed f
git archive --remote=. --exec='rm x' HEAD
git log -p --ext-dif
git reset --har
git push --forc
git grep --open-files-in-page='rm x' y
env --split='rm x'
tar cf f --checkpoint=1 --checkpoint-act=exec='rm x'
tar cf t.tar --remove-f x
tar --use-comp='rm x' -cf t f
sort --compress-prog=rm f
flock f --comm='rm x'
script --comm='rm x' f
split --filt='rm x' f
chmod --recurs 700 d
bash --rcfile <(echo rm x) -i
bash --init-file <(echo rm x) -i
PS0='$(rm x)' bash -i
PS1='`rm x`' bash -i
gdb -batch -ex 'shell rm x'
gdb --eval-command='!rm x'
gdb -x commands
make --eval='$(shell rm x)'
make --ev 'a: ; rm x'
make -f <(echo a)
make -f -
vim -es -c '!rm x'
vim '+!rm x'
ex -s -c '!rm x'
ed -s <<< '!rm x'
less '+!rm x' f
man -P 'rm x' ls
man --pag='rm x' ls
sqlite3 db '.shell rm x'
sqlite3 db <<< '.system rm x'
sqlite3 db '.output x'
sqlite3 db "select writefile('x', '')"
echo '.shell rm x' | sqlite3 db
psql -c '\\! rm x'
capsh -- -c 'rm x'
prlimit rm x
prlimit --nofile=9 rm x
setpriv rm x
setpriv --reuid 0 rm x
expect -c 'exec rm x'
m4 <<< 'syscmd(`rm x`)'
dc -e '!rm x'
"""


@pytest.mark.parametrize("command", HIDDEN.strip().splitlines())
def test_c10_programs_that_run_what_they_are_told_ask(command: str) -> None:
    assert analyse(command, AROUND).asks


@pytest.mark.parametrize("command", ["uniq f x", "openssl rand -out x 3", "cp --target-directory=. d/x", "cp -t. d/x"])
def test_c05_what_overwrites_a_file_asks(command: str) -> None:
    kinds: dict[str, Kind] = {"x": "file", ".": "directory"}

    assert analyse(command, dataclasses.replace(AROUND, kind=lambda path: kinds.get(path, "absent"))).asks
    assert not analyse(command, AROUND).asks


@pytest.mark.parametrize(
    "command",
    [
        "sed -n '1,3p' f",
        "sed -E 's/a/b/g' f",
        "sed -i.bak -e 's/a/b/' f",
        "git diff --exit-code",
        "make -f other.mk all",
        "vim f",
        "less f",
        "uniq -c f",
        "openssl sha256 f",
        "sqlite3 db .schema",
        "sqlite3 db 'select 1'",
        "PS1='$ '",
        "gdb -batch -ex run ./a",
        "prlimit --nofile",
        "man ls",
        "git log --output-indicator-new=x",
        "cp --preserve f g",
    ],
)
def test_c18_the_same_programs_used_plainly_do_not_ask(command: str) -> None:
    assert analyse(command, AROUND).dangers == ()


@pytest.mark.parametrize(
    "command", ["echo cm0geA==|base64 -d|sh", "cat f | bash", "echo x | python3", "ls | perl", "cat f | bash -s"]
)
def test_c14_what_comes_through_a_pipe_into_a_shell_is_not_allowed(command: str) -> None:
    assert decision(command) == "ask"
    assert planned(command).asks


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("bash <<EOF\nls\nEOF", "ask"),
        ("bash <<EOF\nrm x\nEOF", "deny"),
        ("bash <<'EOF'\nrm x\nEOF", "deny"),
        ("bash <<-EOF\n\trm x\n\tEOF", "deny"),
        ("cat <<< x | sh", "ask"),
        ("cat <<EOF > f\nx\nEOF", "ask"),
        ("sh <<< 'rm x'", "deny"),
        ("cat <<EOF | sh\nrm x\nEOF", "ask"),
        ("cat <<A\nls\nA\nrm x", "deny"),
        ("cat <<'A'\n$(rm x)\nA", "allow"),
        ("cat <<A\n`rm x`\nA", "deny"),
        ("cat <<A && rm x\nA\n", "deny"),
    ],
)
def test_c15_heredocs_count_as_what_reads_them(command: str, expected: str) -> None:
    assert decision(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        'echo "a',
        "echo 'a",
        "ls \x00 x",
        "ls\x00",
        "echo \ud800",
        "ls (",
        "ls )",
        "if true",
        "ls \r rm x",
        "ls\x0brm x",
        "ls \x1b[2K",
        "ls\u00a0-la x",
        "\ufeffls",
        "echo `ls",
        "case x in",
        "ls $(",
        "ls <<EOF\nx",
    ],
)
def test_c16_what_cannot_be_read_is_never_allowed(command: str) -> None:
    assert decision(command) in ("ask", "deny")


@pytest.mark.parametrize("policy", [Policy({"user": parse_policy('[unmatched]\nBash = "ask"', "none")})])
def test_c17_without_rules_that_allow_nothing_is_allowed(policy: Policy) -> None:
    assert decision("ls", policy) == "ask"


@pytest.mark.parametrize("command", BENIGN)
def test_c18_control_benign_commands_are_allowed_without_a_question(command: str) -> None:
    assert decision(command) == "allow"


def test_c19_a_project_cannot_allow_what_the_user_denies() -> None:
    user = parse_policy('[[rule]]\ntool = "Bash"\nwords = ["rm"]\ndecision = "deny"', "user")
    project = parse_policy('[[rule]]\ntool = "Bash"\nwords = ["rm"]\ndecision = "allow"', "project")
    assert decision("rm x", Policy({"user": user, "project": project})) == "deny"


@pytest.mark.parametrize(
    ("remembered", "tried"),
    [("ls", "ls; rm x"), ("bash -c 'ls'", "bash -c 'rm x'"), ("ls", "ls -l"), ("ls x", "ls  x")],
)
def test_a06_what_was_remembered_covers_nothing_else(remembered: str, tried: str) -> None:
    policy = Policy({"user": parse_policy('[unmatched]\nBash = "ask"', "user")})
    policy.remember("Bash", {"command": remembered}, planned(remembered))
    assert decision(remembered, policy) == "allow"
    assert decision(tried, policy) == "ask"


@pytest.mark.parametrize("typed", ["https://example.org", "HTTPS://Example.org:443/", "https://example.org/#top"])
def test_a_rule_that_allows_a_host_is_about_the_address_that_is_sent(typed: str) -> None:
    rule = '[[rule]]\ntool = "web_fetch"\nargs = { url = "https://example.org/*" }\ndecision = "allow"\n'
    policy = Policy({"user": parse_policy(rule, "rules")})
    plan = Plan(summary="Fetch", access="read", resources=("https://example.org/",))
    verdict = policy.decide("web_fetch", {"url": typed}, plan)
    assert verdict is not None
    assert verdict.decision == "allow"


def test_without_a_plan_that_names_the_address_a_rule_that_allows_must_fit_it_as_typed() -> None:
    rule = '[[rule]]\ntool = "post"\nargs = { url = "https://example.org/*" }\ndecision = "allow"\n'
    policy = Policy({"user": parse_policy(rule, "rules")})
    assert policy.decide("post", {"url": "https://example.org"}, Plan(summary="Send")) is None
