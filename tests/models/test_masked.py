"""No secret of the runtime's own leaves a model, in however many pieces it comes."""

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolgate.models.base import ModelRequest, ModelStop
from toolgate.models.masked import MaskedModel
from toolgate.protocol.calls import ToolCall
from toolgate.testing import ScriptedModel
from toolgate.text import redaction
from toolgate.text.masking import MaskedText

SECRETS = ("hunter2-hunter2-token", "sk-0123456789")


def pieces(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(text) + 1), min(len(text), chance.randint(0, 12))))
    return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def shown(parts: list[str]) -> str:
    masking = MaskedText(SECRETS)
    return "".join([masking.feed(part) for part in parts] + [masking.flush()])


def test_a_secret_is_masked_however_it_is_cut() -> None:
    text = f"Here: {SECRETS[0]}, hunter2-hunter2-hunter2-token and {SECRETS[1]}{SECRETS[1]} sk-01234 hunt"
    for seed in range(2000):
        got = shown(pieces(text, seed))
        assert not any(secret in got for secret in SECRETS)
        assert got.startswith("Here: ")
        assert got.endswith("sk-01234 hunt")
        assert got.count("[redacted]") == 4


def test_everything_else_is_passed_on_exactly() -> None:
    text = "The token is not hunter2, nor is sk-012345678 the key. hunter2-hunter2-toke sk sk-"
    for seed in range(2000):
        assert shown(pieces(text, seed)) == text


def test_ordinary_text_is_not_delayed() -> None:
    masking = MaskedText(SECRETS)
    for piece in ("What is h", "hun", "g", " sk-", "x"):
        assert masking.feed(piece) == piece


async def test_arguments_of_calls_are_masked_and_the_rest_stays() -> None:
    call = ToolCall(id="c", name="x", arguments=f'{{"a": "{SECRETS[1]}"}}')
    model = MaskedModel(ScriptedModel([["a hunter2-hunter2", call]]), SECRETS)
    items = [item async for item in model.stream(ModelRequest([]))]
    assert "".join(item for item in items if isinstance(item, str)) == "a hunter2-hunter2"
    calls = [item for item in items if isinstance(item, ToolCall)]
    assert [found.arguments for found in calls] == ['{"a": "[redacted]"}']


async def test_the_name_of_a_call_is_masked() -> None:
    model = MaskedModel(ScriptedModel([[ToolCall(id="c", name=f"x{SECRETS[1]}", arguments="{}")]]), SECRETS)

    assert [item async for item in model.stream(ModelRequest([]))] == [
        ToolCall(id="c", name="x[redacted]", arguments="{}")
    ]


async def test_what_is_no_text_is_passed_on_and_the_stream_is_closed() -> None:
    closed = []

    class Stopping:
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            try:
                yield "a"
                yield ModelStop(reason="length")
                yield "b"
            finally:
                closed.append(True)

    stream = MaskedModel(Stopping(), SECRETS).stream(ModelRequest([]))
    assert [await anext(stream), await anext(stream)] == ["a", ModelStop(reason="length")]
    await stream.aclose()  # type: ignore[attr-defined]
    assert closed == [True]


@pytest.mark.parametrize("secrets", [(), SECRETS])
async def test_a_secret_that_becomes_known_during_a_response_is_masked_from_then_on(
    monkeypatch: pytest.MonkeyPatch, secrets: tuple[str, ...]
) -> None:
    monkeypatch.setattr(redaction, "_learnt", [])
    redaction.secret_pattern.cache_clear()
    late = "key-entered-during-a-turn"

    class Telling:
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            yield "no secret yet; "
            redaction.learn_secret(late)
            yield f"now {late[:9]}"
            yield f"{late[9:]}!"
            yield ToolCall(id="c", name="x", arguments=f'{{"a": "{late}"}}')

    items = [item async for item in MaskedModel(Telling(), secrets).stream(ModelRequest([]))]
    redaction.added_secrets.remove(late)

    assert "".join(item for item in items if isinstance(item, str)) == "no secret yet; now key[redacted]!"
    assert items[-1] == ToolCall(id="c", name="x", arguments='{"a": "[redacted]"}')
