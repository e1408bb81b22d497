"""The examples in docker/ and deploy/: they fit the real schemas, and what they say runs."""

import asyncio
import dataclasses
import functools
import importlib
import json
import re
import shutil
import tomllib
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from compose_spec import PyCompose

from tests.distributed.cluster import until
from tests.distributed.deployment import (
    DEPLOY,
    ROOT,
    Container,
    Host,
    Running,
    compose,
    documents,
    image,
    interpolated,
    kubernetes,
    walk,
)
from tests.distributed.faults import proxied
from tests.distributed.gateways import Client, client
from tests.support.scripted_server import serving
from toolgate.cli import COMMANDS
from toolgate.cli.parser import Parser
from toolgate.settings import variables

pytestmark = [pytest.mark.distributed, pytest.mark.timeout(240)]

FILES = sorted(DEPLOY.rglob("*.yaml"))
GIVEN = {"POSTGRES_PASSWORD": "Secret1", "TOOLGATE_GATEWAY_TOKEN": "a-token-for-the-page"}
SECRET = {"database-url": "postgresql://toolgate:Secret1@postgres/toolgate", "gateway-token": "t0ken", "model-key": "k"}
OTHERS = {"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"}


def _everything() -> list[Container]:
    return [*compose(GIVEN).values(), *kubernetes(SECRET).values()]


def test_there_are_a_compose_file_and_manifests_for_gateway_and_worker() -> None:
    assert [path.name for path in FILES] == ["compose.yaml", "gateway.yaml", "settings.yaml", "worker.yaml"]
    assert sorted(one.words[1] for one in _everything()) == ["serve", "serve", "worker", "worker"]


@pytest.mark.parametrize("version", ["1.30", "1.33", "1.37"])
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "kubernetes"], ids=lambda path: path.name
)
def test_manifests_are_what_kubernetes_understands(path: Path, version: str) -> None:
    for document in documents(path):
        kubernetes_validate.validate(document, version, strict=True)
        changed = {**document, "metadata": {**document["metadata"], "nmae": "x"}}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(changed, version, strict=True)


def test_the_compose_file_is_what_the_specification_says() -> None:
    text = interpolated((DEPLOY / "compose.yaml").read_text(encoding="utf-8"), GIVEN)
    plain = yaml.safe_load(text)  # the specification's parser knows no merge keys
    named = {volume.partition(":")[0] for one in plain["services"].values() for volume in one.get("volumes", [])}

    assert set(PyCompose.from_yaml(yaml.safe_dump(plain)).service_names()) == {"database", "gateway", "worker"}
    assert named == set(plain["volumes"])
    with pytest.raises(ValueError, match="stop_grace"):
        PyCompose.from_yaml(yaml.safe_dump({**plain, "services": {"a": {"image": "a", "stop_grace": "1s"}}}))


def test_the_compose_file_says_what_it_needs() -> None:
    with pytest.raises(KeyError, match="set a password"):
        compose({})
    with pytest.raises(KeyError, match="set a token"):
        compose({"POSTGRES_PASSWORD": "x"})


@pytest.mark.parametrize("one", _everything(), ids=lambda one: one.name)
def test_every_command_is_understood(one: Container) -> None:
    parser = Parser(prog="toolgate")
    importlib.import_module(f"toolgate.cli.{one.words[1]}").configure(parser)
    parser.parse_args(one.words[2:])

    assert one.words[0] == "toolgate"
    assert one.words[1] in COMMANDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_a_setting(path: Path) -> None:
    named: set[str] = set()
    for part in (part for document in documents(path) for part in walk(document)):
        named |= set(part["environment"]) if isinstance(part.get("environment"), dict) else set()
        named |= {entry["name"] for entry in part.get("env", []) if isinstance(entry, dict)}
        named |= set(part["data"]) if part.get("kind") == "ConfigMap" else set()

    assert named - {"<<"} - OTHERS <= variables()


def test_the_comment_makes_the_secret_that_the_manifests_read() -> None:
    text = (DEPLOY / "kubernetes" / "settings.yaml").read_text(encoding="utf-8")

    assert set(re.findall(r"--from-literal=([\w-]+)", text)) == set(SECRET)


def test_the_image_has_what_every_process_imports() -> None:
    made = image()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert {"gateway", "distributed", "openai", "anthropic", "metrics"} <= set(made.extras) <= set(extras)
    assert all((ROOT / name).exists() for name in made.copied)
    assert {f"!{name}" for name in made.copied} <= set(ignored)
    assert made.environment["TOOLGATE_WORKSPACE_ROOT"] == made.directory
    assert made.places == ("/data", "/project")


@pytest.mark.parametrize("one", _everything(), ids=lambda one: one.name)
def test_whoever_ends_has_longer_than_it_needs(one: Container) -> None:
    lease = float(one.environment.get("TOOLGATE_DISTRIBUTED_LEASE_SECONDS", "10"))
    drain = float(one.environment.get("TOOLGATE_DISTRIBUTED_DRAIN_SECONDS", "0"))

    assert one.grace > (drain + 2 * lease if one.words[1] == "worker" else 5)


def test_the_database_of_the_compose_file_has_connections_for_all() -> None:
    database = documents(DEPLOY / "compose.yaml")[0]["services"]["database"]
    [allowed] = [int(word.partition("=")[2]) for word in database["command"] if word.startswith("max_connections=")]

    assert allowed > 34 + 6 * 40


