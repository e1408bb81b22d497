"""Names of foreign tools: prefixed with their server, and such that every provider accepts them."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
"""Characters that a tool's name may have at the strictest provider."""
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_MARK = 8


def exposed_name(server: str, tool: str) -> str:
    """`server__tool`. What does not fit is replaced or cut, and marked with a hash of the whole name.

    The name depends on nothing but its two parts: no other tool can take it or change it. A server whose name has a
    double underscore counts as one that does not fit, because `a__b` and `c` would read like `a` and `b__c`.
    """
    plain = f"{server}__{tool}"
    fits = len(plain) <= LONGEST and not _ODD.search(plain) and "__" not in server and not server.endswith("_")
    if fits and server and tool:
        return plain
    digest = hashlib.sha256(f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    readable = _ODD.sub("_", plain)[: LONGEST - _MARK - 1]
    return f"{readable}_{digest}"
