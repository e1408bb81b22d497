"""Addresses of pages as text: parsed strictly, in one spelling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

MAX_CHARACTERS = 4096
_PORTS = {"http": 80, "https": 443}
_REFUSED_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000, 6379, 6566, 6697, 9200}
    | {10080, 11211, 27017, *range(6665, 6670)}
)
"""Ports of services other than web servers. Below 1024 only 80 and 443 are used."""
_BAD = re.compile(r"[\x00-\x20\x7f\\]|[\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """A parsed address."""

    scheme: str
    host: str
    """In lower case, international names in their ASCII form; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query, as they are sent."""

    @property
    def origin(self) -> str:
        """Scheme, host and, unless it is the usual one, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    @property
    def text(self) -> str:
        """The address in its one spelling, without a fragment."""
        return self.origin + self.target


def parse(url: str) -> WebAddress:
    """Parse the address of a page. Raises `ToolError`."""
    if len(url) > MAX_CHARACTERS:
        raise _invalid(f"it has more than {MAX_CHARACTERS} characters")
    if _BAD.search(url):
        raise _invalid("it contains a space, a backslash or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _invalid(str(error)) from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise _invalid("it does not begin with http:// or https://")
    if "@" in parts.netloc:
        raise _invalid("it contains a user name or password, and none is ever sent")
    port = _PORTS[scheme] if port is None else port
    if (port < 1024 and port not in _PORTS.values()) or port in _REFUSED_PORTS:
        raise _invalid(f"port {port} is not one of a web server")
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    target = (quote(parts.path, safe=_SAFE) or "/") + query
    return WebAddress(scheme=scheme, host=_host(parts.hostname or ""), port=port, target=target)


def redirected(address: WebAddress, location: str) -> WebAddress:
    """Where a redirect leads. Raises `ToolError`."""
    return parse(urljoin(address.text, location.strip()))


def canonical(url: str) -> str:
    """The one spelling of an address; the text itself if it is not an address."""
    try:
        return parse(url).text
    except ToolError:
        return url


_SAFE = "%/:=&?~+!$,;'@()*[]-._|"


def _host(name: str) -> str:
    if not name:
        raise _invalid("it names no host")
    if ":" in name:
        if "%" in name:
            raise _invalid("it names a network interface")
        return name.lower()
    try:
        host = name.encode("ascii").decode() if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        raise _invalid("its host is not a valid name") from None
    host = host.lower().rstrip(".")
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise _invalid("its host is not a valid name")
    return host


def _invalid(problem: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"'url' is not the address of a page: {problem}.",
        "Pass an address such as https://example.org/page.",
    )