def test_pods_end_after_nobody_is_sent_to_them_and_see_nothing_of_the_cluster() -> None:
    for path in ("gateway.yaml", "worker.yaml"):
        [deployment] = [one for one in documents(DEPLOY / "kubernetes" / path) if one["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        [inside] = pod["containers"]
        assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == image().user
        if "lifecycle" in inside:
            assert shutil.which(inside["lifecycle"]["preStop"]["exec"]["command"][0])


@pytest.fixture
async def host(server_url: str, tmp_path: Path) -> AsyncIterator[tuple[Host, str]]:
    """A host for containers, and what the database's address is there."""
    import asyncpg  # type: ignore[import-untyped]

    name = f"t{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(server_url)
    if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = 'toolgate'"):
        await connection.execute("CREATE ROLE toolgate LOGIN PASSWORD 'Secret1'")
    await connection.execute(f"CREATE DATABASE {name} OWNER toolgate")
    await connection.close()
    async with proxied(server_url) as (proxy, _):
        made = Host(tmp_path)
        try:
            yield made, f"@127.0.0.1:{proxy.port}/{name}"
        finally:
            made.close()


def _placed(one: Container, place: str) -> dict[str, str]:
    """The address of the database, with the host and the name that it has here."""
    return {"TOOLGATE_DATABASE_URL": re.sub(r"@\w+/toolgate$", place, one.environment["TOOLGATE_DATABASE_URL"])}


async def _healthy(host: Host, *containers: Running) -> None:
    for one in containers:
        await until(functools.partial(asyncio.to_thread, one.healthy), what=one.container.name, logs=host.logs)


async def _said(someone: Client, content: str) -> str:
    """What a turn says, once it has ended; every question is answered with yes."""
    before, answered = someone.ends, set()

    async def over() -> bool:
        for frame in someone.frames:
            if frame["type"] == "approval_request" and frame["data"]["id"] not in answered:
                answered.add(frame["data"]["id"])
                await someone.send("approval.respond", id=frame["data"]["id"], allowed=True)
        return someone.ends > before

    created = await someone.answer(await someone.send("session.create", mode="coding"))
    await someone.send("chat.send", session_id=created["data"]["session_id"], content=content)
    await until(over, what=f"the end of {content}", logs=lambda: json.dumps(someone.frames[-5:]))
    return someone.text


async def _end(host: Host) -> None:
    """Everything is told to end, and does so in the time that it has."""
    took = await asyncio.gather(*(asyncio.to_thread(one.end) for one in host.running))
    for one, seconds in zip(host.running, took, strict=True):
        assert one.popen.returncode == 0, one.output
        assert seconds < one.container.grace


async def test_the_compose_file_runs_as_it_says(host: tuple[Host, str]) -> None:
    machine, place = host
    services = compose(GIVEN)
    started = [
        machine.start(service, **_placed(service, place))
        for service in services.values()
        for _ in range(service.replicas)
    ]
    await _healthy(machine, *started)
    [gateway] = [one for one in started if one.container.name == "gateway"]
    async with client(gateway.port, GIVEN["TOOLGATE_GATEWAY_TOKEN"]) as someone:
        said = await _said(someone, "Bash touch made-by-a-command && pwd")
    await _end(machine)

    assert len(started) == 3
    assert "/project" in said
    assert (machine.volume("/project") / "made-by-a-command").exists()


async def test_the_manifests_run_as_they_say(host: tuple[Host, str]) -> None:
    machine, place = host
    write = {"call": "write_file", "arguments": {"path": "made.txt", "content": "by a worker\n"}}
    with serving([[write], ["From a worker."]]) as provider:
        started = [
            machine.start(pod, OPENAI_BASE_URL=provider.url, NO_PROXY="*", **_placed(pod, place))
            for pod in kubernetes(SECRET).values()
            for _ in range(pod.replicas)
        ]
        await _healthy(machine, *started)
        gateways = [one for one in started if one.container.name == "toolgate-gateway"]
        async with client(gateways[1].port, SECRET["gateway-token"]) as someone:
            said = await _said(someone, "Hello")
        page = urllib.request.Request(f"http://127.0.0.1:{gateways[0].port}/", headers={"Host": "toolgate.example.org"})
        answer = await asyncio.to_thread(lambda: urllib.request.urlopen(page, timeout=10).status)
    await _end(machine)

    assert len(started) == 5
    assert "From a worker." in said
    assert (machine.volume("/project") / "made.txt").read_text() == "by a worker\n"
    assert answer == 200


async def test_the_image_alone_is_a_gateway_that_keeps_everything_in_its_volume(host: tuple[Host, str]) -> None:
    machine, _ = host
    made = image()
    alone = Container(
        name="alone",
        words=made.command,
        environment={"TOOLGATE_GATEWAY_TOKEN": "t0ken", "SESSION_CODING_ENABLED": "true"},
        mounts=(*made.places, "/tmp"),
        grace=40.0,
        read_only=True,
        checks=(made.health,),
    )
    started = machine.start(alone)
    await _healthy(machine, started)
    async with client(started.port, "t0ken") as someone:
        said = await _said(someone, "Bash pwd")
    await _end(machine)

    assert "/project" in said
    assert (machine.volume("/data") / "toolgate.db").exists()


async def test_a_project_that_cannot_be_written_to_is_said(host: tuple[Host, str]) -> None:
    machine, place = host
    worker = dataclasses.replace(compose(GIVEN)["worker"], mounts=("/tmp",))
    started = machine.start(worker, **_placed(worker, place))
    await _healthy(machine, started)

    assert "main: /project cannot be written to by user 1000" in started.output
