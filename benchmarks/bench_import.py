"""Start: the time of a fresh process that imports a library or prints the CLI's help, and its memory."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.bench import Bench, Sample, Target

_MEMORY = """
import os as _os
_kib = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
_os.write(1, ("\\nKIB=" + _kib + "\\n").encode())
"""


async def measure(what: str | list[str], case: str) -> Sample:
    """Best of three fresh processes; a string is code to import, a list a program of this environment."""
    assert case == "process"
    argv = (
        [sys.executable, "-c", what + _MEMORY]
        if isinstance(what, str)
        else [str(Path(sys.executable).parent / what[0]), *what[1:]]
    )
    best, output = float("inf"), b""
    for _ in range(3):
        begin = time.perf_counter()
        output = subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
        best = min(best, time.perf_counter() - begin)
    memory = [line for line in output.split(b"\n") if line.startswith(b"KIB=")]
    assert memory if isinstance(what, str) else b"usage" in output.lower(), output[-300:]
    extra = {"MB": int(memory[-1][4:]) / 1024} if memory else {}
    return Sample(value=best * 1e3, extra=extra)


IMPORT = Bench(
    name="import",
    unit="ms per process",
    cases=["process"],
    floor="pydantic",
    contenders={
        "python": "pass",
        "pydantic": "import asyncio, json; from pydantic import BaseModel\nclass A(BaseModel):\n    a: int\n",
        "toolgate": "import toolgate",
        "toolgate --help": ["toolgate", "--help"],
    },
    measure=measure,
    role="imports",
    rounds=7,
    targets=[
        Target(contender="toolgate", case="process", at_most=1.5),
        Target(contender="toolgate", case="process", at_most=45, extra="MB"),
        Target(contender="toolgate --help", case="process", at_most=2.0),
    ],
)
