"""Requests that are too long, in the words of those who refuse them."""

import pytest

from toolgate.models.overflow import Overflow, find_overflow


@pytest.mark.parametrize(
    ("said", "limit", "used"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            8192,
            9001,
        ),
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300001 tokens.",
            272000,
            300001,
        ),
        ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease", 200000, 190000),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 5000),
        (
            "Error code: 400 - {'error': {'code': 400, 'message': 'the request exceeds the available context size. try "
            "increasing the context size or enable context shift', 'n_prompt_tokens': 14429, 'n_ctx': 8192}}",
            8192,
            14429,
        ),
        ("Requested tokens (2285) exceed context window of 2048", 2048, 2285),
        (
            "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the "
            "messages, 10000 in the completion). Please reduce the length of the messages or completion.",
            16384,
            112946,
        ),
        ("The decoder prompt (length 17772) is longer than the maximum model length of 16384.", 16384, 17772),
        (
            "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure",
            4096,
            25938,
        ),
        ("prompt too long; exceeded max context length by 123 tokens", None, None),
        ("the input length exceeds the context length", None, None),
        ("However, the model is loaded with context length of only 4096 tokens, which is not enough", 4096, None),
    ],
)
def test_refusals_and_their_numbers(said: str, limit: int | None, used: int | None) -> None:
    assert find_overflow(said) == Overflow(limit, used)


@pytest.mark.parametrize("said", ["", "invalid api key", "model 'x' not found", "rate limit: 30000 tokens per minute"])
def test_other_refusals_are_none(said: str) -> None:
    assert find_overflow(said) is None
