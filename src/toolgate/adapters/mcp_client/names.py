"""Names of foreign tools, prefixed with their server and valid for every provider."""

from __future__ import annotations

import hashlib
import re

MAX_NAME = 64
"""Maximum characters of a tool name at the strictest provider."""
_INVALID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_HASH_LENGTH = 8


def exposed_name(server: str, tool: str) -> str:
    """Return `server__tool`. A name that does not fit is replaced or cut, and gets a hash of the whole name.

    The name depends only on its two parts, so no other tool can take or change it. A server name with a double
    underscore counts as one that does not fit, because `a__b` and `c` would look like `a` and `b__c`.
    """
    as_mapping = f"{server}__{tool}"
    fits = (
        len(as_mapping) <= MAX_NAME
        and not _INVALID_CHARACTERS.search(as_mapping)
        and "__" not in server
        and not server.endswith("_")
    )
    if fits and server and tool:
        return as_mapping
    digest = hashlib.sha256(f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = _INVALID_CHARACTERS.sub("_", as_mapping)[: MAX_NAME - _HASH_LENGTH - 1]
    return f"{readable}_{digest}"
