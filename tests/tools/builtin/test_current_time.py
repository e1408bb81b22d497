"""`current_time`."""

import zoneinfo
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.kit import call, code_of
from toolgate import CallableToolset, ToolContext, ToolGroup, ToolMode, ToolResult
from toolgate.testing import FakeClock, check_tool, violations
from toolgate.tools.builtin.current_time import CurrentTimeTool


async def ask(arguments: Any = "{}") -> ToolResult:
    context = ToolContext()
    context.clock = FakeClock(datetime(2026, 3, 29, 0, 30, tzinfo=UTC).timestamp())
    return await CallableToolset([CurrentTimeTool()], context).handle(call("current_time", arguments))


def test_it_is_for_everyone_and_changes_nothing() -> None:
    tool = CurrentTimeTool()
    assert (tool.name, tool.group, tool.allowed_modes) == ("current_time", ToolGroup.world, frozenset(ToolMode))
    assert (tool.read_only, tool.requires_permission) == (True, False)


async def test_it_is_utc_by_default() -> None:
    result = await ask()
    assert result.response.data == {"iso": "2026-03-29T00:30:00+00:00", "timezone": "UTC"}
    assert "2026-03-29T00:30:00+00:00" in result.response.text
    assert "Sunday" in result.response.text


@pytest.mark.parametrize(
    ("zone", "iso"),
    [
        ("Europe/Berlin", "2026-03-29T01:30:00+01:00"),
        ("Asia/Kolkata", "2026-03-29T06:00:00+05:30"),
        ("America/New_York", "2026-03-28T20:30:00-04:00"),
    ],
)
async def test_it_knows_time_zones(zone: str, iso: str) -> None:
    assert (await ask({"timezone": zone})).response.data == {"iso": iso, "timezone": zone}


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Mars/Olympus",
        "../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "UTC\x00",
        "a" * 5000,
        "Europe/Berlin ",
        ".",
        "é",
    ],
)
async def test_an_unknown_zone_is_a_clear_error(zone: str) -> None:
    result = await ask({"timezone": zone})
    assert code_of(result) == "INVALID_PARAM"
    assert "Unknown time zone" in result.message
    assert violations(result) == []
    assert len(result.output) < 500


async def test_a_typing_error_is_met_with_a_suggestion() -> None:
    assert "Did you mean 'Europe/Berlin'" in (await ask({"timezone": "Europe/Berlni"})).output


async def test_utc_needs_no_time_zone_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", missing)
    assert code_of(await ask()) is None


async def test_it_conforms() -> None:
    assert await check_tool(CurrentTimeTool(), {"timezone": "UTC"}) == []
