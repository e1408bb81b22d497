"""The scripts that a fresh bash reads: its prelude, the state that it loads, and the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolgate.sandbox.orphans import DONE
from toolgate.sandbox.supervisor.supervise import FAILED
from toolgate.shell import state_dump
from toolgate.shell.quoting import quote
from toolgate.shell.state import ShellState, Variable

_SKIPPED_OPTIONS = frozenset({b"noexec", b"onecmd", b"privileged", b"restricted", b"history", b"posix"})
_LATE = {b"xtrace": b"x", b"verbose": b"v"}
"""Options that would show how the command is loaded. They are set together with the command."""
_BY_POSIX = frozenset({b"expand_aliases", b"inherit_errexit", b"shift_verbose", b"sourcepath"})
"""What POSIX mode sets and leaving it does not reset."""
_NEEDED = "builtin enable exit set trap printf pwd dirs umask declare alias shopt jobs"
_RESTORE = rf"\unset -f builtin enable; \builtin enable {_NEEDED} || \enable {_NEEDED}"
"""Passes on the exit status even if a command has disabled builtins."""
_FIXED_SHOPTS = frozenset({b"login_shell", b"restricted_shell", b"extdebug"})
"""Options that are not restored."""
_TERM = "xterm-256color"


def prelude(
    *,
    groups: Iterable[int],
    up_fd: int,
    state_fd: int,
    command_fd: int,
    state_pipe: str,
    limits: Mapping[str, int],
) -> str:
    """Return the text for `bash -c`. It waits for the command on `command_fd` and leaves only its EXIT trap behind.

    The shell joins its control groups itself, by a `0` on the descriptor of each: no program has to do it before.

    The shell closes `up_fd` as soon as it runs, and gets no command before that. Only then does its supervisor end with
    the host. A shell whose host has died meanwhile gets no command.

    A command's own EXIT trap replaces this one. Then the dump is written before that trap runs, or not at all if the
    command also calls `exit`.

    Assigning `POSIXLY_CORRECT` needs no command. It gives the special builtins (`exit`, `set`, `eval`, `.`) precedence
    over functions of the same name, so that a function cannot replace them. The same assignment saves the exit status.

    Everything is on one line, because bash parses a line before it runs any of it. So neither aliases nor a command's
    unbalanced quotes affect the rest.
    """
    target = quote(state_pipe.encode()).decode()
    keep = "POSIXLY_CORRECT=$?:$SHELLOPTS:$BASHOPTS"
    write = f"{{ {state_dump.CODE}; }} >| {target}"
    trap = quote(f'[[ "${{2-}}" == {DONE} ]] || {{ {keep}; {_RESTORE}; {write}; }} 2>/dev/null'.encode()).decode()
    return (
        f"{_join(groups)}exec {up_fd}>&-; {_limits(limits)}trap -- {trap} EXIT; "
        f". /dev/fd/{state_fd}; . /dev/fd/{command_fd}; "
        'eval "\\set $2 --; $1"; '
        f'{{ {keep}; {_RESTORE}; set -- "${{POSIXLY_CORRECT%%:*}}" {DONE}; {write}; set +xv; }} 2>/dev/null; exit "$1"'
    )


def _join(groups: Iterable[int]) -> str:
    return "".join(f"echo 0 >&{fd} || exit {FAILED}; exec {fd}>&-; " for fd in groups)


def _limits(limits: Mapping[str, int]) -> str:
    return "".join(f"ulimit -{letter} {value} 2>/dev/null; " for letter, value in limits.items())


def load(state: ShellState, base: Iterable[bytes]) -> bytes:
    """Return the script that restores a state. `base` names the variables that the process was started with.

    Functions named like the builtins that the scripts need are not restored, because they would run instead.
    """
    gone = [b"BASH_EXECUTION_STRING", *(name for name in base if name not in state.variables)]
    lines = [b"{", b"unset -v " + b" ".join(gone)]
    lines += _shopts(state.shopts)
    lines += [_declaration(name, variable) for name, variable in state.variables.items()]
    lines.append(b"umask " + state.umask)
    lines.append(b"} 2>/dev/null")
    if state.functions:
        lines.append(state.functions)
    lines.append(b"POSIXLY_CORRECT=1")
    lines.append(b"\\unset -f . builtin eval exec exit set trap unset 2>/dev/null")
    lines += [b"\\builtin export -f " + name + b" 2>/dev/null" for name in state.exported_functions]
    lines += [b"\\builtin alias -- " + name + b"=" + value for name, value in state.aliases.items()]
    lines += [b"\\builtin pushd -n -- " + quote(entry) + b" >/dev/null 2>&1" for entry in reversed(state.stack)]
    lines.append(_enter(state.directory))
    if state.previous:
        lines.append(b"OLDPWD=" + quote(state.previous))
    return b"\n".join(lines) + b"\n"


def command(text: bytes, state: ShellState, close: Iterable[int], *, terminal: bool = False) -> bytes:
    """Return the script that passes on the command. It closes the descriptors that the command arrived on.

    With a terminal, `TERM` names one that `Screen` understands.
    """
    on = [name for name, value in state.options.items() if value and name not in _SKIPPED_OPTIONS]
    off = [name for name, value in state.options.items() if not value and name not in _SKIPPED_OPTIONS]
    late = b"".join(_LATE[name] for name in on if name in _LATE)
    lines = [b"\\exec " + b" ".join(b"%d<&-" % fd for fd in close)]
    lines.append(b"\\set -- " + quote(text) + b" " + quote(b"-" + late if late else b""))
    if off:
        lines.append(b"\\set " + b" ".join(b"+o " + name for name in off))
    early = [name for name in on if name not in _LATE]
    if early:
        lines.append(b"\\set " + b" ".join(b"-o " + name for name in early))
    if terminal:
        lines.append(b"\\builtin export TERM=" + _TERM.encode())
    if not state.options.get(b"posix"):
        lines.append(b"\\unset POSIXLY_CORRECT")
    touched = {name: value for name, value in state.shopts.items() if name in _BY_POSIX}
    lines += [b"\\builtin " + line for line in _shopts(touched)]
    return b"\n".join(lines) + b"\n"


def _shopts(shopts: Mapping[bytes, bool]) -> list[bytes]:
    lines = []
    for letter, wanted in ((b"s", True), (b"u", False)):
        names = [name for name, value in shopts.items() if value is wanted and name not in _FIXED_SHOPTS]
        if names:
            lines.append(b"shopt -" + letter + b" " + b" ".join(names))
    return lines


def _declaration(name: bytes, variable: Variable) -> bytes:
    flags = variable.flags.replace("-", "").encode()
    start = b"declare -" + flags + b" " if flags else b"declare -- "
    return start + name + (b"" if variable.literal is None else b"=" + variable.literal)


def _enter(directory: bytes) -> bytes:
    place = quote(directory)
    return (
        b"\\builtin cd -- " + place + b" 2>/dev/null || "
        b"\\builtin printf 'toolgate: the directory %s is gone; running in the root instead\\n' " + place + b" >&2"
    )
