"""TLS, and addresses that cannot be served."""

import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from tests.gateway.kit import (
    BEARER,
    TOKEN,
    Client,
    serving,
    web_client,
)


async def test_it_speaks_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    _make_certificate(key, certificate)
    words = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    with serving(tmp_path, *words, TOOLGATE_GATEWAY_TOKEN=TOKEN) as (_, port, address):
        assert address.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        trusting.check_hostname = False
        options: dict[str, Any] = {"additional_headers": BEARER, "ssl": trusting, "proxy": None}
        async with connect(f"wss://127.0.0.1:{port}/ws", **options) as socket:
            assert (await Client(socket).data("session.create"))["mode"] == "chat_safe"
        code = address.partition("#")[2]
        async with web_client(verify=trusting) as web:
            own = {"Origin": f"https://127.0.0.1:{port}"}
            answer = await web.post(f"https://127.0.0.1:{port}/auth", json={"code": code}, headers=own)
            assert answer.json()["key"]
            evil = {"Origin": f"http://127.0.0.1:{port}"}
            assert (await web.get(f"https://127.0.0.1:{port}/auth", headers=evil)).status_code == 403


def _make_certificate(key: Path, certificate: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


def test_what_cannot_be_served_is_said_in_one_line(tmp_path: Path) -> None:
    for words, said in (
        (["--port", "70000"], "65535"),
        (["--tls-cert", "x.pem"], "TLS_KEY"),
        (["--model", "openai:x"], "OPENAI_API_KEY"),
        (["--nonsense"], "--nonsense"),
    ):
        environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/nonexistent", "TOOLGATE_WORKSPACE_ROOT": str(tmp_path)}
        command = [sys.executable, "-m", "toolgate", "serve", *words]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
