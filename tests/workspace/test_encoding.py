"""Which encoding a file has."""

import subprocess

import pytest

from toolgate.errors import ToolError
from toolgate.workspace.encoding import Encoding, decode_text, detect, encode_text, require_round_trip

CHINESE = "你好，世界。这是一个测试文件，用来检查编码。\n"
JAPANESE = "こんにちは世界。これはテストのファイルです。\n"


@pytest.mark.parametrize(
    ("codec", "text", "named"),
    [
        ("latin-1", "café, déjà vu, naïve\n", "latin-1"),
        ("cp1252", "“quoted” – dash\n", "windows-1252"),
        ("gbk", CHINESE, "gb18030"),
        ("gb18030", CHINESE, "gb18030"),
        ("shift_jis", JAPANESE, "shift_jis"),
        ("euc_jp", JAPANESE, "euc-jp"),
        ("euc_kr", "안녕하세요 세계 테스트 파일\n", "euc-kr"),
        ("big5", "你好，這是一個測試檔案，謝謝\n", "big5"),
        ("cp1251", "Привет мир, это тест\n", "windows-1251"),
        ("koi8-r", "Привет мир, это тест\n", "koi8-r"),
    ],
)
def test_an_older_encoding_is_guessed_with_its_confidence(codec: str, text: str, named: str) -> None:
    data = (text * 3).encode(codec)
    encoding = detect(data, "f.txt", whole=True)

    assert encoding.name == named
    assert encoding.is_guess
    assert 0.5 < encoding.confidence < 1
    assert data.decode(encoding.codec) == text * 3
    assert encoding.encode(text * 3) == data


def test_little_text_proves_little() -> None:
    short, long = (detect((word).encode("cp1251"), "f", whole=True) for word in ("мир", "Привет мир, это тест " * 9))
    assert short.confidence < long.confidence


def test_what_is_uncertain_takes_only_ascii() -> None:
    encoding = Encoding(name="koi8-r", codec="koi8-r", confidence=0.4)
    assert encode_text("plain", encoding, "f") == b"plain"
    with pytest.raises(ToolError, match="only ASCII can be written"):
        encode_text("мир", encoding, "f")


def test_a_character_that_the_encoding_does_not_have_is_refused() -> None:
    with pytest.raises(ToolError) as caught:
        encode_text("日本", Encoding(name="windows-1251", codec="cp1251", confidence=0.9), "f.txt")
    assert caught.value.message == "'f.txt' is windows-1251, which has no character '日'. Nothing was changed."
    assert "convert" not in caught.value.next_step


def test_text_that_does_not_give_the_same_bytes_again_is_refused() -> None:
    twice = b"\xfa\x54"  # a second code of U+FFE2 in cp932, which is written as another one
    with pytest.raises(ToolError, match="would not give the same bytes"):
        require_round_trip(twice, Encoding(name="shift_jis", codec="cp932", multibyte=True, confidence=0.9), "f")


def test_text_that_is_legacy_only_far_inside() -> None:
    content = b"x = 1\n" * 5000 + "Привет, это тест\n".encode("cp1251")
    encoding, text = decode_text(content, "f")
    assert (encoding.name, text.endswith("Привет, это тест\n")) == ("windows-1251", True)


def test_utf_32_is_named() -> None:
    with pytest.raises(ToolError, match="utf-32"):
        detect("x".encode("utf-32"), "f")


@pytest.mark.parametrize("data", [b"\xff\xfea\0b\0c", b"\xfe\xff\0a\0b\0", b"\xef\xbb\xbfa\xff"])
def test_the_command_for_a_damaged_file_shows_the_rest_of_it(data: bytes) -> None:
    with pytest.raises(ToolError) as caught:
        decode_text(data, "f.txt")
    command = caught.value.next_step.partition(": ")[2].partition(",")[0]
    shown = subprocess.run(command.split(), input=data, capture_output=True, check=False)
    assert shown.stdout.decode().startswith("\ufeffa")


def test_utf_16_without_a_mark_is_binary_and_says_what_it_may_be() -> None:
    with pytest.raises(ToolError, match="UTF-16 without a byte order mark"):
        detect("hello world".encode("utf-16-le"), "f")


def test_a_character_cut_by_the_end_of_the_sample_is_fine() -> None:
    sample = "é".encode() * 10

    assert detect(sample[:-1], "f").name == "utf-8"
    assert detect(sample[:-1], "f", whole=True).is_guess


def test_many_control_characters_are_binary() -> None:
    with pytest.raises(ToolError) as caught:
        detect(bytes(range(1, 32)) + b"\xff\xfd", "f", whole=True)

    assert caught.value.code == "BINARY_FILE"
