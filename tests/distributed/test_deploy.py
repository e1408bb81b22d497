"""The examples in docker/ and deploy/: they fit the real schemas, and what they say runs."""

import importlib
import re
import shutil
import tomllib
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from compose_spec import PyCompose

from tests.distributed.deployment import (
    DEPLOY,
    ROOT,
    Container,
    compose,
    documents,
    image,
    interpolated,
    kubernetes,
    walk,
)
from toolgate.cli import COMMANDS
from toolgate.cli.parser import Parser
from toolgate.settings import variables

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

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
