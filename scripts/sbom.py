"""Writes the bill of materials of a release: every package of requirements/image.txt, in the format CycloneDX 1.6.

    python scripts/sbom.py dist/toolgate-0.1.0-py3-none-any.whl > dist/toolgate-0.1.0.cdx.json

Licences come from the metadata of the installed packages, so it runs in the environment that `make setup` makes.
"""

import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements/image.txt"
_CLASSIFIER = "License :: OSI Approved :: "


def locked(lock: Path) -> dict[str, str]:
    """The packages of a lock file and their versions."""
    return dict(re.findall(r"(?m)^([a-z0-9][a-z0-9.-]*)==([^\s;]+)", lock.read_text(encoding="utf-8")))


def licence(name: str) -> str:
    """The licence that an installed package declares; empty if it is not installed here or declares none."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    classifiers = [line.removeprefix(_CLASSIFIER) for line in about.get_all("Classifier") or [] if _CLASSIFIER in line]
    declared = [
        *(about.get_all("License-Expression") or []),
        " AND ".join(classifiers),
        *(about.get_all("License") or []),
    ]
    return next((words.strip().split("\n")[0] for words in declared if words.strip()), "")


def component(name: str, version: str) -> dict[str, Any]:
    """One package."""
    reference = f"pkg:pypi/{name}@{version}"
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
    }
    if words := licence(name):
        found["licenses"] = [{"license": {"name": words}}]
    return found


def bill(wheel: Path) -> dict[str, Any]:
    """The document."""
    name, version = wheel.name.split("-")[:2]
    own = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
    }
    packages = [component(*pair) for pair in sorted(locked(LOCK).items())]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": packages,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [package["bom-ref"] for package in packages]}],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".whl"):
        sys.exit("usage: python scripts/sbom.py dist/toolgate-VERSION-py3-none-any.whl")
    print(json.dumps(bill(Path(sys.argv[1])), indent=2))
