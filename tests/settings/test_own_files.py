"""Which files belong to the runtime."""

from pathlib import Path

from toolgate.settings import Settings
from toolgate.settings.own_files import own_files


def test_they_are_the_files_that_the_settings_name(tmp_path: Path) -> None:
    settings = Settings.of(
        policy_file=tmp_path / "policy.toml",
        mcp_config=tmp_path / "mcp.json",
        user_directory=tmp_path / "mine",
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
            *(database + suffix for suffix in ("", "-wal", "-shm", "-journal")),
        ]
    )


def test_a_server_and_a_database_in_memory_have_no_file(tmp_path: Path) -> None:
    for url in ("postgresql://localhost/db", "sqlite:///:memory:"):
        assert list(own_files(Settings.of(database={"url": url}), tmp_path)) == []
