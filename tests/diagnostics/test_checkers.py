"""Which commands check a file."""

from pathlib import Path

import pytest

from toolgate.diagnostics.checkers import checks_for


def names(path: str, *chosen: str, own: str | None = None) -> list[str]:
    found = checks_for(path, chosen=chosen, own=own, writable=(), find=lambda name, _: f"/opt/{name}")
    return [check.checker for check in found]


def test_a_file_is_checked_by_the_checkers_of_its_language() -> None:
    assert names("a.py", "auto") == ["ruff", "pyright"]
    assert names("a.py", "ruff") == ["ruff"]
    assert names("src/a.tsx", "auto") == ["tsc"]
    assert names("a.go", "auto", own="lint {file}") == ["command", "gopls"]
    assert names("a.rs", "rust-analyzer") == ["rust-analyzer"]
    assert names("a.txt", "auto") == []


def test_file_names_are_quoted() -> None:
    (check,) = checks_for("a b/$(x);.py", chosen=(), own="lint {file}", writable=())
    assert check.command == "lint './a b/$(x);.py'"


@pytest.mark.parametrize("inside", [True, False])
def test_d01_programs_are_never_looked_up_inside_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    root, outside = tmp_path / "root", tmp_path / "bin"
    for folder in (root / "bin", outside):
        folder.mkdir(parents=True)
    program = (root / "bin" if inside else outside) / "ruff"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{outside}")
    found = list(checks_for("a.py", chosen=("ruff",), own=None, writable=(str(root),)))
    assert [check.command.split()[0] for check in found] == ([] if inside else [str(program)])
