"""What a command prints while it runs is passed on without the runtime's own secrets."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from toolgate import CallableToolset, ToolCall, ToolContext, ToolMode, Workspace, builtin_registry
from toolgate.settings import ModelSettings, Settings
from toolgate.text import redaction
from toolgate.text.masking import MaskedBytes
from toolgate.text.redaction import mask

SECRET = "sk-very-secret-key"


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("printf 'key sk-very-'; sleep 0.3; printf 'secret-key.'", "key sk-[redacted]."),
        ("printf 'key sk-very-'; sleep 0.3; printf 'nice.'", "key sk-very-nice."),
    ],
)
async def test_a_secret_that_comes_in_two_pieces_is_not_shown(tmp_path: Path, command: str, printed: str) -> None:
    settings = Settings.defaults().model_copy(update={"model": ModelSettings(api_key=SecretStr(SECRET))})
    context = ToolContext(workspace=Workspace(tmp_path), mode=ToolMode.coding, settings=settings)
    pieces: list[tuple[str, str]] = []
    context.on_output = lambda stream, text: pieces.append((stream, text))
    toolset = CallableToolset(builtin_registry(), context)
    for stream, redirected in (("stdout", command), ("stderr", f"{{ {command}; }} >&2")):
        pieces.clear()
        await toolset.handle(ToolCall(id="1", name="Bash", arguments=json.dumps({"command": redirected})))
        assert {name for name, _ in pieces} == {stream}
        assert "".join(text for _, text in pieces) == printed
    await context.aclose()


async def test_a_secret_that_becomes_known_while_a_command_runs_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_learnt", [])
    redaction.secret_pattern.cache_clear()
    context = ToolContext(workspace=Workspace(tmp_path), mode=ToolMode.coding, settings=Settings.defaults())
    pieces: list[str] = []

    def print_and_learn(_stream: str, text: str) -> None:
        pieces.append(text)
        redaction.learn_secret("entered-while-it-ran")
        (tmp_path / "known").touch()

    context.on_output = print_and_learn
    command = "echo begin; until [ -e known ]; do sleep 0.01; done; echo entered-while-it-ran"
    result = await CallableToolset(builtin_registry(), context).call("Bash", command=command)
    await context.aclose()
    redaction.added_secrets.remove("entered-while-it-ran")

    assert "".join(pieces) == "begin\n[redacted]\n"
    assert "entered-while-it-ran" not in result.response.data["stdout"]


async def test_what_is_held_back_at_the_end_of_a_command_is_not_shown_with_the_next_one(tmp_path: Path) -> None:
    settings = Settings.defaults().model_copy(update={"model": ModelSettings(api_key=SecretStr(SECRET))})
    context = ToolContext(workspace=Workspace(tmp_path), mode=ToolMode.coding, settings=settings)
    pieces: list[str] = []
    context.on_output = lambda _stream, text: pieces.append(text)
    toolset = CallableToolset(builtin_registry(), context)
    for text in ("sk-very-", "secret-key"):
        arguments = json.dumps({"command": f"printf {text}"})
        await toolset.handle(ToolCall(id="1", name="Bash", arguments=arguments))
    assert "".join(pieces) == "sk-secret-key"
    await context.aclose()


@given(
    st.lists(st.sampled_from([b"sk-", b"very", b"sk-very", b"-secret", b"x", b"\xc3", b"\xa4pfel", b"", b"skskk"])),
    st.lists(st.sampled_from(["sk-very-secret", "sk-very", "verysk", "\u00e4pfel", "skksk"]), max_size=4),
)
def test_bytes_in_pieces_are_masked_as_they_would_be_in_one(pieces: list[bytes], secrets: list[str]) -> None:
    stream = MaskedBytes(tuple(secrets))
    shown = b"".join([*map(stream.feed, pieces), stream.flush()])
    whole = b"".join(pieces).decode("utf-8", "surrogateescape")

    assert shown.decode("utf-8", "surrogateescape") == mask(whole, tuple(secrets))
