"""Hooks of MkDocs: links from a page to files outside docs/ lead to the repository, and no page is left out.

A page that the navigation in mkdocs.yml does not name is listed under Reference.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)]*)?\)")


def to_repository(markdown: str, page: str, repository: str) -> str:
    """Return the text of a page (its path inside docs/) whose links out of docs/ are absolute."""

    def replaced(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), match[1]))
        if target.startswith("docs/"):
            return match[0]
        return f"]({repository.rstrip('/')}/blob/main/{target}{match[2] or ''})"

    return _LINK.sub(replaced, markdown)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - MkDocs passes them
    """Called by MkDocs for every page."""
    return to_repository(markdown, page.file.src_uri, config["repo_url"])


def complete(nav: list[Any], pages: list[str]) -> list[Any]:
    """Return the navigation with the pages that it does not name, at the end of Reference."""
    named = re.findall(r"[\w/-]+\.md", repr(nav))
    more = [page for page in pages if page not in named]
    return [{"Reference": [*entry["Reference"], *more]} if "Reference" in entry else entry for entry in nav]


def on_config(config: Any) -> Any:
    """Called by MkDocs once."""
    config["nav"] = complete(config["nav"], sorted(page.name for page in Path(config["docs_dir"]).glob("*.md")))
    return config
