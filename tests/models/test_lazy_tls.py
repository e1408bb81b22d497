"""Certificates are loaded late, and still: an encrypted server that nobody vouches for is not spoken to."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.models.conftest import Provider
from tests.models.test_openai import DONE, HELLO, answer, chunk
from tests.support.servers import listening
from toolgate.errors import ModelError
from toolgate.models import ModelStop, OpenAIModel
from toolgate.models.lazy_tls import LazyTlsContext, lazy_tls_context

LOCALHOST = Path(__file__).parent.parent / "data" / "localhost.pem"
"""A certificate for localhost that it has signed itself, with its key."""


@pytest.fixture(params=["", "org"], ids=["direct", "SDK"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who makes the connection: with an organisation it is the SDK."""
    monkeypatch.setenv("OPENAI_ORG_ID", request.param)


@pytest.fixture
async def encrypted(provider: Provider) -> AsyncIterator[str]:
    """An encrypted server that answers as the provider is told."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(LOCALHOST)
    async with listening(provider.serve, context) as port:
        yield f"https://localhost:{port}"


@pytest.fixture
async def redirecting(encrypted: str) -> AsyncIterator[str]:
    """A server in the clear that sends everybody to the encrypted one."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        place = f"{encrypted}/chat/completions"
        writer.write(f"HTTP/1.1 307 X\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}"


async def test_a_redirect_to_a_server_that_nobody_vouches_for_is_not_followed(
    redirecting: str, provider: Provider
) -> None:
    model = OpenAIModel("m", api_key="k", base_url=redirecting, timeout=60)
    with pytest.raises(ModelError) as refused:
        await answer(model)
    await model.aclose()

    assert refused.value.code == "MODEL_UNAVAILABLE"
    assert provider.requests == []


async def test_a_redirect_to_a_server_that_is_vouched_for_is_followed(
    redirecting: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(LOCALHOST))
    provider.streams(chunk("stop", content="hi"), DONE)
    model = OpenAIModel("m", api_key="k", base_url=redirecting, timeout=60)
    said = await answer(model)
    await model.aclose()

    assert said == ["hi", ModelStop(reason="stop")]


async def test_an_encrypted_address_is_verified_from_the_beginning(encrypted: str, provider: Provider) -> None:
    model = OpenAIModel("m", api_key="k", base_url=encrypted, timeout=60)
    with pytest.raises(ModelError):
        await answer(model, HELLO)
    await model.aclose()

    assert provider.requests == []


def test_no_certificate_is_loaded_before_it_is_needed() -> None:
    context = lazy_tls_context()

    assert isinstance(context, LazyTlsContext)
    assert context.get_ca_certs() == []
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
    assert context._context is not None
    assert context._context.verify_mode is ssl.CERT_REQUIRED
