"""Pictures in a conversation: what a model gets, what is stored, and what is read later."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import Stage, call
from tests.support.pictures import png
from toolgate import Workspace
from toolgate.agent.events import ToolResultInfo
from toolgate.errors import MessageTooLarge, ModelError
from toolgate.protocol.content import ImageContent
from toolgate.testing import ScriptedModel

READ = [call("read_file", {"path": "a.png"})]


async def stage(root: Path, turns: Sequence[Any], *, vision: bool = True, **options: Any) -> Stage:
    (root / "a.png").write_bytes(png(30, 20))
    return await Stage.set(ScriptedModel(turns, vision=vision), workspace=Workspace(root), **options)


def answers(request: Any) -> list[dict[str, Any]]:
    return [message for message in request.messages if message["role"] == "tool"]


async def test_a_model_that_sees_gets_the_picture_with_the_answer(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, "A red box."])
    events = await play.say()
    (answer,) = answers(play.model.requests[1])
    assert answer["images"] == (
        ImageContent(media_type="image/png", width=30, height=20, name="a.png", data=png(30, 20)),
    )
    assert answer["content"].startswith("'a.png' is a picture: PNG, 30 × 20 pixels")
    (shown,) = [event for event in events if isinstance(event, ToolResultInfo)]
    assert shown.result.content[0].data == png(30, 20)
    await play.close()


async def test_a_model_that_takes_text_only_is_told_so(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, "I cannot see it."], vision=False)
    await play.say()
    (answer,) = answers(play.model.requests[1])
    assert "images" not in answer
    assert answer["content"].endswith("[Not shown: a.png (30 × 20). scripted takes no pictures, only text]")
    await play.close()


async def test_the_log_names_the_picture_and_the_store_has_its_bytes(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, "A red box."])
    await play.say()
    log = json.dumps([event.payload for event in await play.sessions.events(play.id)])
    (message,) = [message for message in await play.sessions.messages(play.id) if message.role == "tool"]
    (image,) = message.images
    assert log.count(image.sha256) == 2  # in the message and in the end of the call
    assert "base64" not in log
    assert "iVBOR" not in log
    assert await play.sessions.picture(play.id, image.sha256) == ("image/png", png(30, 20))
    assert await play.sessions.picture(play.id, "0" * 64) is None
    await play.close()


async def test_a_later_turn_reads_the_picture_from_the_store(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, "A red box.", "Still red."])
    await play.say()
    (tmp_path / "a.png").unlink()
    await play.say("And now?")
    (answer,) = answers(play.model.requests[2])
    assert answer["images"][0].data == png(30, 20)
    await play.close()


async def test_a_picture_that_is_gone_is_named(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, "A red box.", "Gone."])
    await play.say()
    await play.sessions._db.write(lambda tx: tx.run("DELETE FROM pictures"))
    await play.say("And now?")
    (answer,) = answers(play.model.requests[2])
    assert answer["content"].endswith("[No longer stored: a.png (30 × 20)]")
    assert "images" not in answer
    await play.close()


async def test_a_server_that_refuses_pictures_is_asked_again_without_them(tmp_path: Path) -> None:
    play = await stage(tmp_path, [READ, [ModelError("MODEL_BAD_REQUEST", "no images")], "I was told.", "Fine."])
    await play.say()
    (answer,) = answers(play.model.requests[2])
    assert "images" not in answer
    assert answer["content"].endswith("[Not shown: a.png (30 × 20). The model's server refused pictures]")
    await play.close()


async def test_a_request_that_is_refused_for_another_reason_fails_once(tmp_path: Path) -> None:
    play = await stage(tmp_path, [[ModelError("MODEL_BAD_REQUEST", "no")], "Never said."])
    await play.say()
    assert len(play.model.requests) == 1
    await play.close()


async def test_the_same_picture_twice_is_stored_once(tmp_path: Path) -> None:
    twice = [call("read_file", {"path": "a.png"}), call("read_file", {"path": "a.png"}, "c2")]
    play = await stage(tmp_path, [twice, "Two."])
    await play.say()
    rows = await play.sessions._db.read(lambda tx: tx.rows("SELECT COUNT(*) FROM pictures"))
    assert rows == [(1,)]
    assert [len(answer["images"]) for answer in answers(play.model.requests[1])] == [1, 1]
    await play.close()


@pytest.mark.parametrize("command", ["read a.png", "bash read a.png"])
async def test_the_word_in_bash_shows_the_picture_too(tmp_path: Path, command: str) -> None:
    play = await stage(tmp_path, [[call("Bash", {"command": command})], "Seen."])
    await play.say()
    (answer,) = answers(play.model.requests[1])
    assert answer["images"][0].data == png(30, 20)
    await play.close()


SHOT = ImageContent(media_type="image/png", width=30, height=20, name="shot.png", data=png(30, 20))


async def show(play: Stage, content: str = "What is this?", *images: ImageContent) -> list[Any]:
    return [event async for event in play.loop.handle_message(play.id, content, images=images or [SHOT])]


async def test_a_picture_of_the_person_reaches_the_model_in_this_turn_and_the_next(tmp_path: Path) -> None:
    play = await stage(tmp_path, ["A red box.", "Still red."])
    await show(play)
    await play.say("And now?")
    for request in play.model.requests:
        said = next(message for message in request.messages if message["role"] == "user")
        assert (said["content"], said["images"]) == ("What is this?", (SHOT,))
    await play.close()


async def test_a_model_that_takes_text_only_reads_the_name_of_the_persons_picture(tmp_path: Path) -> None:
    play = await stage(tmp_path, ["I cannot see it."], vision=False)
    await show(play)
    said = play.model.requests[0].messages[-1]
    assert "images" not in said
    assert said["content"] == "What is this?\n[Not shown: shot.png (30 × 20). scripted takes no pictures, only text]"
    assert (await play.sessions.messages(play.id))[0].content == "What is this?"
    await play.close()


async def test_pictures_that_do_not_fit_are_refused_before_anything_is_stored(tmp_path: Path) -> None:
    play = await stage(tmp_path, [], agent={"context_tokens": 8000})
    wide = ImageContent(media_type="image/png", width=1500, height=1500, name="wide.png", data=png())
    with pytest.raises(MessageTooLarge, match=r"its pictures have about 9,000, and about .* fit\. Nothing was stored"):
        await show(play, "Look", wide, wide, wide)
    assert await play.sessions.messages(play.id) == []
    await play.close()


async def test_a_summary_says_which_pictures_the_person_had_shown(tmp_path: Path) -> None:
    play = await stage(tmp_path, ["A red box.", "The user showed a red box.", "Fine."])
    await show(play)
    assert [event async for event in play.loop.compact(play.id)]
    record = play.model.requests[1].messages[-1]["content"]
    assert "User:\nWhat is this?\n[Shown here: shot.png (30 × 20)]" in record
    await play.say("Go on")
    first = play.model.requests[2].messages[1]
    assert first["content"].endswith("What is this?\n[Shown here: shot.png (30 × 20)]")
    await play.close()
