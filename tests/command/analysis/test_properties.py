"""Properties: what quoting and wrapping cannot change, checked against generated commands and against bash itself."""

import shlex

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolgate.command.analysis import UNRESOLVED, analyse

CONTROL = "".join(chr(code) for code in (*range(9), *range(11, 32), 127))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=CONTROL + UNRESOLVED), max_size=12)
SHELLISH = st.text(st.sampled_from(list("abrm \t\n'\"\\$`(){}[]<>|&;#~*?!=-x1")), max_size=14)


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
    assert plan.asks is bool(plan.dangers)
