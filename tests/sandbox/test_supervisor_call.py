"""The supervisor's command."""

import ast
import json
import marshal
import os
import sys

import pytest

from toolgate.process.start import run_briefly
from toolgate.sandbox import supervisor
from toolgate.sandbox import supervisor_call as module
from toolgate.sandbox.supervisor_call import supervisor_call


def test_the_order_and_the_program_travel_in_descriptors() -> None:
    call = supervisor_call({"mode": "probe"}, 7)
    try:
        script, order = call.fds
        assert call.argv[1:3] == ["-I", "-S"]
        assert call.argv[4:] == [str(script), str(order), "7", str(os.getpid())]
        assert marshal.loads(os.pread(order, 100, 0)) == {"mode": "probe"}
        assert os.pread(script, 1 << 20, 0) == supervisor.compiled()
    finally:
        for fd in call.fds:
            os.close(fd)


def probed(*extra: str) -> tuple[dict[str, int], str]:
    """What the supervisor's probe prints, and its standard error with these options of Python."""
    call = supervisor_call({"mode": "probe"}, 2)
    try:
        done = run_briefly([call.argv[0], *extra, *call.argv[1:]], timeout=30, pass_fds=call.fds)
    finally:
        for fd in call.fds:
            os.close(fd)
    return json.loads(done.stdout), done.stderr.decode()


def test_another_python_gets_the_source_and_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, _ = probed()
    monkeypatch.setattr(sys, "executable", "/another/python")
    monkeypatch.setattr(module, "_interpreter", lambda _user: os.path.realpath("/proc/self/exe"))
    call = supervisor_call({"mode": "probe"}, 7)
    assert os.pread(call.fds[0], 1 << 20, 0) == supervisor.source()
    for fd in call.fds:
        os.close(fd)
    assert probed()[0] == compiled


def test_the_supervisor_imports_little() -> None:
    _, said = probed("-X", "importtime")
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
    assert "ctypes" in imported
    assert imported.isdisjoint({"typing", "json", "re", "enum", "signal", "site"})


def test_the_modules_of_the_supervisor_have_no_name_twice() -> None:
    """They are joined into one script, in which a second function would replace the first."""
    found = [node.name for node in ast.parse(supervisor.source()).body if isinstance(node, ast.FunctionDef)]
    assert len(found) == len(set(found))
