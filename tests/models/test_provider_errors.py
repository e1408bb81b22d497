"""Statuses and bodies of providers, as errors for people."""

import time
from email.utils import formatdate

import pytest

from tests.models.server import CLOSE, as_json, html, model_server
from toolgate.errors import ModelError
from toolgate.models import ModelRequest, OpenAIModel
from toolgate.models.errors import from_status

HELLO = ModelRequest([{"role": "user", "content": "Hello"}])


async def failure(url: str, model: str = "m1") -> ModelError:
    client = OpenAIModel(model, api_key="k", base_url=url, timeout=60)
    with pytest.raises(ModelError) as caught:
        [item async for item in client.stream(HELLO)]
    await client.aclose()
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "MODEL_QUOTA", False),
        (400, {"message": "Your credit balance is too low to access the API."}, "MODEL_QUOTA", False),
        (429, {"message": "Rate limit reached for requests"}, "MODEL_RATE_LIMIT", True),
        (401, {"message": "Incorrect API key"}, "MODEL_AUTH", False),
        (403, {"message": "Not allowed"}, "MODEL_AUTH", False),
        (404, {"message": "The model 'm1' does not exist"}, "MODEL_NOT_FOUND", False),
        (529, {"message": "Overloaded"}, "MODEL_UNAVAILABLE", True),
        (500, {"message": "the request exceeds the available context size", "n_ctx": 256}, "MODEL_CONTEXT", False),
    ],
)
async def test_what_may_pass_and_what_may_not(status: int, body: dict[str, object], code: str, retryable: bool) -> None:
    async with model_server() as server:
        server.on("/v1/chat/completions", as_json({"error": body}, status))
        error = await failure(f"{server.url}/v1")
    assert (error.code, error.retryable) == (code, retryable)
    assert "{" not in error.message  # a person reads a sentence, not JSON


async def test_the_limit_of_an_overflow_is_kept() -> None:
    async with model_server() as server:
        said = {"message": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"}
        server.on("/v1/chat/completions", as_json({"error": said}, 400))
        error = await failure(f"{server.url}/v1")
    assert (error.code, error.limit, error.used) == ("MODEL_CONTEXT", 4096, 5000)


@pytest.mark.parametrize("status", [200, 404, 405])
async def test_a_web_page_is_named_with_the_address_and_the_likely_mistake(status: int) -> None:
    async with model_server() as server:
        server.on("/chat/completions", html(status))
        error = await failure(server.url)
    assert (error.code, error.retryable) == ("MODEL_ADDRESS", False)
    assert f"{server.url} answers with a web page, not with JSON" in error.cause
    assert f"try {server.url}/v1" in error.advice


async def test_the_error_page_of_a_proxy_may_pass() -> None:
    async with model_server() as server:
        server.on("/v1/chat/completions", html(502))
        error = await failure(f"{server.url}/v1")
    assert (error.code, error.retryable, "<" in error.message) == ("MODEL_UNAVAILABLE", True, False)


async def test_a_server_that_closes_is_named_with_its_address() -> None:
    async with model_server() as server:
        server.on("/v1/chat/completions", CLOSE)
        error = await failure(f"{server.url}/v1")
    assert (error.code, error.retryable) == ("MODEL_UNAVAILABLE", True)
    assert f"{server.url}/v1" in error.cause


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert from_status(429, "slow", headers, key_name="K").retry_after == seconds


def test_a_date_to_wait_for() -> None:
    after = from_status(429, "slow", {"retry-after": formatdate(time.time() + 30)}, key_name="K").retry_after
    assert after is not None
    assert 20 < after <= 31
