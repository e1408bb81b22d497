"""Analysing a command line: from its text to the plan of everything that it may run."""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench, Sample, Target

COMMANDS = {
    "short": "ls -la src",
    "pipe": "git log --oneline -5 | head -3",
    "typical": "cd src && FOO=1 pytest -q tests/test_a.py 2>&1 | tail -20",
    "find": "find . -name '*.py' -exec grep -n \"TODO\" {} +",
    "heredoc": "python3 - <<'EOF'\nimport os\nprint(os.getcwd())\nEOF",
    "nested": "timeout 60 bash -lc 'make -j4 && for f in build/*.o; do nm \"$f\"; done'",
    "20 kB": "true && " * 2400 + "echo done",
}
LOOPS = {"20 kB": 5}


def floor() -> Callable[[str], Any]:
    """The standard library's split into tokens, which knows neither expansions nor statements."""
    import shlex

    def tokens(command: str) -> bool:
        return list(shlex.shlex(command, posix=True, punctuation_chars=True)) == []

    return tokens


def ours() -> Callable[[str], Any]:
    """The whole analysis."""
    from toolgate.command.analysis import Surroundings, analyse

    around = Surroundings(root="/project", home="/home/user")
    return lambda command: analyse(command, around).commands == ()


async def measure(run: Callable[[str], Any], case: str) -> Sample:
    """Microseconds a command; best of five loops, because the machine has other things to do."""
    command, loops = COMMANDS[case], LOOPS.get(case, 500)
    assert run(command) is False
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(loops):
            run(command)
        best = min(best, (time.perf_counter() - begin) / loops)
    return Sample(value=best * 1e6, extra={"µs": best * 1e6})


async def setup(make: Callable[[], Callable[[str], Any]]) -> Callable[[str], Any]:
    """Load and warm up."""
    run = make()
    run("ls")
    return run


ANALYSIS = Bench(
    name="analysis",
    unit="µs per command",
    cases=list(COMMANDS),
    floor="shlex",
    contenders={"shlex": floor, "toolgate": ours},
    setup=setup,
    measure=measure,
    targets=[Target(contender="toolgate", case="typical", at_most=100, extra="µs")],
    note="The floor only splits into tokens; the target is 100 µs for a typical command.",
)
