"""Reads the examples in docker/ and deploy/, and runs what they say: as processes, each in a root of its own.

There is no container engine here. bubblewrap gives every process what the image and the files promise: the user, the
working directory, the variables, the volumes at their paths, a root that cannot be written to. Replaced are only the
host of the database and the ports, for all of them share one network.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/sys")


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@dataclass
class Running:
    """A container that was started."""

    container: Container
    popen: subprocess.Popen[bytes]
    log: Path
    port: int
    pid: int
    ported: Callable[[str], str]
    status: IO[str]
    """What bubblewrap says; it dies if nobody would read it."""

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def healthy(self) -> bool:
        """Whether every check passes now."""
        assert self.popen.poll() is None, self.output
        return all(self._passes(check) for check in self.container.checks)

    def _passes(self, check: Any) -> bool:
        if isinstance(check, list):
            words = [self.ported(word) for word in check]
            environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
            return subprocess.run(words, env=environ, capture_output=True, timeout=30, check=False).returncode == 0
        headers = {pair["name"]: self.ported(pair["value"]) for pair in check.get("httpHeaders", [])}
        place = self.ported(f"http://127.0.0.1:{check['port']}{check['path']}")
        try:
            with urllib.request.urlopen(urllib.request.Request(place, headers=headers), timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def end(self) -> float:
        """Tell it to end, and wait as long as whoever runs it would; how long it took."""
        begun = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        self.popen.wait(self.container.grace)
        return time.monotonic() - begun


@dataclass
class Host:
    """Runs containers."""

    base: Path
    running: list[Running] = field(default_factory=list)

    def volume(self, place: str) -> Path:
        """What is mounted at a path, for every container that mounts it."""
        path = self.base / f"volume{place.replace('/', '-')}"
        path.mkdir(exist_ok=True)
        return path

    def start(self, container: Container, **more: str) -> Running:
        """One replica of it."""
        made, port = image(), free_port()
        own = next(word for word in (*container.words, *made.environment.values()) if word in ("8765", "8766"))

        def ported(text: str) -> str:
            return re.sub(rf"\b{own}\b", str(port), text)

        environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **made.environment, **container.environment}
        log = self.base / f"{container.name}-{len(self.running)}.log"
        reading, writing = os.pipe()
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [
                    *("bwrap", "--json-status-fd", str(writing), *self._root(container, made), "--clearenv"),
                    *(
                        word
                        for name, value in {**environ, **more}.items()
                        for word in ("--setenv", name, ported(value))
                    ),
                    *(ported(word) for word in container.words),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
            )
        os.close(writing)
        status = os.fdopen(reading)
        line = status.readline()
        assert line, log.read_text()
        started = Running(container, popen, log, port, json.loads(line)["child-pid"], ported, status)
        self.running.append(started)
        return started

    def _root(self, container: Container, made: Image) -> Iterator[str]:
        """A root as the image has it: the system, this checkout in the place of what pip installs, and the volumes."""
        user, _, group = made.user.partition(":")
        yield from (
            "--unshare-user",
            "--unshare-ipc",
            "--unshare-uts",
            "--uid",
            user,
            "--gid",
            group,
            "--cap-drop",
            "ALL",
        )
        for place in SYSTEM:
            if os.path.islink(place):
                yield from ("--symlink", os.readlink(place), place)
            elif os.path.exists(place):
                yield from ("--ro-bind", place, place)
        for place in dict.fromkeys((str(ROOT), sys.prefix, sys.base_prefix)):
            yield from ("--ro-bind", place, place)
        yield from ("--bind", "/proc", "/proc", "--dev", "/dev")
        yield from ("--tmpfs", "/tmp") if "/tmp" in container.mounts else ("--dir", "/tmp")
        yield from ("--dir", made.environment["HOME"])
        for place in made.places:
            yield from ("--bind", str(self.volume(place)), place) if place in container.mounts else ("--dir", place)
        yield from ("--remount-ro", "/") if container.read_only else ()
        yield from ("--chdir", made.directory)

    def logs(self) -> str:
        return "\n".join(f"--- {one.log.name}\n{one.output[-3000:]}" for one in self.running)

    def close(self) -> None:
        for one in self.running:
            if one.popen.poll() is None:
                os.kill(one.pid, signal.SIGKILL)
            one.popen.wait(10)
            one.status.close()
