"""`toolgate doctor`: finds what is there, says what to do about what is not, and fails only for what is essential."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Toolgate
from tests.support.databases import damage_log, killed_writer


def _checks(out: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(out)}


def test_it_looks_at_everything(toolgate: Toolgate) -> None:
    code, out, err = toolgate("doctor", "--json")

    names = {name for name in _checks(out) if not name.startswith("extra")}
    assert (code, err) == (0, "")
    assert names >= {
        "python",
        "system",
        "settings",
        "root",
        "openat2",
        "policy",
        "database",
        "ripgrep",
        "bubblewrap",
        "user namespaces",
        "landlock",
    }


def test_it_reads_well(toolgate: Toolgate) -> None:
    code, out, _ = toolgate("doctor")

    assert code == 0
    assert out.startswith("ok  python ")
    assert out.splitlines()[-1].startswith("Everything")


def test_what_is_missing_comes_with_what_to_do(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_SHELL_RIPGREP", "/no/such/rg")

    code, out, _ = toolgate("doctor", "--json")

    check = _checks(out)["ripgrep"]
    assert (code, check["state"], check["finding"]) == (0, "missing", "/no/such/rg cannot be run")
    assert "TOOLGATE_SHELL_RIPGREP=" in check["advice"]


def test_every_extra_that_is_missing_says_what_it_is_for(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.cli.checks._installed", lambda _: False)

    _, out, _ = toolgate("doctor", "--json")

    extras = {name: check["advice"] for name, check in _checks(out).items() if name.startswith("extra")}
    assert len(extras) > 10
    for name, advice in extras.items():
        extra = name.removeprefix("extra [").rstrip("]")
        purpose, _, install = advice.removeprefix("For ").partition(": ")
        assert install == f"pip install 'toolgate[{extra}]'"
        assert purpose != extra, f"{name} has no purpose"


def test_without_bubblewrap_it_says_how_to_get_it(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.sandbox.probe.bubblewrap_candidates", lambda *_: ())

    code, out, _ = toolgate("doctor", "--json")

    check = _checks(out)["bubblewrap"]
    assert (code, check["state"], check["finding"]) == (0, "missing", "not installed")
    assert "apt-get install bubblewrap" in check["advice"]


def test_a_bubblewrap_that_does_not_work_is_not_called_working(
    toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: no permissions' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("TOOLGATE_SHELL_BWRAP", str(fake))

    check = _checks(toolgate("doctor", "--json").out)["bubblewrap"]

    assert (check["state"], "no permissions" in check["finding"]) == ("missing", True)


def test_it_says_where_each_program_comes_from(toolgate: Toolgate) -> None:
    checks = _checks(toolgate("doctor", "--json").out)

    assert "(/" in checks["bubblewrap"]["finding"]
    assert "(/" in checks["ripgrep"]["finding"]
    assert "(/" in checks["bash"]["finding"]
    assert "sandbox supervisor: /" in checks["python"]["finding"]


@pytest.mark.parametrize("name", ["SESSION_DEFAULT_MODE", "TOOL_OUTPUT_MAX_LINES"])
def test_an_invalid_setting_is_broken(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "0")

    code, out, _ = toolgate("doctor", "--json")

    check = _checks(out)["settings"]
    assert (code, check["state"], check["finding"].split(":")[0]) == (1, "broken", name)


def test_a_misspelt_setting_is_noticed_once(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_SHEL_SANDBOX", "off")

    code, out, _ = toolgate("doctor", "--json")

    assert (code, out.count("TOOLGATE_SHEL_SANDBOX")) == (1, 1)
    assert _checks(out)["settings"]["finding"].endswith("Did you mean TOOLGATE_SHELL_SANDBOX?")


def test_a_variable_that_only_looks_like_a_setting_is_named(
    toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLGATE_SERVICE_HOST", "10.0.0.1")

    code, out, _ = toolgate("doctor", "--json")

    assert (code, _checks(out)["settings"]["finding"]) == (0, "TOOLGATE_SERVICE_HOST is not a setting")


def test_an_invalid_policy_is_broken(toolgate: Toolgate, project: Path) -> None:
    (project / ".toolgate").mkdir()
    (project / ".toolgate" / "policy.toml").write_text("no toml")

    code, out, _ = toolgate("doctor", "--json")

    assert (code, _checks(out)["policy"]["state"]) == (1, "broken")


def test_rules_that_name_no_tool_or_argument_are_told(toolgate: Toolgate, project: Path) -> None:
    (project / ".toolgate").mkdir()
    rule = '[[rule]]\ndecision = "deny"\ntool = "{}"\nargs = {{ {} = "x" }}\n'
    named = (("read_fil", "path"), ("read_file", "pth"), ("other_tool", "x"), ("apply_patch", "path"))
    (project / ".toolgate" / "policy.toml").write_text("".join(rule.format(*names) for names in named))

    code, out, _ = toolgate("doctor", "--json")

    check = _checks(out)["policy"]
    assert (code, check["state"]) == (0, "missing")
    assert check["finding"] == (
        "project rule 1: no tool read_fil (did you mean read_file?); project rule 2: read_file has no argument pth"
    )


def test_a_root_that_is_not_there_is_broken(toolgate: Toolgate) -> None:
    code, out, _ = toolgate("doctor", "--json", "--root", "/no/such/directory")

    assert (code, _checks(out)["root"]["state"]) == (1, "broken")


def test_a_sandbox_that_is_switched_off_is_said(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_SHELL_SANDBOX", "off")

    assert _checks(toolgate("doctor", "--json").out)["sandbox"]["finding"] == "switched off"


def test_a_broken_machine_is_said_in_the_last_line(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_DEFAULT_MODE", "coding")

    code, out, _ = toolgate("doctor")

    assert (code, out.splitlines()[-1]) == (1, "1 broken: Toolgate cannot work properly here until that is repaired.")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database whose writer was killed."""
    path = tmp_path / "a.db"
    killed_writer(path)
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", f"sqlite:///{path}")
    return path


def test_what_a_killed_writer_leaves_is_no_damage(toolgate: Toolgate, database: Path) -> None:
    check = _checks(toolgate("doctor", "--json").out)["database"]

    assert (check["state"], check["finding"]) == ("ok", str(database))


@pytest.mark.parametrize("first", ["doctor", "sessions"])
def test_a_damaged_log_of_the_database_is_said_until_its_copy_is_removed(
    toolgate: Toolgate, database: Path, first: str
) -> None:
    damage_log(database)
    if first == "sessions":
        assert "something may be missing" in toolgate("sessions", "list").err

    for _ in range(2):
        code, out, _ = toolgate("doctor", "--json")
        check = _checks(out)["database"]
        [copy] = database.parent.glob("*.damaged")
        assert (code, check["state"]) == (0, "damaged")
        assert str(copy) in check["finding"]
    code, out, err = toolgate("sessions", "list", "--json")
    assert (code, len(json.loads(out)), err.count("\n")) == (0, 1, 1)
    assert str(copy) in err
    assert "data was lost" in toolgate("doctor").out.splitlines()[-1]
    copy.unlink()
    assert _checks(toolgate("doctor", "--json").out)["database"]["state"] == "ok"
    assert toolgate("sessions", "list").err == ""


def test_a_database_of_another_program_is_broken(
    toolgate: Toolgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", f"sqlite:///{path}")

    code, out, _ = toolgate("doctor", "--json")

    assert (code, _checks(out)["database"]["state"], path.read_bytes()) == (1, "broken", before)
