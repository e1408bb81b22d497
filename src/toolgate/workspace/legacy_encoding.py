"""Guesses the encoding of text that is not UTF-8, by the characters that it would have."""

import re
from collections.abc import Iterator

_HAN = "\u4e00-\u9fff"
_KANA = "\u3040-\u30ff"
_MARKS = "\u3001-\u3017\uff01-\uff5e\u2010-\u2027"
_CANDIDATES = (
    # name, codec to score with, codec to read with, usual characters, and the minimal share of them
    ("shift_jis", "shift_jis", "cp932", f"[{_KANA}]", 0.25),
    ("euc-jp", "euc_jp", "euc_jp", f"[{_KANA}]", 0.25),
    ("euc-kr", "euc_kr", "cp949", "[\uac00-\ud7a3]", 0.6),
    ("gb18030", "gb2312", "gb18030", f"[{_HAN}{_MARKS}]", 0.9),
    ("big5", "big5", "cp950", f"[{_HAN}{_MARKS}]", 0.9),
    ("shift_jis", "shift_jis", "cp932", f"[{_HAN}{_MARKS}]", 0.9),
    ("gb18030", "gb18030", "gb18030", f"[{_HAN}{_MARKS}]", 0.9),
)
Guess = tuple[str, str, bool, float]
"""Name, codec (empty: none fits), whether it has characters of several bytes, and confidence."""


def guess_encoding(sample: bytes) -> Guess:
    """Return the most likely encoding of text that is not UTF-8."""
    text = sample[: sample.rfind(b"\n") + 1] or sample
    for guess in _guesses(text):
        if not guess[1] or decodes(text, guess[1]):
            return guess
    return "unknown", "", False, 0.0


_HIGH_BYTES_ONLY = frozenset({"gb2312", "euc_jp", "euc_kr"})
"""Codecs in which no ASCII byte is a part of another character."""


def _guesses(text: bytes) -> Iterator[Guess]:
    is_western = _is_western(text)
    for name, scored, codec, usual, share in _CANDIDATES:
        if is_western and scored not in _HIGH_BYTES_ONLY:
            continue
        foreign = re.sub("[\x00-\x7f]", "", decoded(text, scored))
        found = len(re.findall(f"{usual}|[{_HAN}{_MARKS}]", foreign))
        if foreign and len(re.findall(usual, foreign)) >= share * len(foreign):
            yield name, codec, True, _weighed(found / len(foreign), len(foreign))
    high = len(text.translate(None, bytes(range(128))))
    words = b"".join(re.findall(rb"[\xa8\xb8\xc0-\xff]{3,}", text))
    if len(words) * 2 > high:
        yield _cyrillic(text, len(words) / high, high)
    beside = len(re.findall(rb"[A-Za-z][\xc0-\xff]|[\xc0-\xff][A-Za-z]", text))
    confidence = 0.6 + 0.3 * min(1.0, beside / max(1, high))
    if re.search(rb"[\x80-\x9f]", text):
        yield "windows-1252", "cp1252", False, confidence
    yield "latin-1", "latin-1", False, confidence if not re.search(rb"[\x80-\x9f]", text) else 0.3


def _is_western(text: bytes) -> bool:
    """Whether most bytes beyond ASCII stand alone before small letters, like an accented letter in a word.

    Together with the letter after it, such a byte is a valid Chinese or Japanese character, too.
    """
    runs = len(re.findall(rb"[\x80-\xff]+", text))
    alone = len(re.findall(rb"(?<![\x80-\xff])[\xc0-\xff][a-z\s.,;:!?)'\"-]", text))
    return alone * 10 >= runs * 6


def _cyrillic(text: bytes, share: float, high: int) -> Guess:
    lower, upper = len(re.findall(rb"[\xe0-\xff]", text)), len(re.findall(rb"[\xc0-\xdf]", text))
    clear = abs(lower - upper) / max(1, lower + upper)
    confidence = _weighed(share, high) * (0.6 + 0.4 * clear)
    if lower > upper:
        return "windows-1251", "cp1251", False, confidence
    return "koi8-r", "koi8-r", False, confidence


def _weighed(share: float, count: int) -> float:
    """A share as confidence: little text proves little."""
    return min(0.99, share * count / (count + 2))


def decodes(data: bytes, codec: str) -> bool:
    """Whether bytes are valid in an encoding; the last character may be incomplete."""
    return not data or bool(decoded(data, codec))


def decoded(data: bytes, codec: str) -> str:
    """Decode bytes; empty if they are invalid. The last character may be incomplete."""
    for cut in (0, 1, 2, 3):
        try:
            return data[: len(data) - cut].decode(codec)
        except UnicodeDecodeError:
            continue
    return ""
