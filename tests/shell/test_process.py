"""Attacks on a shell session, as root and as nobody, in every layer and in none."""

import asyncio
import random

from tests.support.shells import CANARY, EVERY_LAYER, Shells, processes_with
from toolgate.shell.options import MIB, ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession


def a_number() -> str:
    """A duration that nobody else sleeps."""
    return f"{random.randint(10**5, 10**6)}.{random.randint(10**5, 10**6)}"


@EVERY_LAYER
def test_s01_what_stays_in_the_background_does_not_hold_the_answer(shells: Shells) -> None:
    nap = a_number()

    async def script(session: ShellSession) -> tuple[CommandResult, list[str]]:
        result = await session.execute(f"sleep {nap} & echo done", access=shells.access)
        return result, processes_with(nap)

    result, left = shells.run(script)

    assert (result.stdout, result.exit_code, result.timed_out) == ("done\n", 0, False)
    assert left == []


@EVERY_LAYER
def test_s02_at_the_deadline_the_whole_tree_is_gone(shells: Shells) -> None:
    nap = a_number()
    kept, late, after = shells.commands(
        "cd sub; export A=before",
        f"setsid sleep {nap} & setsid -f sleep {nap}; sleep {nap}",
        "pwd; echo $A",
        timeout=2,
    )

    assert kept.exit_code == 0
    assert (late.timed_out, late.exit_code) == (True, None)
    assert processes_with(nap) == []
    assert after.stdout == f"{shells.root}/sub\nbefore\n"


@EVERY_LAYER
def test_s03_a_command_that_ignores_signals_is_killed(shells: Shells) -> None:
    result, after = shells.commands("trap '' TERM INT HUP; while :; do sleep 1; done", "echo alive", timeout=2)

    assert result.timed_out
    assert after.stdout == "alive\n"


WAITING = ["cat", "read x", "python3 -I -c 'input()'", "git commit", "ssh-keygen", "sudo -S true", "tty"]


@EVERY_LAYER
def test_s04_there_is_no_input_and_no_terminal_to_wait_for(shells: Shells) -> None:
    results = shells.commands(*WAITING)

    assert [result.timed_out for result in results] == [False] * len(WAITING)
    assert results[WAITING.index("tty")].stdout == "not a tty\n"


