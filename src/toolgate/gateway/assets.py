"""The page's files, read once and served from memory, so that no URL reaches any other file."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class _Asset:
    body: bytes
    packed: bytes | None
    """The compressed body, if it is shorter."""
    kind: str
    tag: str


class Assets:
    """The files of a directory at creation time. Symbolic links, hidden files and unknown types are left out."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._files = {name: _asset(path) for name, path in _found(directory)}

    async def serve(self, request: Request, default: str = "index.html") -> Response:
        """Respond with a file, by its exact name; if the URL names none, with `default`."""
        name = request.path_params.get("path", default)
        asset = self._files.get(name)
        if asset is None:
            return Response("Not found", status_code=404, media_type="text/plain")
        headers = {"etag": asset.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(status_code=304, headers=headers)
        body = asset.body
        if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            body, headers["content-encoding"] = asset.packed, "gzip"
        return Response(body, headers=headers, media_type=asset.kind)


def _found(directory: Path, prefix: str = "") -> Iterator[tuple[str, Path]]:
    if not directory.is_dir():
        return
    for path in sorted(directory.iterdir()):
        if path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _found(path, f"{prefix}{path.name}/")
        elif path.is_file() and path.suffix in _TYPES:
            yield f"{prefix}{path.name}", path


def _asset(path: Path) -> _Asset:
    body = path.read_bytes()
    packed = gzip.compress(body, 9, mtime=0)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _Asset(body, packed if len(packed) < len(body) else None, _TYPES[path.suffix], tag)
