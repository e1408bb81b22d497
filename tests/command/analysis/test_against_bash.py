"""The analysis against bash itself: whatever bash runs was found, or is asked about.

Random pieces of syntax are put together around a function that leaves a mark. Where bash leaves the mark, the analysis
must have found the call or must ask.
"""

import os
import random
import subprocess
from pathlib import Path

import pytest

from toolgate.command.analysis import analyse

PIECES = [
    "MARK", "MARK x", "M", "ARK", "MA", "RK", "echo", "echo a", ": ", "'", '"', "$(", ")", "`", ";", "|", "&",
    "&&", "||", "\n", "\\", "#", " # ", "<<E", "<<'E'", "<<-E", "\nE\n", "\n\tE\n", "E", "${x:-", "${x/", "}",
    "{ ", "{", " }", "(", "$'", "\\'", "<(", ">(", "[[ ", " ]]", "((", "))", "if ", "; then ", "; fi",
    "case a in ", " a) ", " ;; ", "esac", "$x", "=", "x=", "a", " ", " ", "  ", "eval ", "-", "! ", "time ", "\t",
    "$((", "<<<", " <<<", "!", "*", "~", ",", "f() ", "function f ", "do ", "for i in a; ", "; done", "while ",
    "[ ", " ]", "let ", "a[", "]", "$", "\\\n", "'E'", '"E"', "cat ", "2>&1", ">null", '$"', "coproc ",
    "until ", "command ", "builtin ", "exec ", "trap ", "EXIT", "declare ", "export ", "@(", "?(", "|&", ";;&",
    "&>", "x+=", "local ", "\r", "\x0b", "\u00a0", "'a[$(MARK)]'", "x='a[$(MARK)]';", "((x))", "$((x))", "test -v ",
    "[[ x -eq 1 ]]", "${!x}", "declare -i ", "declare -n ", "a[x]", "${a[x]}", "${x:", "unset ", "read ", "printf -v ",
    "\\`", "\\$", "\\\\", '\\"', "$[", "`", "`",
]  # fmt: skip
KNOWN = [
    "a <<<$\nMARK",
    "x+=(a)E MARK",
    ": >&x'$(MARK)'",
    ": >&'`MARK`'",
    ": <&'$(MARK)'",
    ": &>x'$(MARK)'",
    "EXIT2>&1a['a[$(MARK)]'local ",
    "x=()'' MARK",
    "time X=1 MARK",
    "r\\\nm x; MARK",
    "cat <<E\n`MARK`\nE\n",
    "cat <<'E' ; MARK\nE\n",
    "x=1 <<<$ MARK",
    "echo ''#;MARK",
    "echo \\\n#\nMARK",
    "coproc X=1 MARK",
    "MA\\\n= MARK",
    'echo "$\\\n(MARK)"',
    "echo $\\\n(MARK)",
    "echo <\\\n(MARK)",
    "i\\\nf MARK; then :; fi",
    "cat <\\\n<E\nE\nMARK",
    "echo $((1+`MARK`))",
    "echo ${x:-`MARK`}",
    'echo "${x:-"$(MARK)"}"',
    "case $(MARK) in a) ;; esac",
    "case a in $(MARK)) ;; esac",
    "for i in $(MARK); do :; done",
    "for ((i=$(MARK);i<0;)); do :; done",
    "[[ a == $(MARK) ]]",
    "a[$(MARK)]=1",
    "a=(1 $(MARK))",
    "declare -a a=($(MARK))",
    "f() { MARK; }; f",
    "function f { MARK; }; f",
    "f() ( MARK ); f",
    "select i in a; do MARK; done <<< 1",
    "until MARK; do :; done",
    "! MARK",
    "! ! MARK",
    "time -p MARK",
    "{ MARK; } 2>&1",
    "(MARK)",
    "((1)) && MARK",
    "[[ 1 ]] && MARK",
    ": & MARK",
    ": |& MARK",
    "cat <<E | MARK\nE",
    "cat <<A <<B\nA\nB\nMARK",
    "if :; then :; elif MARK; then :; fi",
    "coproc MARK",
    "coproc { MARK; }",
    "coproc N { MARK; }",
    "exec 3< <(MARK)",
    "echo a{b,$(MARK)}",
    "eval 'M''ARK'",
    "MARK() { :; }; unset -f MARK",
    "x=\\\n\tMARK",
    "x= MARK",
    "MA\\\n#} ;MARK",
    "coproc x+= MARK",
    'M$"ARK"',
    "echo é\u00a0; MARK",
    "time ! MARK",
    "! time -p MARK",
    "echo $(( `MARK` ))",
    "[[ -v 'a[$(MARK)]' ]]",
    "let 'a[$(MARK)]=1'",
    "declare 'a[$(MARK)]=1'",
    "unset 'a[$(MARK)]'",
    "printf -v 'a[$(MARK)]' x",
    "read 'a[$(MARK)]' <<< x",
    "trap MARK EXIT",
    "x='$(MARK)'; echo ${x@P}",
    "PS4='$(MARK)'; set -x; :",
    r"echo `echo \`MARK\``",
    r"echo `echo \$(MARK)`",
    r"echo `echo \\\$(MARK)`",
    r'echo "`echo \"$(MARK)\"`"',
    r'echo "`echo \`MARK\``"',
    r"""echo `eval "M\\ARK"`""",
    r"echo `echo \\\`MARK\\\``",
    'echo "${x:-`echo \\`MARK\\``}"',
    "cat <<E\n`echo \\`MARK\\``\nE\n",
    'cat <<E\n`echo \\"\\`MARK\\`\\"`\nE\n',
    "echo $[1+$(MARK)]",
    "echo $[a[$(MARK)]]",
    "x='a[$(MARK)]'; echo $[x]",
    'echo "$[`MARK`]"',
]


KNOWN += [
    line.replace("⏎", "\n")
    for line in (Path(__file__).parents[2] / "data" / "evaluations.txt").read_text("utf-8").splitlines()
]


def leaves_a_mark(command: str, directory: Path) -> bool:
    """Whether bash, with nothing but its builtins, calls MARK."""
    mark = directory / "mark"
    mark.write_bytes(b"")
    script = f"exec 9>>{mark}\nMARK() {{ builtin printf M >&9; }}\ncat() {{ :; }}\n{command}"
    environment = {"PATH": "/nonexistent"}
    with subprocess.Popen(
        ["/bin/bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=directory,
    ) as process:
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
    return mark.read_bytes() != b""


def is_found(command: str) -> bool:
    plan = analyse(command)
    return plan.asks or any(words[0] == "MARK" for words in plan.commands)


@pytest.mark.parametrize("command", KNOWN)
def test_known_tricks_are_found(command: str, tmp_path: Path) -> None:
    assert is_found(command) or not leaves_a_mark(command, tmp_path)


@pytest.mark.torture
def test_whatever_bash_runs_is_found_or_asked_about(tmp_path: Path) -> None:
    generator = random.Random()
    seed = generator.randrange(1 << 32)
    generator.seed(seed)
    missed = []
    for _ in range(1500 * int(os.environ.get("TOOLGATE_TORTURE", "1"))):
        command = "".join(generator.choices(PIECES, k=generator.randint(2, 14)))
        if "MARK" not in command:
            command += generator.choice(["MARK", ";MARK", "\nMARK", " MARK"])
        if not is_found(command) and leaves_a_mark(command, tmp_path):
            missed.append(command)
    assert missed == [], f"seed {seed}"
