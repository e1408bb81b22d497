"""What a dump may say, and what is not believed."""

import subprocess

import pytest

from toolgate.shell import state_dump as dump
from toolgate.shell.quoting import decode, quote, quote_scalar
from toolgate.shell.state import ShellState, Variable


def dumped(command: str) -> bytes:
    """What bash writes after a command."""
    text = f"{command}\nPOSIXLY_CORRECT=0:$SHELLOPTS:$BASHOPTS; {dump.CODE}"
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", text],
        capture_output=True,
        check=True,
        cwd="/",
        env={"PATH": "/usr/bin"},
    )
    return done.stdout


def state_after(command: str) -> ShellState:
    return dump.parse(dumped(command))


VALUES = [
    b"plain",
    b"",
    b"a b",
    b'"',
    b"$(id)",
    b"`id`",
    b"\\",
    b"\n",
    b"\t\r\x1b\x01",
    b"'",
    b"\xc3\xa9",
    b"\xff",
    b"!",
]


@pytest.mark.parametrize("value", VALUES)
def test_an_exported_value_is_read_back_byte_by_byte(value: bytes) -> None:
    text = f"export V=$(printf {quote(quote_for_printf(value)).decode()}; printf x); V=${{V%x}}"

    assert state_after(text).environment[b"V"] == value


def quote_for_printf(value: bytes) -> bytes:
    return b"".join(b"\\%03o" % byte for byte in value)


@pytest.mark.parametrize("value", VALUES)
def test_both_notations_stand_for_the_value(value: bytes) -> None:
    assert decode(quote_scalar(value)) == value


def test_attributes_and_arrays_are_kept() -> None:
    state = state_after("declare -ri N=5; declare -a L=(1 'a b'); declare -A M=([k]=v ['a b']=c); declare -u U=x")

    assert state.variables[b"N"] == Variable("ir", b'"5"')
    assert state.variables[b"L"] == Variable("a", b'([0]="1" [1]="a b")')
    assert state.variables[b"M"].flags == "A"
    assert state.variables[b"U"] == Variable("u", b'"X"')


def test_functions_aliases_and_options_are_kept() -> None:
    state = state_after(
        "f() { echo hi; }; g-h() { :; }; alias ll='ls -l' q=\"it's\"; set -o pipefail; shopt -s nullglob"
    )

    assert state.function_names == frozenset({"f", "g-h"})
    assert state.aliases == {b"ll": b"'ls -l'", b"q": b"'it'\\''s'"}
    assert (state.options[b"pipefail"], state.shopts[b"nullglob"]) == (True, True)


def test_what_bash_keeps_itself_is_left_out() -> None:
    assert not {b"BASHPID", b"RANDOM", b"PPID", b"SHELLOPTS", b"_", b"PWD"} & set(state_after(":").variables)


def forged(**parts: bytes) -> bytes:
    names = (
        "options directory previous stack umask variables functions exported aliases shopts settings running".split()
    )
    given = {"directory": b"/\n", "stack": b"/\n", "umask": b"umask 0022\n", **parts}
    return b"\0".join([*(given.get(name, b"") for name in names), b"end"])


def test_processes_that_still_run_are_counted() -> None:
    assert (dump.left_running(forged(running=b"12\n34\n")), dump.left_running(forged())) == (2, 0)
    assert dump.left_running(b"12\n34") == 0


def test_a_made_up_dump_that_is_well_formed_is_taken() -> None:
    assert dump.parse(forged()).directory == b"/"


FORGERIES = [
    b"",
    b"end",
    forged()[:-1],
    forged() + b"\0",
    forged(directory=b"relative\n"),
    forged(umask=b"umask $(id)\n"),
    forged(variables=b"id\n"),
    forged(variables=b'declare -- x="$(id)"\n'),
    forged(variables=b'declare -- x="`id`"\n'),
    forged(variables=b'declare -- x="a"; id\n'),
    forged(variables=b'declare -a x=([$(id)]="1")\n'),
    forged(variables=b'declare -a x=([y]="1")\n'),
    forged(variables=b'declare -i x="y[0]"\n'),
    forged(variables=b'declare -n x="y[0]"\n'),
    forged(aliases=b"alias x=$(id)\n"),
    forged(aliases=b"alias x='a'; id\n"),
    forged(aliases=b"alias x;{id,-u};y='a'\n"),
    forged(aliases=b"alias x&y='a'\n"),
    forged(aliases=b"alias x>y='a'\n"),
    forged(exported=b"declare -fx $(id)\n"),
    forged(shopts=b"shopt -s $(id)\n"),
    forged(settings=b"set -o pipefail; id\n"),
]


@pytest.mark.parametrize("text", FORGERIES)
def test_anything_but_inert_data_is_refused(text: bytes) -> None:
    with pytest.raises(dump.BadDump):
        dump.parse(text)
