"""Tools of connected servers in the registry: visible as configured, gone with their server."""

from tests.adapters.mcp_client.kit import connected, nasty, plain, until
from toolgate import ErrorCode, ToolMode


async def test_only_what_the_config_gives_modes_is_visible() -> None:
    tools = {"act": {"modes": ["coding"]}, "look": {"modes": ["chat_safe", "coding"]}}

    async with connected(raw=nasty("good", tools=tools)) as live:
        assert live.visible() == ["raw__act", "raw__look"]
        assert live.visible(ToolMode.chat_safe) == ["raw__look"]
        assert live.reasons()["long"] == "the config gives it no modes"
        result = await live.call("raw__long", lines=1)

    assert result.response.error is not None
    assert result.response.error.code is ErrorCode.TOOL_NOT_FOUND


async def test_without_a_word_in_the_config_nothing_is_visible() -> None:
    async with connected(raw=nasty("good", tools={})) as live:
        assert live.registry.names() == []


async def test_a_pattern_has_to_be_written_down_and_the_name_wins_over_it() -> None:
    tools = {"*": {"modes": ["coding"]}, "lo*": {"modes": []}, "long": {"modes": ["chat_safe"]}}

    async with connected(raw=nasty("good", tools=tools)) as live:
        assert live.visible() == ["raw__act", "raw__see"]
        assert live.visible(ToolMode.chat_safe) == ["raw__long"]


async def test_a_tool_that_appears_later_is_registered() -> None:
    async with connected(plain=plain()) as live:
        await live.call("plain__grow", tool="fresh")
        await until(lambda: "plain__fresh" in live.visible())
        result = await live.call("plain__fresh")

    assert "fresh" in result.output


async def test_nothing_is_left_in_the_registry_afterwards() -> None:
    async with connected(raw=nasty("good")) as live:
        assert live.registry.names()

    assert live.registry.names() == []


async def test_an_override_holds_when_a_tool_goes_and_comes_back() -> None:
    async with connected(raw=nasty("good")) as live:
        live.registry.set_mode_override("raw__act", [])
        offers = dict(live.connection.tools)
        live.connection.tools = {}
        live.servers.sync(live.connection)
        assert live.registry.names() == []
        live.connection.tools = offers
        live.servers.sync(live.connection)

        assert live.registry.get_effective_modes("raw__act") == frozenset()
        assert "raw__look" in live.visible()
