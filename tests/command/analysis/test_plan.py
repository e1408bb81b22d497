"""What the analysis finds, beyond whether it asks."""

import gc
import time

import pytest

from toolgate.command.analysis import (
    UNRESOLVED,
    Assignment,
    CommandPlan,
    Kind,
    Surroundings,
    analyse,
)


def kind(path: str) -> Kind:
    return {"f": "file", "src": "directory", "build": "directory", ".": "directory"}.get(path, "absent")  # type: ignore[return-value]


AROUND = Surroundings(root="/project", home="/home/user", kind=kind)


def plan(command: str, around: Surroundings = AROUND) -> CommandPlan:
    return analyse(command, around)


def test_a_plan_holds_everything_that_was_found() -> None:
    assert plan("X=1 ls a >new 2>&1 | sh s.sh") == CommandPlan(
        commands=(("=", "X", "1"), (">", "new"), ("ls", "a"), ("sh", "s.sh")),
        assignments=(Assignment(name="X", value="1"),),
        scripts=("s.sh",),
    )


def test_an_empty_command_is_nothing() -> None:
    assert plan("  \n # only a comment\n") == CommandPlan(commands=())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo a\\ b 'c d' \"e f\"", ("echo", "a b", "c d", "e f")),
        ("echo $'a\\tb\\n'", ("echo", "a\tb\n")),
        ('echo "a\\"b\\$c\\`d\\\\e\\f"', ("echo", 'a"b$c`d\\e\\f')),
        ("echo 'it'\\''s'", ("echo", "it's")),
        ("echo a'b'\"c\"$'d'", ("echo", "abcd")),
        ("echo ''", ("echo", "")),
        ("echo foo$ $", ("echo", "foo$", "$")),
        ('echo $x "$y" z$(w)z', ("echo", UNRESOLVED, UNRESOLVED, f"z{UNRESOLVED}z")),
        ("echo ~ ~/x a~", ("echo", "/home/user", "/home/user/x", "a~")),
        ("echo '~'", ("echo", "~")),
        ("echo $PWD/x ${HOME}", ("echo", "/project/x", "/home/user")),
        ("cd src && echo $PWD", ("echo", "/project/src")),
        ("echo $(pwd)", ("echo", "/project")),
        ("echo a == b", ("echo", "a", "==", "b")),
        ("echo {a,b} *.py", ("echo", "{a,b}", "*.py")),
        ("echo \\\n a", ("echo", "a")),
        ("echo é 漢字", ("echo", "é", "漢字")),
    ],
)
def test_words_are_unquoted_as_the_shell_does(command: str, words: tuple[str, ...]) -> None:
    assert words in plan(command).commands


def test_words_behind_a_redirection_belong_to_the_command() -> None:
    assert plan("cat >new a b").commands == ((">", "new"), ("cat", "a", "b"))


def test_a_lone_dash_before_a_heredoc_is_a_word() -> None:
    assert plan("cat - <<'EOF'\nx\nEOF").commands == (("cat", "-"),)


def test_reasons_are_said_once_in_order() -> None:
    found = plan("rm a; rm b; git push")
    assert found.reason == "'rm': it removes files; it publishes commits"


def test_a_plan_with_only_known_commands_is_plain() -> None:
    assert plan("ls | cat && rm x").plain
    assert not plan("ls > new").plain
    assert not plan("X=1 ls").plain
    assert not plan("cat /etc/passwd").plain
    assert not plan("$x").plain


def test_harmless_commands_are_named() -> None:
    assert plan("cd src && true && ls").harmless == (("cd", "src"), ("true",))


def test_characters_beyond_ascii_are_parts_of_words() -> None:
    assert plan("ls\u00a0-la").commands == (("ls\u00a0-la",),)
    assert plan("\ufeffls").commands == (("\ufeffls",),)
    assert plan("echo 'a\U000f820eb' é=1").commands == (("echo", "a\U000f820eb", "é=1"),)


def test_a_name_that_is_not_ascii_is_no_variable() -> None:
    assert plan("é=1 ls").commands == (("é=1", "ls"),)


@pytest.mark.parametrize("word", ['r$"m"', "r$''m", "r$'m'", '"r"$"m"'])
def test_translated_strings_are_strings(word: str) -> None:
    found = plan(f"{word} x")
    assert ("rm", "x") in found.commands or UNRESOLVED in found.commands[0]
    assert found.asks


@pytest.mark.parametrize(
    "piece",
    [
        ")",
        "${",
        "$(",
        "`",
        "{a,",
        "<<E ",
        "eval ",
        "(",
        '"$(',
        "[[ ",
        "case a in ",
        "a;",
        "\\",
        "<(",
        "'\"",
        "$[",
        "x=(",
    ],
)
def test_hostile_text_is_judged_in_time_that_grows_with_its_length(piece: str) -> None:
    def seconds(size: int) -> float:
        command = (piece * (size // len(piece) + 1))[:size]
        start = time.process_time()
        analyse(command)
        return time.process_time() - start

    gc.collect()
    gc.disable()  # a collection of everything that other tests left behind would be counted
    try:
        seconds(100)
        short, long = (min(seconds(size) for _ in range(5)) for size in (2_000, 16_000))
    finally:
        gc.enable()
    # quadratic time would be 64 times as long, cubic 512 times
    assert long < 30 * max(short, 0.002)


def test_text_that_is_too_long_is_not_read() -> None:
    found = plan("echo " + "a" * 300_000)
    assert found.commands == ((UNRESOLVED,),)
    assert found.asks


def test_a_test_of_files_evaluates_nothing() -> None:
    script = "cat > new.sh <<'EOF'\necho $(date)\nEOF\n"

    assert not analyse(f"{script}[[ -f new.sh ]] && ls").asks
    assert analyse(f"{script}[[ $n -eq 1 ]] && ls").asks


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("ls >", "it ends where a word is expected"),
        ("ls <name>", "it ends where a word is expected"),
        ("ls >\nls", "a line ends where a word is expected"),
        ("ls <a> | wc", "'|' is not expected there"),
        ("ls <a> && wc", "'&&' is not expected there"),
        ("cp <a> <b>", "'<' is not expected there"),
        ("echo a)", "')' is not expected there"),
        ("echo 'a", "a single quote is not closed"),
        ("echo a \\", "it ends with a backslash, as if another line followed"),
    ],
)
def test_the_reason_says_what_is_wrong_with_invalid_code(command: str, problem: str) -> None:
    assert f"it cannot be followed as bash: {problem}" in analyse(command).dangers
