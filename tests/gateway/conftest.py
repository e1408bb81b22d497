"""Fixtures of gateways beside workers."""

from tests.distributed.conftest import machines, own_url, server_url  # noqa: F401 - fixtures
