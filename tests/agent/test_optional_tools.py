"""Tools that settings have not turned on are absent for an agent: from the request, the prompt and the calls."""

from tests.agent.kit import OPEN
from toolgate import ToolMode, ToolRegistry
from toolgate.agent import AgentLoop
from toolgate.runtime.builtin import agent_registry
from toolgate.sessions import InMemorySessions
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel


async def shown(registry: ToolRegistry, settings: Settings | None) -> tuple[str, str]:
    """The prompt, and the answer to a call of `web_fetch`."""
    model = ScriptedModel(["hello"])
    sessions = InMemorySessions(OPEN)
    loop = AgentLoop(model, registry, sessions, settings=settings)
    session = await sessions.create(ToolMode.coding)
    async for _ in loop.handle_message(session.id, "hi"):
        pass
    answer = await loop._execute_tool("web_fetch", '{"url": "nonsense"}', mode=ToolMode.coding, call_id="c1")
    await loop.aclose()
    return str(model.requests[0].messages[0]["content"]), answer["error_code"]


async def test_without_the_setting_the_web_is_neither_named_nor_callable() -> None:
    prompt, code = await shown(agent_registry(), None)
    assert "web_fetch" not in prompt
    assert code == "TOOL_NOT_FOUND"


async def test_with_the_setting_it_is_named_deferred_and_callable() -> None:
    settings = Settings.of(web={"fetch": True}, session={"coding_enabled": True})
    prompt, code = await shown(agent_registry(settings), settings)
    assert "web_fetch" in prompt
    assert "web_search" not in prompt
    assert code == "INVALID_PARAM"
