"""Pictures in a prompt reach the model and stay in the session; what cannot be used is refused."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from acp import text_block
from acp.exceptions import RequestError
from acp.helpers import (
    ContentBlock,
    audio_block,
    embedded_blob_resource,
    embedded_text_resource,
    image_block,
    resource_block,
)

from tests.adapters.acp.kit import Editor, connected, opener
from tests.support.pictures import png
from toolgate.adapters.acp.content import prompt_pictures
from toolgate.protocol.content import ImageContent
from toolgate.testing import ScriptedModel

RED, WIDE = b64encode(png()).decode(), b64encode(png(5, 1)).decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty project."""
    project = tmp_path / "project"
    project.mkdir()
    return project


def seeing(*script: Any) -> ScriptedModel:
    """A model that takes pictures."""
    return ScriptedModel(list(script), vision=True)


def shown(model: ScriptedModel) -> list[tuple[str, int, int]]:
    """The pictures of the last message that the model was sent."""
    images: tuple[ImageContent, ...] = model.requests[-1].messages[-1].get("images", ())
    return [(image.name, image.width, image.height) for image in images]


async def test_pictures_reach_the_model_and_are_shown_when_the_session_is_continued(root: Path) -> None:
    model = seeing("Red.")
    file = embedded_blob_resource(f"file://{root}/wide.png", WIDE, mime_type="image/png")
    prompt: list[ContentBlock] = [text_block("Look"), image_block(RED, "image/png"), resource_block(file)]
    async with connected(Editor(), opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=prompt)
    editor = Editor()
    async with connected(editor, opener(lambda: seeing("Still."), root.parent)) as agent:
        await agent.load_session(cwd=str(root), session_id=session.session_id)

    assert model.requests[-1].messages[-1]["content"] == "Look"
    assert shown(model) == [("The picture", 3, 2), ("wide.png", 5, 1)]
    said = [update.content for update in editor.calls("user_message_chunk")]
    assert [(part.type, getattr(part, "data", "")) for part in said] == [("text", ""), ("image", RED), ("image", WIDE)]


async def test_a_picture_alone_is_a_prompt_and_a_model_without_vision_reads_its_name(root: Path) -> None:
    model = ScriptedModel(["I see nothing."])
    async with connected(Editor(), opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(
            session_id=session.session_id, prompt=[image_block(RED, "image/png", uri="file:///x/red.png")]
        )

    assert "red.png (3 × 2)" in model.requests[-1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (audio_block(RED, "audio/wav"), "takes no sound"),
        (image_block("no base64", "image/png"), "not base64"),
        (image_block("né", "image/png"), "not base64"),
        (image_block(b64encode(b"<svg/>").decode(), "image/svg+xml"), "is not a picture that models take"),
        (image_block(b64encode(png(claimed=(90_000, 90_000))).decode(), "image/png"), "pixels"),
        (image_block(b64encode(png()[:40]).decode(), "image/png"), "is broken"),
        (
            resource_block(embedded_blob_resource("file:///x/a.pdf", RED, mime_type="application/pdf")),
            "neither text nor",
        ),
    ],
)
async def test_what_cannot_be_used_refuses_the_prompt_and_nothing_is_stored(
    root: Path, block: ContentBlock, said: str
) -> None:
    model = seeing("Fine.")
    async with connected(Editor(), opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        with pytest.raises(RequestError, match=said):
            await agent.prompt(session_id=session.session_id, prompt=[text_block("Look"), block])
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go on")])

    assert [message["content"] for message in model.requests[-1].messages if message["role"] == "user"] == ["Go on"]


async def test_too_many_pictures_are_refused(root: Path) -> None:
    async with connected(Editor(), opener(lambda: seeing(), root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        with pytest.raises(RequestError, match="11 pictures: a message takes at most 10"):
            await agent.prompt(session_id=session.session_id, prompt=[image_block(RED, "image/png")] * 11)


async def test_the_agent_says_that_it_takes_pictures_and_no_sound(root: Path) -> None:
    async with connected(Editor(), opener(lambda: seeing(), root.parent)) as agent:
        answer = await agent.initialize(protocol_version=1)
    assert answer.agent_capabilities is not None
    takes = answer.agent_capabilities.prompt_capabilities
    assert takes is not None
    assert (takes.image, takes.audio, takes.embedded_context) == (True, False, True)


def test_text_of_an_embedded_file_is_no_picture() -> None:
    assert prompt_pictures([resource_block(embedded_text_resource("file:///a.svg", "<svg/>"))]) == []
