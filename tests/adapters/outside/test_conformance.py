"""The official conformance suite of MCP: what applies to a server of tools passes, and what does not is named here.

A scenario that begins to pass or to fail is noticed: both lists must be exact.
"""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from tests.adapters.outside.conftest import Program, npm_environment

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

NOT_OURS: dict[str, set[str]] = {
    "Toolgate serves tools, and neither prompts nor resources nor completions": {
        "completion-complete",
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "resources-subscribe",
        "resources-unsubscribe",
        "prompts-list",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
        "input-required-result-non-tool-request",
    },
    "its tools answer in text and an envelope; none of them has a picture, a sound or a resource to show": {
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
    },
    "it has the client ask a person for permission, and for nothing else: no form with fields, no model, no round": {
        "tools-call-sampling",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-capability-check",
    },
    "a call ends with the connection that waits for it, so there is nothing to poll for or to resume": {
        "server-sse-polling",
    },
}
"""Why not → scenarios."""

PARTS_NOT_OURS: dict[str, set[str]] = {
    # no tool of ours wants the client's model
    "server-stateless": {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"},
    # the hints of tools/list are checked; the other lists do not exist
    "caching": {
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    },
}
"""Scenario → the only checks of it that may fail."""

APPLIES: dict[str, set[str]] = {
    "2025-11-25": {
        "server-initialize",
        "logging-set-level",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-with-logging",
        "tools-call-error",
        "tools-call-with-progress",
        "tools-call-elicitation",
        "json-schema-2020-12",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "json-schema-2020-12",
        "server-sse-multiple-streams",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "http-header-validation",
        "http-custom-header-server-validation",
        "input-required-result-request-state",
        "input-required-result-missing-input-response",
        "input-required-result-result-type",
        "input-required-result-unsupported-methods",
        "input-required-result-tampered-state",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
    },
}
"""Version of the protocol → scenarios of which every check passes."""


async def _checks(program: Path, version: str, out: Path) -> dict[str, set[str]]:
    """Scenario → its checks that failed."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.adapters.outside.everything", str(out.parent)), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        url = (await asyncio.wait_for(server.stdout.readline(), 60)).decode().strip()
        suite = await asyncio.create_subprocess_exec(
            *(str(program), "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", str(out)),
            env=npm_environment(),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await asyncio.wait_for(suite.wait(), 240)
    finally:
        server.terminate()
        await asyncio.wait_for(server.wait(), 30)
    found = {}
    for place in out.iterdir():
        name = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$", r"\1", place.name)
        checks = json.loads((place / "checks.json").read_text())
        found[name] = {check["id"] for check in checks if check["status"] == "FAILURE"}
    return found


@pytest.mark.parametrize(("suite", "version"), [("conformance", "2025-11-25"), ("conformance of 2026", "2026-07-28")])
async def test_every_scenario_for_a_server_of_tools_passes(
    program: Program, tmp_path: Path, suite: str, version: str
) -> None:
    failed = await _checks(await asyncio.to_thread(program, suite), version, tmp_path / "out")
    ours = {name: checks for name, checks in failed.items() if not any(name in group for group in NOT_OURS.values())}
    assert {name: checks for name, checks in ours.items() if checks} == {
        name: checks for name, checks in PARTS_NOT_OURS.items() if name in failed
    }
    assert {name for name, checks in ours.items() if not checks} == APPLIES[version]
    assert {name for name, checks in failed.items() if name not in ours and not checks} == set(), "it passes now"
