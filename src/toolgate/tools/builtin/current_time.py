"""`current_time`: the date and time in a time zone."""

from datetime import UTC, datetime, tzinfo

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text


class CurrentTimeParams(BaseModel):
    """Which clock to look at."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    timezone: str = Field("UTC", description="IANA name of the time zone, for example 'Europe/Berlin'.")


class CurrentTimeTool(Tool[CurrentTimeParams]):
    """Looks at the clock."""

    name = "current_time"
    description = load_text(__file__)
    Params = CurrentTimeParams
    group = ToolGroup.world
    allowed_modes = frozenset({ToolMode.chat_safe, ToolMode.coding})
    read_only = True
    idempotent = True

    async def execute(self, params: CurrentTimeParams, context: ToolContext) -> ToolResponse:
        """The time now, as ISO 8601 with its offset."""
        moment = datetime.fromtimestamp(context.clock.time(), UTC).astimezone(_zone(params.timezone))
        iso = moment.isoformat(timespec="seconds")
        return ToolResponse.success(
            {"iso": iso, "timezone": params.timezone}, f"It is {iso} ({moment:%A}) in {params.timezone}."
        )


def _zone(name: str) -> tzinfo:
    if name == "UTC":  # also where there is no time zone database
        return UTC
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        import difflib

        near = difflib.get_close_matches(name[:60], zoneinfo.available_timezones(), n=3)
        guess = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"Unknown time zone {name[:60]!r}.",
            f"{guess}Use an IANA name such as 'Asia/Tokyo'.",
        ) from None
