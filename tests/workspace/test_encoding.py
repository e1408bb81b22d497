"""Which encoding a file has."""

import pytest

from toolgate.errors import ToolError
from toolgate.workspace.encoding import detect, guess

CHINESE = "你好，世界。这是一个测试文件，用来检查编码。\n"
JAPANESE = "こんにちは世界。これはテストのファイルです。\n"


@pytest.mark.parametrize(
    ("codec", "text", "named"),
    [
        ("latin-1", "café, déjà vu, naïve\n", "latin-1"),
        ("cp1252", "“quoted” – dash\n", "windows-1252"),
        ("gbk", CHINESE, "gbk"),
        ("gb18030", CHINESE, "gb18030"),
        ("shift_jis", JAPANESE, "shift_jis"),
        ("euc_jp", JAPANESE, "euc-jp"),
        ("euc_kr", "안녕하세요 세계 테스트 파일\n", "euc-kr"),
        ("big5", "你好，這是一個測試檔案，謝謝\n", "big5"),
        ("cp1251", "Привет мир, это тест\n", "windows-1251"),
        ("koi8-r", "Привет мир, это тест\n", "koi8-r"),
    ],
)
def test_the_guess_is_named(codec: str, text: str, named: str) -> None:
    with pytest.raises(ToolError) as caught:
        detect((text * 3).encode(codec), "f.txt", whole=True)

    assert (caught.value.code, named in caught.value.message, "iconv" in caught.value.next_step) == (
        "EXECUTION_ERROR",
        True,
        True,
    )


def test_utf_32_is_named() -> None:
    with pytest.raises(ToolError, match="utf-32"):
        detect("x".encode("utf-32"), "f")


def test_utf_16_without_a_mark_is_binary_and_says_what_it_may_be() -> None:
    with pytest.raises(ToolError, match="UTF-16 without a byte order mark"):
        detect("hello world".encode("utf-16-le"), "f")


def test_a_character_cut_by_the_end_of_the_sample_is_fine() -> None:
    sample = "é".encode() * 10

    assert detect(sample[:-1], "f").name == "utf-8"
    with pytest.raises(ToolError):
        detect(sample[:-1], "f", whole=True)


def test_many_control_characters_are_binary() -> None:
    with pytest.raises(ToolError) as caught:
        detect(bytes(range(1, 32)) + b"\xff\xfd", "f", whole=True)

    assert caught.value.code == "BINARY_FILE"


def test_anything_gets_a_guess() -> None:
    assert guess(b"\xff")
