"""Secrets and floods stay out of what is shown and stored."""

from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from tests.kit import Foreign, ProbeTool, call, raising, toolset_of
from toolgate import ErrorCode, ToolContext, ToolError, ToolMode, ToolResponse, tool
from toolgate.settings import GatewaySettings, ModelSettings, Settings
from toolgate.testing import AutoApprover, MemoryRecorder
from toolgate.text import redaction
from toolgate.text.masking import MaskedBytes, MaskedText
from toolgate.text.redaction import MARK, MAX_CHARACTERS, add_secrets, mask, recorded_copy, secrets_of

TOKEN, KEY = "tok-0123456789abcdef", "key-fedcba9876543210"


def settings() -> Settings:
    return Settings.defaults().model_copy(
        update={
            "gateway": GatewaySettings(token=SecretStr(TOKEN)),
            "model": ModelSettings(api_key=SecretStr(KEY)),
        }
    )


class Echo(BaseModel):
    text: str


async def echo(params: Any, context: ToolContext) -> ToolResponse:
    return ToolResponse.success(
        {"said": [params.text], params.text: 1}, f"You said {params.text}.", context={"note": params.text}
    )


def test_the_runtimes_secrets_are_found_in_the_settings() -> None:
    assert set(secrets_of(settings())) == {TOKEN, KEY}
    assert secrets_of(Settings.defaults()) == ()


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"])
async def test_a_key_that_an_sdk_would_read_is_one_of_them(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, KEY)
    result = await toolset_of(ProbeTool(echo, Params=Echo)).handle(call(arguments={"text": KEY}))

    assert KEY not in result.output + result.response.to_json()
    assert MARK in result.output


@pytest.mark.parametrize("secret", [TOKEN, KEY])
async def test_a_secret_appears_nowhere_in_a_result(secret: str) -> None:
    result = await toolset_of(ProbeTool(echo, Params=Echo), settings=settings()).handle(
        call(arguments={"text": f"<{secret}>"})
    )
    shown = result.response.to_json() + result.output + result.message + str(result.extras)
    assert secret not in shown
    assert result.response.data["said"] == [f"<{MARK}>"]
    assert result.response.context["params_input"] == {"text": f"<{MARK}>"}


async def test_a_secret_in_an_error_is_masked() -> None:
    tool = ProbeTool(raising(ToolError(ErrorCode.EXECUTION_ERROR, f"bad {TOKEN}", f"use {KEY}", data={"k": TOKEN})))
    result = await toolset_of(tool, settings=settings()).handle(call())
    assert (result.message, result.response.text) == (f"bad {MARK}", f"bad {MARK} use {MARK}")
    assert result.response.data == {"k": MARK}


async def test_a_secret_in_a_tools_own_rendering_is_masked() -> None:
    class Renders(ProbeTool):
        def render(self, response: ToolResponse) -> str:
            return f"rendered with {TOKEN}"

    result = await toolset_of(Renders(), settings=settings()).handle(call())
    assert result.output == f"rendered with {MARK}"


async def test_a_secret_in_bad_arguments_is_masked() -> None:
    toolset = toolset_of(ProbeTool(Params=Echo), settings=settings())
    for arguments in (f'{{"{TOKEN}": 1}}', f'{{"text": ["{TOKEN}"]}}', f'{{"text": "{TOKEN}'):
        result = await toolset.handle(call(arguments=arguments))
        assert result.is_error
        assert TOKEN not in result.response.to_json() + result.output + result.message + str(result.extras)


async def test_a_secret_as_a_tools_name_is_masked() -> None:
    result = await toolset_of(ProbeTool(), settings=settings()).handle(call(TOKEN))
    assert TOKEN not in result.response.to_json() + result.output + result.message


async def test_a_secret_does_not_reach_the_record() -> None:
    recorder = MemoryRecorder()
    toolset = toolset_of(ProbeTool(echo, Params=Echo), settings=settings(), recorder=recorder)
    await toolset.handle(call(arguments={"text": TOKEN}))
    await toolset.handle(call(arguments=f'{{"text": "{TOKEN}'))
    await toolset.handle(call(arguments={"text": [TOKEN]}))
    assert len(recorder.records) >= 6
    assert TOKEN not in str(recorder.records)


async def test_a_secret_does_not_reach_the_question() -> None:
    approver = AutoApprover()
    tool = ProbeTool(echo, Params=Echo, requires_permission=True)
    await toolset_of(tool, settings=settings(), approver=approver).handle(call(arguments={"text": TOKEN}))
    assert len(approver.requests) == 1
    assert TOKEN not in str(approver.requests)


