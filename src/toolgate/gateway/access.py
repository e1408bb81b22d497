"""Authentication: tokens, the keys that pages hold in place of tokens, and one-time codes for such keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from toolgate.protocol.ids import uuid7

SUBPROTOCOL = "toolgate.bearer."
FIRST_FRAME = "toolgate.first-frame"
"""The subprotocol of clients that send their token in their first frame."""
KEY_SECONDS = 24 * 3600
"""Lifetime of a page's key unless the page renews it."""
SIGN_IN_SECONDS = 7 * 24 * 3600
"""How long after the sign-in a key can be renewed."""
CODE_SECONDS = 3600
_KEY_PREFIX = "page1"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a request, and with which token. It becomes invalid when the token is revoked."""

    user: str
    key: str
    """The token's hash."""
    sign_in: str = ""
    """The id of the sign-in if a page's key was sent; empty for a token."""
    since: int = 0
    """When the person signed in."""
    until: float = math.inf
    """When the page's key expires."""


@dataclass(frozen=True, slots=True)
class PageKey:
    """A key for the page, and when it expires."""

    text: str
    until: int


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Access:
    """Knows the tokens by their hashes, and the sign-ins that have ended."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens` maps users to tokens."""
        self._users: dict[str, str] = {}
        self._signing_keys: dict[str, bytes] = {}
        self._codes: dict[str, tuple[str, float]] = {}
        self._signed_out: dict[str, float] = {}
        self.unsaved_sign_outs: dict[str, float] = {}
        """Ended sign-ins that are not stored in the database yet: id → when the last key expires."""
        self.replace(tokens)

    def replace(self, tokens: Mapping[str, str]) -> None:
        """Replace all tokens. Others, and the keys derived from them, become invalid."""
        self._users = {_hash(token): user for user, token in tokens.items()}
        self._signing_keys = {
            _hash(token): hashlib.sha256(b"toolgate page key\0" + token.encode()).digest() for token in tokens.values()
        }
        self._codes = {code: found for code, found in self._codes.items() if found[0] in self._users}

    @property
    def users(self) -> list[str]:
        """All users with a token."""
        return list(self._users.values())

    def is_valid(self, identity: Identity) -> bool:
        """Whether the client's token or page key is still valid."""
        known = self._users.get(identity.key) == identity.user
        return known and identity.sign_in not in self._signed_out and time.time() < identity.until

    def by_token(self, token: str) -> Identity | None:
        """Return the identity for a token or a page's key. All known tokens are compared, in constant time."""
        if token.startswith(f"{_KEY_PREFIX}.") and (identity := self._by_page_key(token)) is not None:
            return identity
        given, found = _hash(token), None
        for key, user in self._users.items():
            if hmac.compare_digest(given, key):
                found = Identity(user, key)
        return found

    def code_for(self, user: str) -> str:
        """Create a code that can be exchanged for a page's key once."""
        key = next(key for key, name in self._users.items() if name == user)
        code = secrets.token_urlsafe(24)
        self._codes[_hash(code)] = key, time.monotonic() + CODE_SECONDS
        return code

    def by_code(self, code: str) -> Identity | None:
        """Return the identity that a code was created for. The code works once."""
        key, until = self._codes.pop(_hash(code), ("", 0.0))
        user = self._users.get(key)
        return None if user is None or time.monotonic() > until else Identity(user, key)

    def page_key(self, identity: Identity) -> PageKey | None:
        """Create a key for a page: a new sign-in, or a renewal of the current one.

        None if the sign-in is too old for a renewal. The key contains the user and its expiry, but not the token.
        """
        now = int(time.time())
        since = identity.since if identity.sign_in else now
        until = min(now + KEY_SECONDS, since + SIGN_IN_SECONDS)
        if until <= now:
            return None
        name = base64.urlsafe_b64encode(identity.user.encode()).decode().rstrip("=")
        body = f"{_KEY_PREFIX}.{name}.{identity.sign_in or uuid7()}.{since}.{until}"
        return PageKey(f"{body}.{self._sign(identity.key, body)}", until)

    def _by_page_key(self, text: str) -> Identity | None:
        body, _, signature = text.rpartition(".")
        parts = body.split(".")
        if len(parts) != 5 or not all(part.isascii() and part.isdecimal() and len(part) < 16 for part in parts[3:]):
            return None
        found = None
        for key, user in self._users.items():
            if hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(key, body).encode()):
                found = Identity(user, key, parts[2], int(parts[3]), float(parts[4]))
        return found if found is not None and self.is_valid(found) else None

    def _sign(self, key: str, body: str) -> str:
        return hmac.new(self._signing_keys[key], body.encode("utf-8", "replace"), "sha256").hexdigest()

    def sign_out(self, identity: Identity) -> None:
        """End a sign-in. All its keys become invalid, including renewed ones."""
        if identity.sign_in:
            until = float(identity.since + SIGN_IN_SECONDS)
            self._signed_out[identity.sign_in] = self.unsaved_sign_outs[identity.sign_in] = until

    def learn_sign_outs(self, known: Mapping[str, float]) -> None:
        """Add sign-ins that ended elsewhere or before this process started, and drop those that expired."""
        now = time.time()
        self._signed_out = {key: until for key, until in {**self._signed_out, **known}.items() if until > now}