@EVERY_LAYER
def test_s05_endless_output_is_counted_and_kept_small(shells: Shells) -> None:
    shells.options = ShellOptions(stored_bytes=MIB // 4)

    for result in shells.commands("yes", "cat /dev/urandom", timeout=1):
        assert result.timed_out
        assert result.stdout_info.bytes > MIB // 4
        assert result.stdout_info.stored_bytes == MIB // 4
        assert len(result.stdout) < MIB
        assert "left out" in result.stdout


@EVERY_LAYER
def test_s06_state_survives_exit(shells: Shells) -> None:
    ended, after = shells.commands("cd sub; export A=1; exit 3", "pwd; echo $A")

    assert ended.exit_code == 3
    assert after.stdout == f"{shells.root}/sub\n1\n"


@EVERY_LAYER
def test_s07_a_shell_that_dies_leaves_the_last_known_state(shells: Shells) -> None:
    _, *died, after = shells.commands(
        "cd sub; A=1", "A=2; kill -9 $$", "A=2; exec sleep 0.1", "A=2; exec false", "A=2; kill $$", "pwd; echo $A"
    )

    assert [result.exit_code for result in died[:3]] == [137, 0, 1]
    assert after.stdout in (f"{shells.root}/sub\n1\n", f"{shells.root}/sub\n2\n")  # TERM lets bash write its state


FORGERIES = [
    "printf 'toolgate-state-is-written\\n0\\n'; (exit 7)",
    "for fd in $(seq 3 255); do { printf 'forged\\0end' >&$fd; } 2>/dev/null; done; (exit 7)",
    "rm -f /run/toolgate/state; ln -sf {evil}/secret.txt /run/toolgate/state; (exit 7)",
    "mv /run/toolgate /run/old; mkdir -p /run/toolgate; ln -s {evil}/secret.txt /run/toolgate/state; (exit 7)",
    "trap 'exit 0' USR1; exit() { builtin exit 0; }; builtin() { :; }; eval() { :; }; set() { :; }; (command exit 7)",
    "set -- 0 toolgate-state-is-written; (exit 7)",
    "readonly PIPESTATUS; trap '' EXIT; (exit 7)",
    "shopt -s expand_aliases; alias builtin=true set=true trap=true; (exit 7)",
    "enable -n builtin exit set trap printf declare; bash -c 'exit 7'",
    "ulimit -f 0; (exit 7)",
    "set -efuk -o pipefail; exec bash -c 'exit 7'",
    "trap 'true' EXIT ERR DEBUG RETURN; (exit 7)",
]


@EVERY_LAYER
def test_s08_nothing_that_a_command_forges_is_believed(shells: Shells) -> None:
    lines = [forgery.replace("{evil}", str(shells.evil)) for forgery in FORGERIES]
    results = shells.commands(*(line for forgery in lines for line in (forgery, "command printf ok")))

    assert [result.exit_code for result in results[::2]] == [7] * len(lines)
    assert [result.stdout for result in results[1::2]] == ["ok"] * len(lines)
    assert CANARY not in repr(results)
    assert (shells.evil / "secret.txt").read_text() == CANARY


@EVERY_LAYER
def test_s08_functions_with_the_names_of_builtins_do_not_capture_the_session(shells: Shells) -> None:
    names = ". : builtin cd declare eval exec exit export printf pwd set shopt source trap umask unset"
    _, after = shells.commands(
        "".join(f"function {name} {{ command echo captured; }}; " for name in names.split()) + "true",
        "command cd sub; (exit 9)",
    )

    assert after.exit_code == 9


@EVERY_LAYER
def test_s08_a_forged_state_cannot_stop_the_session(shells: Shells) -> None:
    name = shells.command("trap -p EXIT").stdout
    target = name[name.index(">|") :].split("'\\''")[1] if "'\\''" in name else "/run/toolgate/state"
    forged, after = shells.commands(f"trap - EXIT; f() {{ :; }}; printf 'x' > {target}; kill -9 $$", "echo $((40 + 2))")

    assert forged.exit_code == 137
    assert after.stdout == "42\n"


BROKEN = ['echo "unterminated', "echo 'unterminated", "cat <<EOF\nx", "(", "if true", "echo )", "case x in", "$(", "`"]


@EVERY_LAYER
def test_s09_a_broken_command_is_an_error_and_not_a_hang(shells: Shells) -> None:
    results = shells.commands(*(line for broken in BROKEN for line in (broken, "echo clean")))

    assert [(result.timed_out, bool(result.stderr)) for result in results[::2]] == [(False, True)] * len(BROKEN)
    assert [(result.stdout, result.stderr) for result in results[1::2]] == [("clean\n", "")] * len(BROKEN)


@EVERY_LAYER
def test_s10_state_persists(shells: Shells) -> None:
    _, after = shells.commands("cd sub; export A=1; f(){ echo hi; }", "pwd; echo $A; f")

    assert (after.stdout, after.stderr, after.exit_code) == (f"{shells.root}/sub\n1\nhi\n", "", 0)


@EVERY_LAYER
def test_s11_no_secret_of_the_host_process_reaches_a_command(shells: Shells) -> None:
    results = shells.commands("env", "export -p", "set", "cat /proc/self/environ /proc/$PPID/environ", "ps eww")

    assert "PATH=" in results[0].stdout
    assert CANARY not in repr(results)


@EVERY_LAYER
def test_s12_only_the_three_descriptors_are_open(shells: Shells) -> None:
    open_ones = "for fd in {0..300}; do [[ -e /proc/$$/fd/$fd ]] && echo $fd; done"
    own, external = shells.commands(open_ones, "ls /proc/self/fd")

    assert own.stdout.split() == ["0", "1", "2"]
    assert external.stdout.split() == ["0", "1", "2", "3"]  # the last is ls's own, of the directory


@EVERY_LAYER
def test_s13_what_was_printed_before_the_deadline_is_kept(shells: Shells) -> None:
    result = shells.command("echo part; sleep 9", timeout=1)

    assert (result.stdout, result.timed_out, result.exit_code) == ("part\n", True, None)


@EVERY_LAYER
def test_s14_a_cancelled_command_does_not_disturb_the_next(shells: Shells) -> None:
    nap = a_number()

    async def script(session: ShellSession) -> tuple[bool, CommandResult]:
        await session.execute("B=kept", access=shells.access)
        task = asyncio.ensure_future(session.execute(f"setsid sleep {nap} & sleep {nap}", access=shells.access))
        while not processes_with(nap):
            await asyncio.sleep(0.02)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return not processes_with(nap), await session.execute("echo ok $B", access=shells.access)
        raise AssertionError("it was not cancelled")

    gone, after = shells.run(script)

    assert gone
    assert (after.stdout, after.exit_code) == ("ok kept\n", 0)


@EVERY_LAYER
def test_s15_bytes_that_are_not_text_are_replaced(shells: Shells) -> None:
    result = shells.command(r"printf '\xff\xfe\0\xc3'")

    assert result.stdout == "\ufffd\ufffd\ufffd\ufffd"
    assert result.stdout_info.bytes == 4


@EVERY_LAYER
def test_s06_a_directory_that_a_command_removed_costs_nothing_but_the_directory(shells: Shells) -> None:
    _, after, later = shells.commands("mkdir $TMPDIR/d; cd $TMPDIR/d; A=1; rmdir $TMPDIR/d", "pwd; echo $A", "pwd")

    assert after.stdout == f"{shells.root}\n1\n"
    assert "is gone; running in the root instead" in after.stderr
    assert (later.stdout, later.stderr) == (f"{shells.root}\n", "")
