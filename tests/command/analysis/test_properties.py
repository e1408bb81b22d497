"""Properties: what quoting and wrapping cannot change, checked against generated commands and against bash itself."""

import shlex
import subprocess
from collections.abc import Callable

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolgate.command.analysis import UNRESOLVED, analyse
from toolgate.command.line import read_line

CONTROL = "".join(chr(code) for code in (*range(9), *range(11, 32), 127))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=CONTROL + UNRESOLVED), max_size=12)
SHELLISH = st.text(st.sampled_from(list("abrm \t\n'\"\\$`(){}[]<>|&;#~*?!=-x1")), max_size=14)


def ansi(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


def double(text: str) -> str:
    return '"' + "".join(f"\\{letter}" if letter in '"$`\\' else letter for letter in text) + '"'


def single(text: str) -> str:
    return "".join(f"'{letter}'" if letter != "'" else "\\'" for letter in text) or "''"


def pieces(text: str) -> str:
    """Every character quoted another way."""
    ways: list[Callable[[str], str]] = [shlex.quote, double, single]
    return "".join(ways[at % 3](letter) for at, letter in enumerate(text)) or "''"


QUOTINGS = st.sampled_from([shlex.quote, ansi, double, pieces])


@given(st.lists(st.tuples(st.one_of(TEXT, SHELLISH), QUOTINGS), min_size=1, max_size=4))
def test_quoting_round_trips(words: list[tuple[str, Callable[[str], str]]]) -> None:
    texts = tuple(text for text, _ in words)
    line = "echo " + " ".join(quote(text) for text, quote in words)
    assert ("echo", *texts) in analyse(line).commands
    assert tuple(word.text for word in read_line(line).words) == ("echo", *texts)


WRAPPERS = [
    "env {}",
    "env A=1 {}",
    "sudo -u x {}",
    "nice -n 5 {}",
    "timeout 5 {}",
    "setsid -f {}",
    "nohup {} &",
    "stdbuf -oL {}",
    "xargs {}",
    "time {}",
    "command {}",
    "exec {}",
    "busybox {}",
    "true && {}",
    "ls; {}",
    "ls | {}",
    "( {} )",
    "{{ {}; }}",
    "! {}",
    "echo $( {} )",
    'echo "$( {} )"',
    "cat <( {} )",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "f() {{ {}; }}",
    "find . -exec {} \\;",
    "X=1 {}",
    "{} > new",
    "{} 2>&1 < /dev/null",
]
SHELLS = ["sh -c {}", "bash -lc {}", "eval {}", "env -S {}", "watch {}", "trap {} EXIT", "bash <<< {}", "su -c {}"]


def nested(command: str, wrappers: list[str]) -> str:
    for wrapper in wrappers:
        command = wrapper.format(shlex.quote(command) if wrapper in SHELLS else command)
    return command


SPELLINGS = ["rm", "\\rm", "r''m", "'rm'", '"rm"', "$'rm'", "/bin/rm", "r\\m"]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SPELLINGS), st.sampled_from([*WRAPPERS, *SHELLS]))
def test_a_wrapped_command_is_still_found(spelling: str, wrapper: str) -> None:
    plan = analyse(nested(f"{spelling} x", [wrapper]))
    assert any(command[0] == "rm" for command in plan.commands)
    assert plan.asks


# what is no simple command can only be put around others, so the simple wrappers stay innermost
SIMPLE = WRAPPERS[:13]
OUTER = [wrapper for wrapper in WRAPPERS[13:] if not wrapper.startswith(("find", "X=1", "{} "))]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SIMPLE), st.sampled_from(SHELLS), st.lists(st.sampled_from([*OUTER, *SHELLS]), max_size=3))
def test_a_command_wrapped_again_and_again_is_found_or_asked_about(inner: str, shell: str, outer: list[str]) -> None:
    plan = analyse(nested("rm x", [inner, shell, *outer]))
    assert plan.asks


@settings(max_examples=500)
@given(st.one_of(SHELLISH, TEXT, st.text(max_size=30)))
@example("((" * 50)
@example("${" * 50)
@example("<<A<<B")
@example("a[$(")
def test_the_analysis_never_raises(command: str) -> None:
    plan = analyse(command)
    assert plan.text == command
    assert plan.asks is bool(plan.dangers)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from(list("ab'\"\\$ {},~#=*")), min_size=1, max_size=8), min_size=1, max_size=3))
def test_words_that_are_known_are_the_words_that_bash_passes(words: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(words)
    plan = analyse(line)
    found = next((command for command in plan.commands if command[0] == "printf"), None)
    if plan.asks or found is None or any(mark in "".join(found) for mark in (UNRESOLVED, "*", "{", "~")):
        return
    ran = subprocess.run(["bash", "-c", line], capture_output=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert ran.stdout.decode().split("\0")[:-1] == [*found[2:]] or (len(found) == 2 and ran.stdout == b"\0")


@settings(max_examples=60, deadline=None)
@given(SHELLISH)
def test_the_line_reader_agrees_with_bash_about_simple_commands(text: str) -> None:
    command = f"printf '%s\\0' {text}"
    line = read_line(command)
    if line.operator or line.problem or line.content or not all(word.known for word in line.words):
        return
    if any(mark in word.raw for word in line.words[2:] for mark in "*?[{!"):
        return
    ran = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin"}
    )
    words = [word.text for word in line.words[2:]]
    assert ran.stdout.decode() == ("".join(f"{word}\0" for word in words) if words else "\0")
