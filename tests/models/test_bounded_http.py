"""Answers over HTTP: headers, errors and compression are bounded."""

import gzip
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.models.conftest import Provider
from tests.models.kit import HEAD, SDK_VARIABLES, WAYS, Setting


@pytest.fixture(params=WAYS)
async def setting(
    request: pytest.FixtureRequest, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Setting]:
    name, _, way = request.param.partition(", ")
    if way:
        monkeypatch.setenv(SDK_VARIABLES[name], "x-test: 1")
    made = Setting(name, provider)
    yield made
    await made.model.aclose()


async def test_headers_that_drip_have_a_deadline(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 100 Continue\r\n\r\n"
            yield b""

    setting.provider.answers.append(parts())
    assert (await setting.failure(timeout=0.2)).code == "MODEL_UNAVAILABLE"


async def test_headers_without_an_end_are_refused(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"x-more: " + b"x" * 4_000 + b"\r\n"

    setting.provider.answers.append(parts())
    assert (await setting.failure()).code == "MODEL_UNAVAILABLE"


async def test_an_error_with_an_endless_body_is_cut(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
        while True:
            yield b"sorry " * 10_000

    setting.provider.answers.append(parts())
    error = await setting.failure()
    assert (error.code, error.retryable, len(error.message) < 1_000) == ("MODEL_UNAVAILABLE", True, True)


async def test_a_compressed_answer_was_not_asked_for_and_is_not_unpacked(setting: Setting) -> None:
    bomb = gzip.compress(setting.events.text("x" * 1_000_000) * 50)
    head = HEAD.replace(b"connection", b"content-encoding: gzip\r\nconnection")
    setting.provider.answers.append([head + bomb])
    assert (await setting.failure()).code == "MODEL_PROTOCOL"
    assert setting.provider.headers[-1]["accept-encoding"] == "identity"