async def test_a_foreign_tool_gets_its_arguments_as_they_are() -> None:
    tool = Foreign(lambda arguments: len(arguments["text"]))
    result = await toolset_of(tool, settings=settings()).handle(call("foreign", {"text": TOKEN}))
    assert tool.calls == [{"text": TOKEN}]
    assert result.response.data == {"result": len(TOKEN)}


def test_a_secret_that_is_learnt_is_masked_by_whoever_masks_the_others() -> None:
    known = ("first-secret-of-mine",)
    assert mask("second-secret", known) == "second-secret"

    add_secrets(known, ["second-secret", "short"])
    add_secrets(known, ["third-secret"])

    text = "first-secret-of-mine second-secret third-secret short"
    assert mask(text, known) == f"{MARK} {MARK} {MARK} short"
    assert mask(text, ("first-secret",)) == f"{MARK}-of-mine second-secret third-secret short"
    pieces, piece = MaskedText(known), MaskedBytes(known)
    assert (
        pieces.feed("a third-sec") + pieces.feed("ret") + pieces.flush() == f"a thi{MARK}"
    )  # three characters tell nothing
    assert piece.feed(b"a third-sec") + piece.feed(b"ret") + piece.flush() == f"a {MARK}".encode()


@pytest.mark.parametrize("length", [100, 100_000])
def test_a_text_of_any_length_is_masked_and_one_without_secrets_is_not_copied(length: int) -> None:
    around = "x" * length

    assert mask(f"{around}topsecret{around}", ("topsecret", "another")) == f"{around}[redacted]{around}"
    assert mask(around, ("topsecret", "another")) is around


async def test_a_secret_that_is_learnt_while_a_toolset_is_open_does_not_leave_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redaction, "_learnt", [])

    @tool(modes=[ToolMode.coding])
    async def show() -> dict[str, str]:
        """Show the key."""
        return {"key": "learnt-in-a-session"}

    toolset = toolset_of(show)
    assert "learnt-in-a-session" in (await toolset.call("show")).output
    redaction.learn_secret("learnt-in-a-session")
    result = await toolset.call("show")
    redaction.added_secrets.remove("learnt-in-a-session")
    assert "learnt-in-a-session" not in result.output + result.response.to_json()


def test_a_secret_that_begins_like_another_leaves_no_rest() -> None:
    assert mask("abcdefghij", ("abcdef", "abcdefghij")) == MARK
    assert mask("abcdefghij", ("abcdefghij", "abcdef")) == MARK


def test_masking_copies_and_leaves_everything_else() -> None:
    value = {"a": [1, None, True, "x secret y", ("secret",)], "secret": {"secret": 2.5}}
    assert mask(value, ("secret",)) == {"a": [1, None, True, f"x {MARK} y", [MARK]], MARK: {MARK: 2.5}}
    assert value["a"][3] == "x secret y"  # type: ignore[index]  # a list


# what is stored


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_password",
        "passwd",
        "passphrase",
        "secret",
        "client_secret",
        "token",
        "access_token",
        "api_key",
        "apiKey",
        "api-key",
        "Authorization",
        "credentials",
        "private_key",
        "private-key",
    ],
)
def test_fields_that_are_named_like_secrets_are_masked(key: str) -> None:
    assert recorded_copy({key: "hunter2", "nested": [{key: {"deep": 1}}]}) == {key: MARK, "nested": [{key: MARK}]}


@pytest.mark.parametrize("key", ["path", "content", "pattern", "pass", "keyboard", "api", "private"])
def test_other_fields_are_kept(key: str) -> None:
    assert recorded_copy({key: "x"}) == {key: "x"}


def test_long_texts_are_cut_and_counted() -> None:
    kept = recorded_copy({"content": "x" * 5_000_000})["content"]
    assert kept == "x" * MAX_CHARACTERS + "… (5000000 characters)"
    assert recorded_copy("x" * MAX_CHARACTERS) == "x" * MAX_CHARACTERS


def test_long_lists_and_deep_values_are_cut() -> None:
    assert len(recorded_copy(list(range(10_000)))) == 101
    deep: Any = "bottom"
    for _ in range(50):
        deep = [deep]
    assert len(str(recorded_copy(deep))) < 100


def test_many_keys_are_cut() -> None:
    assert len(str(recorded_copy({f"key{number}": "x" * 1000 for number in range(10_000)}))) < 300_000


def test_a_long_key_is_cut() -> None:
    assert len(str(recorded_copy({"k" * 1_000_000: 1}))) < 10_000
