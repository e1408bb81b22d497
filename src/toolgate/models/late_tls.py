"""Certificates that are loaded when something is encrypted, not before: reading those of the whole world takes time."""

from __future__ import annotations

import ssl
from typing import Any


class LateContext(ssl.SSLContext):
    """Stands for the HTTP client's own default context, which is made when a connection is to be encrypted.

    For servers that are spoken to in the clear. Should one of them redirect to an encrypted address, that is verified
    as always: nothing is ever encrypted with this object's own, empty list of certificates.
    """

    _real: ssl.SSLContext | None = None

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Encrypt, with certificates."""
        return self._certified().wrap_bio(*args, **options)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        """Encrypt, with certificates."""
        return self._certified().wrap_socket(*args, **options)

    def _certified(self) -> ssl.SSLContext:
        if self._real is None:
            from httpx2 import create_ssl_context

            self._real = create_ssl_context()
        return self._real


def late_context() -> LateContext:
    """A new one."""
    return LateContext(ssl.PROTOCOL_TLS_CLIENT)
