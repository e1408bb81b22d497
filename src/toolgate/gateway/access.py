"""Who is there: tokens, the page's cookie, and the one-time codes that are exchanged for it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

SUBPROTOCOL = "toolgate.bearer."
FIRST_FRAME = "toolgate.first-frame"
"""The subprotocol of clients that show their token in their first frame."""
COOKIE_SECONDS = 30 * 24 * 3600
CODE_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and by which token: when that is withdrawn, so is this."""

    user: str
    key: str
    """The token's hash."""
    by_cookie: bool = False


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Access:
    """Knows the tokens, by their hashes only."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens`: user → token."""
        self._users: dict[str, str] = {}
        self._cookie_keys: dict[str, bytes] = {}
        self._codes: dict[str, tuple[str, float]] = {}
        self.replace(tokens)

    def replace(self, tokens: Mapping[str, str]) -> None:
        """These are the tokens from now on; all others, and what was derived from them, count no more."""
        self._users = {_hash(token): user for user, token in tokens.items()}
        self._cookie_keys = {
            _hash(token): hashlib.sha256(b"toolgate cookie\0" + token.encode()).digest() for token in tokens.values()
        }
        self._codes = {code: found for code, found in self._codes.items() if found[0] in self._users}

    @property
    def users(self) -> list[str]:
        """Everybody who has a token."""
        return list(self._users.values())

    def holds(self, identity: Identity) -> bool:
        """Whether the token still counts that someone came in with."""
        return self._users.get(identity.key) == identity.user

    def by_token(self, token: str) -> Identity | None:
        """Who shows this token; every known one is compared, in constant time."""
        given, found = _hash(token), None
        for key, user in self._users.items():
            if hmac.compare_digest(given, key):
                found = Identity(user, key)
        return found

    def code_for(self, user: str) -> str:
        """A code that can be exchanged for the cookie once."""
        key = next(key for key, name in self._users.items() if name == user)
        code = secrets.token_urlsafe(24)
        self._codes[_hash(code)] = key, time.monotonic() + CODE_SECONDS
        return code

    def by_code(self, code: str) -> Identity | None:
        """Whom a code was made for; it works once."""
        key, until = self._codes.pop(_hash(code), ("", 0.0))
        user = self._users.get(key)
        return None if user is None or time.monotonic() > until else Identity(user, key)

    def cookie_for(self, identity: Identity) -> str:
        """What a browser shows from now on: it says who, until when, and nothing about the token."""
        until = int(time.time()) + COOKIE_SECONDS
        name = base64.urlsafe_b64encode(identity.user.encode()).decode().rstrip("=")
        return f"{name}.{until}.{self._sign(identity.key, name, until)}"

    def by_cookie(self, cookie: str) -> Identity | None:
        """Who shows this cookie."""
        name, _, rest = cookie.partition(".")
        until, _, signature = rest.partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 16 and time.time() < int(until)):
            return None
        found = None
        for key, user in self._users.items():
            if hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(key, name, int(until)).encode()):
                found = Identity(user, key, by_cookie=True)
        return found

    def _sign(self, key: str, name: str, until: int) -> str:
        return hmac.new(self._cookie_keys[key], f"{name}.{until}".encode("utf-8", "replace"), "sha256").hexdigest()
