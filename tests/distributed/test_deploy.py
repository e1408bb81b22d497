"""The examples in deploy/ name commands, options, settings and paths that exist."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.distributed.cluster import ROOT
from toolgate.cli import COMMANDS
from toolgate.cli.parser import Parser
from toolgate.distributed.probe import _found
from toolgate.gateway.app import create_app
from toolgate.settings import Settings, variables

DEPLOY = ROOT / "deploy"
FILES = sorted(DEPLOY.rglob("*.yaml"))
OTHERS = {"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"}


def _documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from _walk(member)
    elif isinstance(value, list):
        for member in value:
            yield from _walk(member)


def _commands() -> Iterator[tuple[str, list[str]]]:
    for path in FILES:
        for part in (part for document in _documents(path) for part in _walk(document)):
            if part.get("entrypoint") == ["toolgate"] and "command" in part:
                yield path.name, part["command"]
            elif part.get("command") == ["toolgate"]:
                yield path.name, part["args"]


def test_there_are_a_compose_file_and_manifests_for_gateway_and_worker() -> None:
    assert [path.name for path in FILES] == ["compose.yaml", "gateway.yaml", "settings.yaml", "worker.yaml"]
    assert sorted(command[0] for _, command in _commands()) == ["serve", "serve", "worker", "worker"]


@pytest.mark.parametrize(("name", "command"), list(_commands()))
def test_every_command_is_understood(name: str, command: list[str]) -> None:
    parser = Parser(prog="toolgate")
    importlib.import_module(f"toolgate.cli.{command[0]}").configure(parser)
    parser.parse_args(command[1:])

    assert command[0] in COMMANDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_a_setting(path: Path) -> None:
    named: set[str] = set()
    for part in (part for document in _documents(path) for part in _walk(document)):
        named |= set(part["environment"]) if isinstance(part.get("environment"), dict) else set()
        named |= {entry["name"] for entry in part.get("env", []) if isinstance(entry, dict)}
        named |= set(part["data"]) if part.get("kind") == "ConfigMap" else set()

    assert named - {"<<"} - OTHERS <= variables()


async def test_every_probe_asks_for_a_path_that_is_served() -> None:
    gateway = {route.path for route in create_app(Settings.defaults()).routes}  # type: ignore[attr-defined]
    for name, served in (("gateway.yaml", gateway), ("worker.yaml", {"/health/live", "/health/ready"})):
        probes = [
            part["httpGet"]
            for document in _documents(DEPLOY / "kubernetes" / name)
            for part in _walk(document)
            if "httpGet" in part
        ]

        assert {probe["path"] for probe in probes} == {"/health/live", "/health/ready"}
        assert {probe["path"] for probe in probes} <= served

    class Ready:
        is_ready = True

    assert [(await _found(Ready(), path))[0] for path in ("/health/live", "/health/ready")] == [200, 200]  # type: ignore[arg-type]


def test_a_worker_has_longer_to_end_than_it_drains() -> None:
    [worker] = [doc for doc in _documents(DEPLOY / "kubernetes" / "worker.yaml") if doc["kind"] == "Deployment"]
    [shared] = [doc for doc in _documents(DEPLOY / "kubernetes" / "settings.yaml") if doc["kind"] == "ConfigMap"]
    compose = _documents(DEPLOY / "compose.yaml")[0]["services"]["worker"]

    assert worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > float(
        shared["data"]["TOOLGATE_DISTRIBUTED_DRAIN_SECONDS"]
    )
    assert int(compose["stop_grace_period"].removesuffix("s")) > float(
        compose["environment"]["TOOLGATE_DISTRIBUTED_DRAIN_SECONDS"]
    )
