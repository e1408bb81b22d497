"""Names of foreign tools: readable, distinct, and accepted by every provider."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.mcp_client.kit import connected, nasty
from toolgate.adapters.mcp_client.names import exposed_name


async def test_odd_names_become_names_that_every_provider_takes() -> None:
    async with connected(raw=nasty("odd-names")) as live:
        names = live.visible()
        results = [await live.call(name) for name in names]

    assert len(set(names)) == 4
    assert "raw__ok" in names
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in names)
    assert [result.is_error for result in results] == [False] * 4


def test_plain_names_are_readable() -> None:
    assert exposed_name("docs", "search-all_now") == "docs__search-all_now"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b__c"), ("a__b", "c")),
        (("a", "_b"), ("a_", "b")),
        (("docs", "a.b"), ("docs", "a/b")),
        (("docs", "a.b"), ("docs", "a_b")),
        (("d.s", "x"), ("d/s", "x")),
        (("docs", "x" * 100), ("docs", "x" * 101)),
    ],
)
def test_different_tools_have_different_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert exposed_name(*one) != exposed_name(*other)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=80), st.text(max_size=300))
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", exposed_name(server, tool))
