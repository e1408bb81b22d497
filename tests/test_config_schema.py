"""No configuration starts sessions in anything but chat_safe while coding is not enabled."""

import pytest
from pydantic import ValidationError

from toolgate.settings import SessionSettings, Settings


def test_session_default_mode_default_value() -> None:
    assert SessionSettings().default_mode == "chat_safe"


def test_session_default_mode_chat_safe_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_DEFAULT_MODE", "chat_safe")

    assert SessionSettings().default_mode == "chat_safe"


@pytest.mark.parametrize(
    "value", ["coding", "", "Chat_Safe", "CHAT_SAFE", " chat_safe", "chat_safe ", "chat-safe", "admin", "None", "0"]
)
def test_session_default_mode_non_chat_safe_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SESSION_DEFAULT_MODE", value)

    with pytest.raises(ValidationError, match=r"chat_safe.*ADR 0025"):
        SessionSettings()


@pytest.mark.parametrize("value", ["coding", "", "Chat_Safe"])
def test_m08_the_root_settings_refuse_to_start_too(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SESSION_DEFAULT_MODE", value)

    with pytest.raises(ValidationError, match="ADR 0025"):
        Settings()


@pytest.mark.parametrize("value", ["coding", None, 0, b"chat_safe", ["chat_safe"]])
def test_session_default_mode_as_an_argument_is_judged_like_the_environment(value: object) -> None:
    with pytest.raises(ValidationError, match="ADR 0025"):
        SessionSettings.model_validate({"default_mode": value})


def test_root_settings_includes_session() -> None:
    assert Settings().session == SessionSettings()
