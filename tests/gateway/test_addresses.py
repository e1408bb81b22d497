"""Addresses that only this machine reaches."""

import pytest

from toolgate.gateway.addresses import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.8.7", "::1"])
def test_addresses_of_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.168.1.1", "example.com", "localhost.example.com", "127.1"])
def test_every_other_address_may_be_reached_from_elsewhere(host: str) -> None:
    assert not is_loopback(host)
