"""Benchmarks that other projects take part in run in the environments of those projects, where there is no Toolgate."""

import subprocess
import sys

from benchmarks.__main__ import discover

_WITHOUT_TOOLGATE = "import sys; sys.modules['toolgate'] = None; import importlib; importlib.import_module(sys.argv[1])"


def test_a_benchmark_with_other_projects_is_imported_without_toolgate() -> None:
    modules = sorted({module for module, bench in discover() if bench.role is not None})
    assert "benchmarks.bench_handle" in modules
    failed = {module: done.stderr for module in modules if (done := _imported(module)).returncode != 0}
    assert failed == {}


def _imported(module: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _WITHOUT_TOOLGATE, module]
    return subprocess.run(command, capture_output=True, text=True, check=False)
