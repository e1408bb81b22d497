"""Check what `make dist` built, install it into clean environments, and print what to publish.

    make release

The version is in one place, `src/toolgate/__init__.py`. A release needs a section of CHANGELOG.md with that version;
the tag is `v` and the version. Publishing is done by .github/workflows/release.yml, which a pushed tag starts.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
NEEDED = ("tests/conftest.py", "scripts/sbom.py", "requirements/dev.txt", "examples/", "docs/index.md", "Makefile")
"""Parts of the source archive without which its tests cannot run."""
SMOKE = (
    ("--version",),
    ("call", "current_time"),
    ("chat", "--print", "current_time"),
    ("tools",),
)


class Unfit(Exception):
    """The release must not be published; the message says why, and what to do."""


def version() -> str:
    """Return the version of the package, as it is written in the source."""
    found = re.search(r'^__version__ = "([^"]+)"$', (ROOT / "src/toolgate/__init__.py").read_text("utf-8"), re.M)
    if found is None:
        raise Unfit('src/toolgate/__init__.py has no line __version__ = "…"')
    return found[1]


def changelog(text: str, wanted: str) -> str:
    """Return the section of a version. Raises `Unfit` if there is none, or if it is empty."""
    found = re.search(rf"^## \[{re.escape(wanted)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.M | re.S)
    if found is None or not found[1].strip():
        raise Unfit(
            f"CHANGELOG.md has no section [{wanted}]: rename [Unreleased] to [{wanted}] - DATE, and begin a new "
            "[Unreleased] above it"
        )
    return found[1].strip()


def check_wheel(wheel: Path, wanted: str) -> None:
    """Check the metadata: the version, the addresses of the project, and a readme whose links lead somewhere."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    if metadata["Version"] != wanted:
        raise Unfit(f"{wheel.name} is version {metadata['Version']}, not {wanted}: run make dist again")
    if len(metadata.get_all("Project-URL") or []) < 4:
        raise Unfit(f"{wheel.name} lacks addresses of the project: see [project.urls] in pyproject.toml")
    readme = str(metadata.get_payload())
    relative = re.findall(r"\]\((?!https?://|#|mailto:)[^)]+\)", readme)
    if relative or not readme.strip():
        raise Unfit(f"the readme of {wheel.name} has relative links: {', '.join(relative[:3]) or 'it is empty'}")


def check_source(archive: Path) -> None:
    """Check that the source archive holds what its tests need."""
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
    missing = [part for part in NEEDED if not any(name.startswith(part) for name in names)]
    if missing:
        raise Unfit(f"{archive.name} lacks {', '.join(missing)}: see [tool.hatch.build.targets.sdist]")


def smoke(package: Path, extra: str = "") -> None:
    """Install the package into a clean environment and run its commands there."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(f"{place}/venv", with_pip=False)
        python = f"{place}/venv/bin/python"
        _run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", f"{package}{extra}"], place)
        for words in SMOKE:
            _run([f"{place}/venv/bin/toolgate", *words], place)


def _run(command: list[str], home: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": home}
    passed = {} if "pip" in command else {"env": environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home, **passed)  # type: ignore[call-overload]
    if done.returncode:
        raise Unfit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def main() -> int:
    """Check everything; return 1 and say why if the release is unfit."""
    try:
        wanted = version()
        (wheel,), (source,) = DIST.glob(f"toolgate-{wanted}-*.whl"), DIST.glob(f"toolgate-{wanted}.tar.gz")
        check_wheel(wheel, wanted)
        check_source(source)
        for package, extra in ((wheel, ""), (source, "")):
            print(f"release: installing {package.name} into a clean environment")
            smoke(package, extra)
        print(changelog((ROOT / "CHANGELOG.md").read_text("utf-8"), wanted))
    except Unfit as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"\nrelease: fit. Publish it with: git tag -s v{wanted} && git push origin v{wanted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
