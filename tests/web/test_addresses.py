"""Which addresses may be reached."""

import pytest

from toolgate.errors import ToolError
from toolgate.web.addresses import is_public, public_addresses, refuse_private, resolve


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])
def test_control_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1"),
        *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "203.0.113.7", "192.88.99.1"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1"),
        *("64:ff9b::808:808", "2002:7f00:1::", "2001:0:4136:e378::1", "fe80::1", "fe80::1%eth0", "fc00::1"),
        *("fd00:ec2::254", "ff02::1", "2001:db8::1", "fec0::1", "100::1", "3fff::1", "localhost", "", "1.1.1"),
    ],
)
def test_w01_no_other_address_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0"),
        *("::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "169.254.169.254", "0xa9fea9fe", "2852039166"),
    ],
)
async def test_w02_every_spelling_of_a_private_address_is_refused_after_resolving(host: str) -> None:
    with pytest.raises(ToolError) as refused:
        await public_addresses(host, 80, resolve, is_public)
    assert refused.value.code.value in ("ACCESS_DENIED", "NOT_FOUND")


async def test_w03_one_private_address_among_public_ones_refuses_the_host() -> None:
    async def mixed(host: str, port: int) -> list[str]:
        return ["1.1.1.1", "127.0.0.1"]

    with pytest.raises(ToolError, match="not on the public internet"):
        await public_addresses("mixed.test", 80, mixed, is_public)


async def test_a_host_that_does_not_exist_is_said_to() -> None:
    async def nothing(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(ToolError, match="cannot be found"):
        await public_addresses("nowhere.test", 80, nothing, is_public)


@pytest.mark.parametrize("host", ["example.org", "1.1.1.1", "a" * 64, "a..b"])
def test_a_host_that_is_not_known_to_be_private_is_left_to_the_lookup(host: str) -> None:
    refuse_private(host)
