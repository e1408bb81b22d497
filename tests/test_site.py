"""The documentation site: the API page has every public name, `llms.txt` leads to pages, and the site is built."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import toolgate

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
API = re.findall(r"(?m)^::: ([\w.]+)$", (DOCS / "api.md").read_text("utf-8"))


def test_the_api_page_has_every_name_of_the_package() -> None:
    errors = {"PolicyError", "ToolError", "ToolgateError", "UndoRefused"}  # in the part about errors

    assert [name for name in toolgate.__all__ if f"toolgate.{name}" not in API and name not in errors] == []


@pytest.mark.parametrize("name", API)
def test_what_the_api_page_names_is_imported_by_that_name(name: str) -> None:
    assert pkgutil.resolve_name(name) is not None


def test_the_addresses_of_llms_txt_are_pages() -> None:
    address = re.compile(r"\(https://toolgate\.github\.io/toolgate/([\w/-]*)\)")
    found = address.findall((DOCS / "llms.txt").read_text("utf-8"))

    assert len(found) > 10
    assert [page for page in found if not (DOCS / f"{page.strip('/') or 'index'}.md").exists()] == []


@pytest.mark.slow
@pytest.mark.timeout(900)  # half a minute of work, of which a busy machine does a part at a time
def test_the_site_is_built_without_a_warning_and_finds_chinese_words(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}

    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert 'id="toolgate.open"' in (tmp_path / "api/index.html").read_text("utf-8")
    separator = json.loads((tmp_path / "search/search_index.json").read_text("utf-8"))["config"]["separator"]
    assert list(filter(None, re.split(separator, "请人批准 a-b"))) == ["请", "人", "批", "准", "a", "b"]
