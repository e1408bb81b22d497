"""Files in older encodings: read with the guess named, edited and written back byte for byte."""

from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox
from toolgate import ErrorCode, Status
from toolgate.workspace.legacy_encoding import guess_encoding

SAMPLES = {
    "cp1251": "Привет, мир. Это простой тест.\nВторая строка текста.\n",
    "koi8-r": "Привет, мир. Это простой тест.\nВторая строка текста.\n",
    "latin-1": "Déjà vu, café, naïve.\nDeuxième été à la plage.\n",
    "cp1252": "“Quoted” – dash…\nSecond ‘line’ – here.\n",
    "gb18030": "你好，世界。这是一个测试文件。\n第二行文字，用来检查编码。\n",
    "shift_jis": "こんにちは世界。これはテストです。\n表示と機能のファイル。\n",
    "euc_jp": "こんにちは世界。これはテストです。\n表示と機能のファイル。\n",
    "euc_kr": "안녕하세요 세계. 이것은 시험입니다.\n두 번째 줄입니다.\n",
    "big5": "你好，這是一個測試檔案。\n第二行文字，謝謝。\n",
}


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path)


def put(tools: Toolbox, codec: str, newline: str = "\n") -> bytes:
    data = SAMPLES[codec].replace("\n", newline).encode(codec)
    (tools.root / "f.txt").write_bytes(data)
    return data


@pytest.mark.parametrize("codec", SAMPLES)
async def test_the_text_is_read_and_the_guess_is_named_with_its_confidence(tools: Toolbox, codec: str) -> None:
    put(tools, codec)
    response = await tools("read_file", path="f.txt")
    assert response.status is Status.success
    assert SAMPLES[codec].split("\n")[1] in response.data["content"]
    assert "It is not UTF-8 and was read as " in response.text
    assert "% sure)" in response.text
    assert response.context["encoding"] != "utf-8"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("codec", SAMPLES)
async def test_an_edit_changes_its_own_bytes_only(tools: Toolbox, codec: str, newline: str) -> None:
    before = put(tools, codec, newline)
    first, second, _ = SAMPLES[codec].split("\n")
    response = await tools("edit_file", path="f.txt", old_string=second, new_string=f"{first}\n{second} ok")
    assert response.error is None
    wanted = before.replace(second.encode(codec), f"{first}{newline}{second} ok".encode(codec))
    assert (tools.root / "f.txt").read_bytes() == wanted


@pytest.mark.parametrize("codec", SAMPLES)
async def test_a_file_that_was_read_is_overwritten_in_its_encoding(tools: Toolbox, codec: str) -> None:
    put(tools, codec, "\r\n")
    await tools("read_file", path="f.txt")
    response = await tools("write_file", path="f.txt", content=f"{SAMPLES[codec]}end\n")
    assert response.error is None
    assert (tools.root / "f.txt").read_bytes() == f"{SAMPLES[codec]}end\n".replace("\n", "\r\n").encode(codec)


@pytest.mark.parametrize("codec", SAMPLES)
async def test_a_patch_keeps_the_encoding(tools: Toolbox, codec: str) -> None:
    put(tools, codec)
    first, second, _ = SAMPLES[codec].split("\n")
    lines = ["*** Begin Patch", "*** Update File: f.txt", f" {first}", f"-{second}", f"+{first}", "*** End Patch"]
    response = await tools("apply_patch", patch="\n".join(lines))
    assert response.error is None
    assert (tools.root / "f.txt").read_bytes() == f"{first}\n{first}\n".encode(codec)


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
async def test_a_character_that_the_encoding_lacks_is_refused_and_nothing_changes(tools: Toolbox, tool: str) -> None:
    before = put(tools, "cp1251")
    new = {"old_string": "тест", "new_string": "日"} if tool == "edit_file" else {"content": "日"}
    response = await tools(tool, path="f.txt", **new)
    assert response.error is not None
    assert response.error.code is ErrorCode.INVALID_PARAM
    assert response.error.message == "'f.txt' is windows-1251, which has no character '日'. Nothing was changed."
    assert "UTF-8" not in response.text
    assert (tools.root / "f.txt").read_bytes() == before


async def test_half_of_a_character_is_no_match(tools: Toolbox) -> None:
    before = put(tools, "shift_jis")
    assert b"\\" in before  # the second byte of 表
    missed = await tools("edit_file", path="f.txt", old_string="\\", new_string="/")
    assert missed.error is not None
    assert "was not found" in missed.error.message
    assert (tools.root / "f.txt").read_bytes() == before
    (tools.root / "f.txt").write_bytes(before + b"a\\b\n")
    found = await tools("edit_file", path="f.txt", old_string="\\", new_string="/")
    assert found.error is None
    assert (tools.root / "f.txt").read_bytes() == before + b"a/b\n"


async def test_text_that_is_not_in_the_encoding_is_not_found(tools: Toolbox) -> None:
    before = put(tools, "latin-1")
    response = await tools("edit_file", path="f.txt", old_string="日本", new_string="x")
    assert response.error is not None
    assert "was not found" in response.error.message
    assert (tools.root / "f.txt").read_bytes() == before


async def test_mixed_line_ends_change_only_where_the_text_changes(tools: Toolbox) -> None:
    (tools.root / "f.txt").write_bytes(b"one\r\ntwo\nthree\r\nfour\n")
    await tools("read_file", path="f.txt")
    await tools("write_file", path="f.txt", content="one\ntwo\n3\nfour\nfive\n")
    assert (tools.root / "f.txt").read_bytes() == b"one\r\ntwo\n3\r\nfour\nfive\n"


async def test_random_bytes_are_still_binary(tools: Toolbox) -> None:
    (tools.root / "f.txt").write_bytes(bytes(range(1, 256)) * 4)
    response = await tools("read_file", path="f.txt")
    assert response.error is not None
    assert response.error.code is ErrorCode.BINARY_FILE


@pytest.mark.parametrize("data", [b"\xff", b"\x81", b"", b"\xff\xff\xff\xff"])
def test_anything_gets_a_guess(data: bytes) -> None:
    name, codec, _, confidence = guess_encoding(data)
    assert name
    assert codec
    assert 0 <= confidence < 1


@pytest.mark.parametrize(
    "text",
    [
        "Die Straße und die Tür sind schön: größer als früher.\n",
        "L'été dernier, j'ai mangé des gâteaux à la crème près du château.\n",
        "El niño español comió piña y bebió café en la montaña.\n",
        "Räksmörgås är gott på sommaren när det är varmt.\n",
        "schön",
        "naïve",
    ],
)
def test_accented_letters_in_words_are_not_chinese(text: str) -> None:
    name, codec, _, _ = guess_encoding(text.encode("latin-1"))

    assert name in ("latin-1", "windows-1252")
    assert text.encode("latin-1").decode(codec) == text
