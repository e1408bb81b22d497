"""A TLS context that loads the certificates on first use, because loading them takes time."""

from __future__ import annotations

import ssl
from typing import Any


class LazyTlsContext(ssl.SSLContext):
    """Stands in for the HTTP client's default TLS context and creates it for the first encrypted connection.

    It is meant for `http://` servers. If such a server redirects to an encrypted address, that connection is verified
    as usual: this object's own, empty certificate list is never used.
    """

    _context: ssl.SSLContext | None = None

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Encrypt with the default context."""
        return self._default_context().wrap_bio(*args, **options)

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        """Encrypt with the default context."""
        return self._default_context().wrap_socket(*args, **options)

    def _default_context(self) -> ssl.SSLContext:
        if self._context is None:
            from httpx2 import create_ssl_context

            self._context = create_ssl_context()
        return self._context


def lazy_tls_context() -> LazyTlsContext:
    """Create the context."""
    return LazyTlsContext(ssl.PROTOCOL_TLS_CLIENT)
