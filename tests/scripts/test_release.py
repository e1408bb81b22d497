"""A release that is not fit to be published is refused, with the reason."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts import release
from toolgate import __version__

URLS = "".join(f"Project-URL: {name}, https://example.org/{name}\n" for name in ("A", "B", "C", "D"))


def _wheel(place: Path, metadata: str) -> Path:
    path = place / "toolgate-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toolgate-1.0.dist-info/METADATA", metadata)
    return path


def test_the_version_is_the_packages_own() -> None:
    assert release.version() == __version__


def test_the_section_of_a_version_is_found() -> None:
    text = "# Changelog\n\n## [Unreleased]\n\n- later\n\n## [1.0] - 2026-01-01\n\n- now\n\n## [0.9]\n\n- before\n"

    assert release.changelog(text, "1.0") == "- now"


@pytest.mark.parametrize("text", ["## [Unreleased]\n\n- x\n", "## [1.0]\n\n## [0.9]\n\n- x\n"])
def test_a_version_without_a_section_is_unfit(text: str) -> None:
    with pytest.raises(release.Unfit, match=r"no section \[1\.0\]"):
        release.changelog(text, "1.0")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (f"Version: 0.9\n{URLS}\nText", "is version 0.9, not 1.0"),
        ("Version: 1.0\n\nText", "lacks addresses"),
        (f"Version: 1.0\n{URLS}\nSee [tools](docs/tools.md)", r"relative links: \]\(docs/tools.md\)"),
        (f"Version: 1.0\n{URLS}\n", "it is empty"),
    ],
)
def test_a_wheel_that_pypi_would_show_wrongly_is_unfit(tmp_path: Path, metadata: str, reason: str) -> None:
    with pytest.raises(release.Unfit, match=reason):
        release.check_wheel(_wheel(tmp_path, metadata), "1.0")


def test_a_good_wheel_passes(tmp_path: Path) -> None:
    release.check_wheel(_wheel(tmp_path, f"Version: 1.0\n{URLS}\n[tools](https://example.org/tools)"), "1.0")


def test_a_source_archive_without_its_tests_is_unfit(tmp_path: Path) -> None:
    path = tmp_path / "toolgate-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("toolgate-1.0/docs/index.md"), io.BytesIO())

    with pytest.raises(release.Unfit, match=r"lacks tests/conftest\.py, scripts/sbom\.py"):
        release.check_source(path)
