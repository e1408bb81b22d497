"""What the examples in docker/ and deploy/ say, run as it stands."""

import asyncio
import dataclasses
import functools
import json
import re
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.distributed.cluster import until
from tests.distributed.containers import Host, Running
from tests.distributed.deployment import Container, compose, image, kubernetes
from tests.distributed.faults import proxied
from tests.distributed.gateways import Client, client
from tests.support.scripted_server import serving

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

GIVEN = {"POSTGRES_PASSWORD": "Secret1", "TOOLGATE_GATEWAY_TOKEN": "a-token-for-the-page"}
SECRET = {"database-url": "postgresql://toolgate:Secret1@postgres/toolgate", "gateway-token": "t0ken", "model-key": "k"}


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
        answer = await asyncio.to_thread(lambda: urllib.request.urlopen(page, timeout=60).status)
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

    assert "main: user 1000 cannot write to /project" in started.output
