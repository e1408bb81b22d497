"""`toolgate link`, and staying signed in when the gateway restarts."""

import http.client
import json
import os
import subprocess
from pathlib import Path

from tests.cli.terminal import PROGRAM
from tests.gateway.kit import serving


def asked(port: int, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def sign_in(port: int, code: str) -> tuple[int, str]:
    origin = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
    return asked(port, "POST", "/auth", json.dumps({"code": code}), **origin)


def who(port: int, key: str) -> int:
    return asked(port, "GET", "/auth", Authorization=f"Bearer {key}")[0]


def link(home: Path, *words: str, language: str = "en") -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": "/nonexistent"}
    environment["TOOLGATE_LANGUAGE"] = language
    return subprocess.run(
        [PROGRAM, "link", *words], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_second_browser_gets_an_address_that_works_once(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, port, first):
        done = link(tmp_path)
        assert done.returncode == 0, done.stderr
        address = done.stdout.strip()
        assert address.startswith(f"http://127.0.0.1:{port}/#")
        assert address != first
        code = address.partition("#")[2]
        assert sign_in(port, code)[0] == 200
        assert sign_in(port, code)[0] == 401
        key = json.loads(sign_in(port, first.partition("#")[2])[1])["key"]
        refused = asked(port, "POST", "/auth/link", Authorization=f"Bearer {key}")
        assert refused[0] == 401, "a page's key makes no other key"


def test_a_restart_keeps_people_signed_in(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, port, address):
        key = json.loads(sign_in(port, address.partition("#")[2])[1])["key"]
        assert who(port, key) == 200
    with serving(tmp_path, name="again") as (_, port, _):
        assert who(port, key) == 200
    token = tmp_path / ".local" / "share" / "toolgate" / "gateway-token"
    assert token.stat().st_mode & 0o077 == 0
    token.unlink()
    with serving(tmp_path, name="without") as (_, port, _):
        assert who(port, key) == 401


def test_a_token_that_tools_could_read_is_not_kept(tmp_path: Path) -> None:
    with serving(tmp_path, "--root", str(tmp_path)):
        assert not (tmp_path / ".local" / "share" / "toolgate" / "gateway-token").exists()


def test_without_a_gateway_one_is_told_what_to_do(tmp_path: Path) -> None:
    done = link(tmp_path)
    assert done.returncode == 2
    assert "toolgate serve" in done.stderr
    (tmp_path / ".local" / "share" / "toolgate").mkdir(parents=True)
    token = tmp_path / ".local" / "share" / "toolgate" / "gateway-token"
    token.write_text("some-token-0123456789\n")
    token.chmod(0o600)
    done = link(tmp_path, "--port", "1")
    assert done.returncode == 2
    assert "no gateway answers there" in done.stderr
    assert "那里没有网关应答" in link(tmp_path, "--port", "1", language="zh-CN").stderr
