"""Which files belong to the runtime."""

import os
from pathlib import Path

import pytest

from toolgate.settings import Settings
from toolgate.settings.own_files import own_files, unread_files
from toolgate.userfiles import ADDRESS_FILE, TOKEN_FILE, users_data


def test_they_are_the_files_that_the_settings_name(tmp_path: Path) -> None:
    settings = Settings.of(
        policy_file=tmp_path / "policy.toml",
        mcp_config=tmp_path / "mcp.json",
        user_directory=tmp_path / "mine",
        data_directory=tmp_path / "kept",
        gateway={"token_file": tmp_path / "tokens", "tls_cert": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"},
        database={"url": "sqlite:///data/agent.db"},
    )

    database = f"{tmp_path}/data/agent.db"
    assert sorted(own_files(settings, tmp_path)) == sorted(
        [
            *(
                f"{tmp_path}/{name}"
                for name in ("policy.toml", "mcp.json", "tokens", "cert.pem", "key.pem", "mine", "mine/hooks.json")
            ),
            f"{tmp_path}/mine/mcp-approvals.json",
            *(f"{tmp_path}/kept{name}" for name in ("", "/gateway-token", "/gateway-address")),
            *(database + suffix for suffix in ("", "-wal", "-shm", "-journal")),
        ]
    )


def test_a_server_and_a_database_in_memory_have_no_file(tmp_path: Path) -> None:
    for url in ("postgresql://localhost/db", "sqlite:///:memory:"):
        assert list(own_files(Settings.of(database={"url": url}), tmp_path)) == []


def test_tools_read_only_the_users_own_texts_of_them(tmp_path: Path) -> None:
    settings = Settings.of(user_directory=tmp_path / "mine", data_directory=tmp_path / "kept")

    assert set(own_files(settings, tmp_path)) - set(unread_files(settings, tmp_path)) == {f"{tmp_path}/mine"}


def test_the_token_and_the_address_that_the_gateway_writes_are_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    found = set(own_files(Settings.load(), tmp_path))
    assert {str(users_data(os.environ, name)) for name in (TOKEN_FILE, ADDRESS_FILE)} <= found
