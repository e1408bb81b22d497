"""Reads the examples in docker/ and deploy/."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a document."""
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from walk(member)
    elif isinstance(value, list):
        for member in value:
            yield from walk(member)


@dataclass(frozen=True, slots=True)
class Image:
    """What docker/Dockerfile makes."""

    environment: dict[str, str]
    directory: str
    user: str
    extras: tuple[str, ...]
    copied: tuple[str, ...]
    command: list[str]
    health: list[str]
    places: tuple[str, ...]
    """Directories of the user's own."""


def image() -> Image:
    text = re.sub(r"\\\n", " ", (ROOT / "docker/Dockerfile").read_text(encoding="utf-8"))
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    said = [(word, rest.strip()) for word, _, rest in lines]
    last = dict(said)
    return Image(
        environment=dict(pair.split("=", 1) for word, rest in said if word == "ENV" for pair in shlex.split(rest)),
        directory=last["WORKDIR"],
        user=last["USER"],
        extras=tuple(re.findall(r'"\.\[([\w,]+)\]"', text)[0].split(",")),
        copied=tuple(name for word, rest in said if word == "COPY" for name in rest.split()[:-1]),
        command=json.loads(last["CMD"]),
        health=json.loads(last["HEALTHCHECK"].partition("CMD ")[2]),
        places=tuple(re.findall(r"/\w+", text.partition("install --directory")[2].partition("\n")[0])[-2:]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One service, or one pod."""

    name: str
    words: list[str]
    environment: dict[str, str]
    mounts: tuple[str, ...]
    grace: float
    replicas: int = 1
    read_only: bool
    checks: tuple[Any, ...]
    """Commands, or requests, that say whether it is healthy; in this order."""


def interpolated(text: str, environ: Mapping[str, str]) -> str:
    """As docker compose does it: `${NAME:-else}`, `${NAME:?message}`."""

    def one(found: re.Match[str]) -> str:
        name, rule, rest = found[1], found[2], found[3]
        if rule == ":?" and not environ.get(name):
            raise KeyError(f"{name}: {rest}")
        return environ.get(name) or (rest if rule == ":-" else "")

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", one, text)


def compose(environ: Mapping[str, str]) -> dict[str, Container]:
    """The services of deploy/compose.yaml that run this program."""
    [document] = yaml.safe_load_all(interpolated((DEPLOY / "compose.yaml").read_text(encoding="utf-8"), environ))
    return {
        name: Container(
            name=name,
            words=[*service["entrypoint"], *service["command"]],
            environment={
                key: str(environ[key] if value is None else value)
                for key, value in service["environment"].items()
                if value is not None or key in environ
            },
            mounts=(*(volume.rpartition(":")[2] for volume in service.get("volumes", [])), *service["tmpfs"]),
            grace=float(service["stop_grace_period"].removesuffix("s")),
            replicas=service.get("deploy", {}).get("replicas", 1),
            read_only=service["read_only"],
            checks=(service["healthcheck"]["test"][1:],),
        )
        for name, service in document["services"].items()
        if "build" in service
    }


def kubernetes(secret: Mapping[str, str]) -> dict[str, Container]:
    """The deployments of deploy/kubernetes."""
    everything = [one for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")) for one in documents(path)]
    maps = {one["metadata"]["name"]: one["data"] for one in everything if one["kind"] == "ConfigMap"}
    return {one["metadata"]["name"]: _pod(one, maps, secret) for one in everything if one["kind"] == "Deployment"}


def _pod(document: Any, maps: Mapping[str, Any], secret: Mapping[str, str]) -> Container:
    pod = document["spec"]["template"]["spec"]
    [inside] = pod["containers"]
    environment: dict[str, str] = {}
    for source in inside["envFrom"]:
        environment |= maps[source["configMapRef"]["name"]]
    for entry in inside["env"]:
        found = entry.get("value")
        environment[entry["name"]] = secret[entry["valueFrom"]["secretKeyRef"]["key"]] if found is None else found
    probes = (inside["startupProbe"], inside["livenessProbe"], inside["readinessProbe"])
    return Container(
        name=document["metadata"]["name"],
        words=[*inside["command"], *inside["args"]],
        environment=environment,
        mounts=tuple(mount["mountPath"] for mount in inside["volumeMounts"]),
        grace=float(pod["terminationGracePeriodSeconds"]),
        replicas=document["spec"]["replicas"],
        read_only=inside["securityContext"]["readOnlyRootFilesystem"],
        checks=tuple(probe["httpGet"] for probe in probes),
    )
