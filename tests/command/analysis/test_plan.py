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


@pytest.mark.parametrize(
    ("command", "written", "danger"),
    [
        ("echo x > f", (">", "f"), "it overwrites 'f', which exists"),
        ("echo x >> f", (">>", "f"), None),
        ("echo x > new", (">", "new"), None),
        ("echo x > ../f", (">", "../f"), "'../f' is outside the root"),
        ("echo x > src/../f", (">", "src/../f"), "it overwrites 'src/../f', which exists"),
        ("echo x > /project/f", (">", "/project/f"), "it overwrites '/project/f', which exists"),
        ("echo x > /project/../f", (">", "/project/../f"), "'/project/../f' is outside the root"),
        ("echo x > /project-evil/f", (">", "/project-evil/f"), "'/project-evil/f' is outside the root"),
        ("cd src && echo x > ../f", (">", "../f"), "it overwrites '../f', which exists"),
        ("tee f", (">", "f"), "it overwrites 'f', which exists"),
        ("dd if=x of=f", (">", "f"), "it overwrites 'f', which exists"),
        ("sort -o f x", (">", "f"), "it overwrites 'f', which exists"),
        ("git diff --output f", (">", "f"), "it overwrites 'f', which exists"),
        ("curl -o f http://localhost", (">", "f"), "it overwrites 'f', which exists"),
    ],
)
def test_files_that_are_written_are_known(command: str, written: tuple[str, str], danger: str | None) -> None:
    found = plan(command)
    assert _written(found) == [written]
    assert found.dangers == (() if danger is None else (danger,))


@pytest.mark.parametrize("command", ["ls >/dev/null", "ls 2>&1", "ls >&-", "ls < f", "cat <<< x"])
def test_nothing_is_written_where_nothing_is(command: str) -> None:
    assert _written(plan(command)) == []


def _written(found: CommandPlan) -> list[tuple[str, ...]]:
    return [words for words in found.commands if words[0] in (">", ">>")]


@pytest.mark.parametrize(
    ("command", "scripts"),
    [
        ("./run.sh", ("run.sh",)),
        ("bash run.sh a b", ("run.sh",)),
        ("bash -x ./run.sh", ("run.sh",)),
        (". ./env", ("env",)),
        ("source src/env", ("src/env",)),
        ("python3 a.py --x", ("a.py",)),
        ("node src/a.js", ("src/a.js",)),
        ("sh < run.sh", ("run.sh",)),
        ("timeout 5 ./run.sh", ("run.sh",)),
        ("cd src && ./x", ("src/x",)),
        ("find . -exec ./x {} \\;", ("x",)),
        ("ls", ()),
        ("bash -c ls", ()),
        ("python3 -m pytest", ()),
    ],
)
def test_scripts_that_run_are_known_so_that_their_content_can_be_hashed(command: str, scripts: tuple[str, ...]) -> None:
    assert plan(command).scripts == scripts


@pytest.mark.parametrize(
    ("functions", "command"),
    [
        ({"ls": "ls () \n{ \n    rm -rf x\n}"}, "ls"),
        ({"f": "f () \n{ \n    g\n}", "g": "g () \n{ \n    rm x\n}"}, "f"),
        ({"f": "f () \n{ \n    f\n    rm x\n}"}, "f a b"),
        ({"git": "git () \n{ \n    rm x\n}"}, "timeout 5 ls; git log"),
    ],
)
def test_a_function_counts_as_what_it_runs(functions: dict[str, str], command: str) -> None:
    found = plan(command, Surroundings(functions=functions))
    assert ("rm", "x") in found.commands or ("rm", "-rf", "x") in found.commands
    assert found.asks


def test_a_function_is_not_called_by_its_quoted_or_full_name() -> None:
    around = Surroundings(functions={"ls": "ls () \n{ \n    rm x\n}"})
    assert plan("/bin/ls", around).commands == (("ls",),)


@pytest.mark.parametrize("command", ["ls -la", "true && ls"])
def test_an_alias_counts_as_what_it_runs(command: str) -> None:
    found = plan(command, Surroundings(aliases={"ls": "rm x;"}))
    assert ("rm", "x") in found.commands


def test_a_quoted_word_is_no_alias() -> None:
    assert plan("\\ls", Surroundings(aliases={"ls": "rm x"})).commands == (("ls",),)


def test_a_well_known_word_that_path_finds_in_the_root_asks() -> None:
    around = Surroundings(shadows=lambda word: f"bin/{word}" if word in ("ls", "tool") else None)
    assert plan("ls", around).dangers == ("'ls' is 'bin/ls' here, because 'PATH' finds that first",)
    assert plan("ls", around).scripts == ("bin/ls",)
    assert not plan("tool", around).asks


def test_the_projects_own_programs_may_be_put_in_path() -> None:
    assert not plan("export PATH=$PWD/.venv/bin:$PATH && pytest").asks
    assert plan("export PATH=$PWD/bin:$PATH && ls").asks


@pytest.mark.parametrize(
    "command", ["cd build && cat ../f", "(cd build; cat ../f)", "mkdir x && cd x && cat ../f", "pushd src; ls .."]
)
def test_directories_are_followed(command: str) -> None:
    assert not plan(command).asks


@pytest.mark.parametrize(
    "command",
    [
        "cd build && cat ../../f",
        "(cd build); cat ../f",
        "cd nothere; cat ../f",
        "cd build | cat ../f",
        "if cd nothere; then ls; fi; cat ../f",
        "cd $x && cat ../f",
        "cd build || cat ../../f",
        "cd ..",
        "cd",
        "cd /",
    ],
)
def test_directories_that_may_lead_outside_ask(command: str) -> None:
    assert plan(command).asks


def test_the_shells_directory_is_where_paths_start() -> None:
    assert not plan("cat ../f", Surroundings(root="/project", cwd="src")).asks
    assert plan("cat ../../f", Surroundings(root="/project", cwd="src")).asks
    assert plan("cat f", Surroundings(root="/project", cwd="/etc")).commands == (("cat", "f"),)


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
