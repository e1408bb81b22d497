"""Models over the wire: listing, setting one up, the model of a session, retries, and summaries."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import Client, gateway, is_done, is_type, settings_for, text_of, types
from tests.models.server import ModelServer, as_json, html, model_server, models, said
from toolgate.models import discovery
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel

KEY = "sk-wire-0123456789abcdef"
LONG = "word " * 900


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "toolgate" / "config.toml"


def with_model(settings: Settings, server: ModelServer, **more: Any) -> Settings:
    model = {"provider": "openai", "name": "m1", "base_url": f"{server.url}/v1", "api_key": "none", **more}
    return settings.model_copy(update={"model": settings.model.model_copy(update=model)})


async def watched(client: Client) -> str:
    session_id = await client.session()
    await client.data("session.subscribe", session_id=session_id, details=True)
    return session_id


async def test_without_a_model_one_is_set_up_and_works_at_once_and_the_key_is_never_seen_again(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with model_server() as server, gateway(settings_for(tmp_path)) as running, running.client() as client:
        server.on("/v1/models", models("m1", "m2"))
        server.on("/v1/chat/completions", said(f"Your key is {KEY}, I think."))
        monkeypatch.setattr(discovery, "PORTS", {server.port: "Ollama"})
        assert await client.data("model.list") == {
            "models": [],
            "default": "offline",
            "configured": False,
            "setup": True,
        }
        offered = await client.data("model.providers")
        assert offered["found"] == [{"base_url": f"{server.url}/v1", "label": "Ollama", "models": ["m1", "m2"]}]
        choice = {"provider": "openai_compatible", "base_url": f"{server.url}/v1", "api_key": KEY}
        tried = await client.data("model.test", **choice)
        assert (tried["ok"], tried["models"], config.exists()) == (True, ["m1", "m2"], False)
        listed = await client.data("model.configure", **choice, model="m2")
        assert (listed["configured"], listed["default"]) == (True, "openai:m2")
        assert KEY in config.read_text()
        session_id = await client.session()
        frames = await client.turn(session_id, f"My key is {KEY}.")
        assert text_of(frames) == "Your key is [redacted], I think."
        history = await client.data("chat.history", session_id=session_id)
        assert KEY not in str([listed, tried, history, await client.data("session.get", session_id=session_id)])
        assert server.requests[-1][2]["model"] == "m2"
        assert KEY not in str(server.requests[-1][2])


async def test_a_key_that_does_not_work_is_explained_and_nothing_is_stored(tmp_path: Path, config: Path) -> None:
    async with model_server() as server, gateway(settings_for(tmp_path)) as running, running.client() as client:
        server.on("/v1/models", as_json({"error": {"message": f"bad key {KEY}"}}, 401))
        choice = {"provider": "openai_compatible", "base_url": f"{server.url}/v1", "api_key": KEY}
        tried = await client.data("model.test", **choice)
        refused = await client.ask("model.configure", **choice, model="m1")
        assert (tried["ok"], refused["type"], refused["data"]["code"]) == (False, "error", "INVALID_PARAMS")
        assert ("refused the key" in tried["message"], KEY in str([tried, refused])) == (True, False)
        server.on("/models", html())
        server.on("/v1/models", html())
        tried = await client.data("model.test", provider="openai_compatible", base_url=server.url)
        assert f"{server.url} answers with a web page" in tried["message"]
        assert not config.exists()


@pytest.mark.parametrize(
    "gateway_settings",
    [{"tokens": "alice:token-of-alice,bob:token-of-bob"}, {"model_setup": "off"}, {"allowed_hosts": ("x.example",)}],
)
async def test_only_the_one_user_of_a_local_gateway_sets_up_its_model(
    tmp_path: Path, config: Path, gateway_settings: dict[str, Any]
) -> None:
    token = "token-of-alice" if "tokens" in gateway_settings else None
    settings = settings_for(tmp_path, **gateway_settings)
    async with gateway(settings) as running, running.client(*([token] if token else [])) as client:
        for method, params in (
            ("model.providers", {}),
            ("model.test", {"provider": "openai", "api_key": KEY}),
            ("model.configure", {"provider": "openai", "api_key": KEY, "model": "m"}),
        ):
            refused = await client.ask(method, **params)
            assert refused["data"]["code"] == "INVALID_PARAMS"
            assert "set up by its operator" in refused["data"]["message"]
        assert (await client.data("model.list"))["setup"] is False


async def test_other_requests_do_not_wait_for_a_slow_server(tmp_path: Path) -> None:
    async with model_server() as server:
        server.on("/v1/models", (0, "", b""))
        async with gateway(with_model(settings_for(tmp_path), server)) as running, running.client() as client:
            await client.send("model.list")
            assert await client.data("session.list") == {"sessions": []}
            assert client.waiting == []  # the list of models has not come


async def test_the_model_of_a_session_changes_with_its_next_turn_and_the_log_says_so(tmp_path: Path) -> None:
    async with model_server() as server:
        server.on("/v1/models", models("m1", "m2"))
        server.on("/v1/chat/completions", said("Hello"))
        async with gateway(with_model(settings_for(tmp_path), server)) as running, running.client() as client:
            session_id = await watched(client)
            assert (await client.data("session.get", session_id=session_id))["model"] == "openai:m1"
            changed = await client.data("session.model", session_id=session_id, model="openai:m2")
            assert changed == {"session_id": session_id, "model": "openai:m2"}
            [frame] = await client.until(is_type("model_changed"))
            assert frame["data"] == {"model": "openai:m2"}
            await client.turn(session_id)
            assert server.requests[-1][2]["model"] == "m2"
            assert (await client.data("session.get", session_id=session_id))["model"] == "openai:m2"
            other = (await client.data("session.create", model="openai:m2"))["session_id"]
            assert (await client.data("session.get", session_id=other))["model"] == "openai:m2"
            await client.data("session.model", session_id=session_id, model=None)
            await client.turn(session_id)
            assert server.requests[-1][2]["model"] == "m1"
            refused = await client.ask("session.model", session_id=session_id, model="anthropic:claude-x")
            assert (refused["type"], "needs a key" in refused["data"]["message"]) == ("error", True)


async def test_retries_are_frames_and_what_cannot_succeed_is_not_retried(tmp_path: Path) -> None:
    busy = as_json({"error": {"message": "slow down"}}, 429)
    broke = as_json({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, 429)
    async with model_server() as server:
        server.on("/v1/chat/completions", busy, said("Hello"))
        async with gateway(with_model(settings_for(tmp_path), server)) as running, running.client() as client:
            session_id = await watched(client)
            frames = await client.turn(session_id)
            [retry] = [frame for frame in frames if frame["type"] == "model_retry"]
            assert (retry["data"]["attempt"], retry["data"]["of"], retry["data"]["code"]) == (1, 3, "MODEL_RATE_LIMIT")
            assert (text_of(frames), "seq" in retry) == ("Hello", True)
            server.on("/v1/chat/completions", broke)
            asked = len(server.requests)
            frames = await client.turn(session_id)
            assert ("model_retry" in types(frames), len(server.requests)) == (False, asked + 1)
            [ended] = [frame["data"] for frame in frames if frame["type"] == "turn_finished"]
            assert (ended["code"], ended["retryable"]) == ("MODEL_QUOTA", False)
            assert "quota" in ended["cause"]
            assert "another model" in ended["advice"]


async def test_a_session_is_summarised_on_demand_and_the_summary_can_be_taken_back(tmp_path: Path) -> None:
    model = ScriptedModel([LONG, "Two.", "They talked.", "Three."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session_id = await watched(client)
        await client.turn(session_id, "One")
        await client.turn(session_id, "Two")
        request_id = await client.send("session.compact", session_id=session_id)
        frames = await client.until(is_done)
        assert types(frames)[:4] == ["turn_started", "activity", "compacted", "turn_finished"]
        assert (frames[2]["data"]["by"], frames[2]["data"]["summary"]) == ("model", "They talked.")
        assert frames[-1]["id"] == request_id
        context = (await client.data("session.get", session_id=session_id))["context"]
        assert 0 < context["used"] < context["limit"] == 120_000
        await client.turn(session_id, "Three")
        assert "They talked." in str(model.requests[-1].messages)
        restored = await client.data("session.compact", session_id=session_id, restore=True)
        assert restored == {"session_id": session_id, "restored": True}
        assert len((await client.data("chat.history", session_id=session_id))["messages"]) == 6


async def test_a_message_too_long_for_the_model_is_refused_with_its_size(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    settings = settings.model_copy(update={"agent": settings.agent.model_copy(update={"context_tokens": 10_000})})
    async with gateway(settings, ScriptedModel(["fine"])) as running, running.client() as client:
        session_id = await client.session()
        refused = await client.ask("chat.send", session_id=session_id, content="x" * 100_000)
        assert refused["data"]["code"] == "INVALID_PARAMS"
        assert "100,000 bytes, about 25,004 tokens" in refused["data"]["message"]
        assert (await client.data("chat.history", session_id=session_id))["messages"] == []
        assert text_of(await client.turn(session_id)) == "fine"


async def test_costs_are_shown_only_with_prices(tmp_path: Path) -> None:
    async with model_server() as server:
        server.on("/v1/chat/completions", said("Hello", usage=(1_000, 100)))
        for prices, cost in (({}, None), ({"input_price": 2.0, "output_price": 10.0}, 0.003)):
            settings = with_model(settings_for(tmp_path), server, **prices)
            async with gateway(settings) as running, running.client() as client:
                session_id = await client.session()
                await client.turn(session_id)
                assert (await client.data("session.get", session_id=session_id)).get("cost") == cost


async def test_of_others_sessions_nothing_can_be_changed(tmp_path: Path) -> None:
    tokens = "alice:token-of-alice,bob:token-of-bob"
    async with (
        gateway(settings_for(tmp_path, tokens=tokens)) as running,
        running.client("token-of-alice") as alice,
        running.client("token-of-bob") as bob,
    ):
        session_id = await alice.session()
        for method, params in (("session.model", {"model": "offline"}), ("session.compact", {})):
            refused = await bob.ask(method, session_id=session_id, **params)
            assert refused["data"] == {"code": "INVALID_PARAMS", "message": "There is no such session."}
