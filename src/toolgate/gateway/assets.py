"""The page's files, read once and served from memory, so that no URL reaches any other file.

HTML files are served in the person's language, and `static/LANGUAGE.js` is the table of a language for the scripts.
Scripts are served without their comments, which nobody reads there; lines keep their numbers. The page loads the script
`static/joined/main.js`, in which its modules are joined (`page_bundle.py`). With `?modules` it loads the modules
themselves, for debugging.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolgate.extras import optional_imports
from toolgate.gateway.page_bundle import bundle, bundled_page
from toolgate.language.choice import ENGLISH, LANGUAGES, of_browser
from toolgate.language.table import table

with optional_imports():
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""The file types that are served."""
_PAGE = "index.html"
_MODULES = "modules.html"
_ENTRY = "main"
_COMMENT = re.compile(rb"^[ \t]*(//.*|/\*\*.*\*/)$", re.MULTILINE)
"""A comment on a line of its own."""
_VISIBLE_TEXT = re.compile(r"""(?<=\b(?:title|label)=")[^"]+|(?<=placeholder=")[^"]+|(?<=>)[^<>]*[^<>\s][^<>]*(?=<)""")
"""Matches what people read of an HTML file: its text, and the attributes that a browser shows or reads out."""


@dataclass(frozen=True, slots=True)
class _Asset:
    body: bytes
    compressed: bytes | None
    """The compressed body, if it is shorter."""
    media_type: str
    etag: str


class Assets:
    """The files of a directory at creation time. Symbolic links, hidden files and unknown types are left out.

    `language` is that of every page; `auto` takes the one that a browser asks for.
    """

    def __init__(self, directory: Path = STATIC, language: str = "auto") -> None:
        self._files = {name: _asset(path) for name, path in _find_files(directory)}
        self._files |= _bundled(self._files)
        self._language = language
        self._translated = {tag: _translated(directory, tag) for tag in LANGUAGES if tag != ENGLISH}
        self._tables = {f"{tag}.js": _translation_script(tag) for tag in self._translated}
        self._tables |= {f"joined/{name}": asset for name, asset in self._tables.items()}

    def language(self, request: Request) -> str:
        """Return the language in which a request is answered."""
        asked = of_browser(request.headers.get("accept-language", ""))
        return asked if self._language == "auto" else self._language

    async def serve(self, request: Request, default: str = "index.html") -> Response:
        """Respond with a file, by its exact name; if the URL names none, with `default`."""
        name = request.path_params.get("path", default)
        if name == _PAGE and "modules" in request.query_params:
            name = _MODULES
        pages = self._translated.get(self.language(request), {})
        asset = pages.get(name) or self._files.get(name) or self._tables.get(name)
        if asset is None:
            return Response("Not found", status_code=404, media_type="text/plain")
        vary = "accept-encoding, accept-language" if name.endswith(".html") else "accept-encoding"
        headers = {"etag": asset.etag, "cache-control": "no-cache", "vary": vary}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        body = asset.body
        if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            body, headers["content-encoding"] = asset.compressed, "gzip"
        return Response(body, headers=headers, media_type=asset.media_type)


def _bundled(files: Mapping[str, _Asset]) -> dict[str, _Asset]:
    """Return the joined scripts, and the page that loads them; the page with modules gets another name."""
    entry, page = f"{_ENTRY}.js", files.get(_PAGE)
    if page is None or entry not in files:
        return {}
    modules = {name.removesuffix(".js"): asset.body.decode() for name, asset in files.items() if name.endswith(".js")}
    scripts = {f"joined/{name}.js": _make_asset(text.encode(), ".js") for name, text in bundle(modules, _ENTRY).items()}
    shown = bundled_page(page.body.decode(), _ENTRY)
    return {**scripts, _PAGE: _make_asset(shown.encode(), ".html"), _MODULES: page}


def _find_files(directory: Path, prefix: str = "") -> Iterator[tuple[str, Path]]:
    if not directory.is_dir():
        return
    for path in sorted(directory.iterdir()):
        if path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _find_files(path, f"{prefix}{path.name}/")
        elif path.is_file() and path.suffix in _TYPES:
            yield f"{prefix}{path.name}", path


def _asset(path: Path) -> _Asset:
    body = path.read_bytes()
    return _make_asset(_COMMENT.sub(b"", body) if path.suffix == ".js" else body, path.suffix)


def _make_asset(body: bytes, suffix: str) -> _Asset:
    compressed = gzip.compress(body, 9, mtime=0)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _Asset(body, compressed if len(compressed) < len(body) else None, _TYPES[suffix], etag)


def _translated(directory: Path, language: str) -> dict[str, _Asset]:
    """Return the HTML files in a language."""
    pages = {name: path.read_text("utf-8") for name, path in _find_files(directory) if path.suffix == ".html"}
    if _PAGE in pages:
        pages |= {_MODULES: pages[_PAGE], _PAGE: bundled_page(pages[_PAGE], _ENTRY)}
    return {name: _make_asset(in_language(text, language).encode(), ".html") for name, text in pages.items()}


def in_language(page: str, language: str) -> str:
    """Return an HTML file with its texts in a language, and with that language's tag."""
    texts = table(language, "page")
    shown = _VISIBLE_TEXT.sub(lambda found: _replaced(found[0], texts), page)
    return shown.replace(f'<html lang="{ENGLISH}">', f'<html lang="{language}">', 1)


def _replaced(text: str, texts: Mapping[str, str]) -> str:
    words = text.strip()
    return text.replace(words, html.escape(texts[words])) if words in texts else text


def _translation_script(language: str) -> _Asset:
    """Return the table of a language as a module of the page."""
    texts, phrases = (
        json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        for shown in (dict(table(language, "page")), {**table(language, "approval"), **table(language, "reason")})
    )
    return _make_asset(f"export default {texts};\nexport const phrases = {phrases};\n".encode(), ".js")
