"""Which network addresses may be reached: public ones only, checked after the name was resolved."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Returns the addresses of a host name."""
Allows = Callable[[str], bool]
"""Whether a network address may be reached."""
_MAX_ADDRESSES = 16
_REFUSED_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # a public address that leads to the metadata service of a cloud
        ),
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),  # Teredo and others, documentation, 6to4
    )
)


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet.

    Of IPv6 only ordinary unicast addresses are: none that contains an IPv4 address (mapped, NAT64, 6to4, Teredo), none
    of a link, a site or a machine.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not any(found in network for network in _REFUSED_V4)
    if found.scope_id is not None or found not in _GLOBAL_V6:
        return False
    return found.is_global and not any(found in network for network in _REFUSED_V6)


async def resolve(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver knows. Numbers in any spelling (`0x7f.1`) become addresses here."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


async def public_addresses(host: str, port: int, resolve: Resolve, allows: Allows) -> list[str]:
    """The addresses of a host, all of which may be reached. Raises `ToolError`.

    One address that may not be reached is enough to refuse the host: which one is used must not be a matter of luck.
    """
    try:
        found = await resolve(host, port)
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise ToolError(
            ErrorCode.NOT_FOUND, f"The host '{host}' cannot be found.", "Check the address, or try again later."
        )
    if not all(allows(address) for address in found):
        raise _not_public(host)
    return found[:_MAX_ADDRESSES]


def refuse_private(host: str) -> None:
    """Raise `ToolError` for a host that is not public, if that is known without a lookup: nobody is asked about it."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):  # a name, or nothing that can be one
        found = []
    local = host == "localhost" or host.endswith(".localhost")
    if local or not all(is_public(str(item[4][0])) for item in found):
        raise _not_public(host)


def _not_public(host: str) -> ToolError:
    return ToolError(
        ErrorCode.ACCESS_DENIED,
        f"The host '{host}' is not on the public internet: only public addresses are fetched.",
        "For a server on this machine, use a command with Bash.",
    )
