"""Detects a file's text encoding from its first bytes, and guesses the name of an unsupported one."""

import codecs
import re
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote

SAMPLE = 8192
"""Bytes at the start of a file that are examined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How text is stored in a file."""

    name: str
    codec: str
    bom: bytes = b""
    width: int = 1
    """Bytes per code unit: text is searched only at multiples of it."""

    def encode(self, text: str) -> bytes:
        """Encode text, without a byte order mark."""
        return text.encode(self.codec)


UTF_8 = Encoding(name="utf-8", codec="utf-8")
_MARKED = (
    Encoding(name="utf-8-sig", codec="utf-8", bom=codecs.BOM_UTF8),
    Encoding(name="utf-16-le", codec="utf-16-le", bom=codecs.BOM_UTF16_LE, width=2),
    Encoding(name="utf-16-be", codec="utf-16-be", bom=codecs.BOM_UTF16_BE, width=2),
)
_BINARY = (
    b"\x7fELF",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
)
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r\f\b\x1b")


def detect(sample: bytes, path: str, *, whole: bool = False) -> Encoding:
    """Return the encoding of a file that starts with `sample`. Raises `ToolError` if it is binary or unsupported."""
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise not_text(path, "utf-32")
    for encoding in _MARKED:
        if sample.startswith(encoding.bom):
            return encoding
    if b"\0" in sample or sample.startswith(_BINARY):
        raise binary(path, " It may be UTF-16 without a byte order mark." if _like_utf16(sample) else "")
    if not is_utf8(sample, whole=whole):
        if len(sample.translate(None, _CONTROLS)) * 20 < len(sample) * 19:
            raise binary(path)
        raise not_text(path, guess(sample))
    return UTF_8


def is_utf8(data: bytes, *, whole: bool) -> bool:
    """Whether `data` is UTF-8. Unless it is `whole`, its last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, whole)
    except UnicodeDecodeError:
        return False
    return True


def binary(path: str, hint: str = "") -> ToolError:
    """Return the error for a binary file."""
    return ToolError(
        ErrorCode.BINARY_FILE,
        f"{quote(path)} is a binary file and cannot be handled as text.{hint}",
        "Choose a text file, or look at it with a command such as 'file' or 'xxd'.",
    )


def not_text(path: str, guessed: str) -> ToolError:
    """Return the error for an unsupported encoding, with a guess of its name."""
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{quote(path)} is not UTF-8 or marked UTF-16; it looks like {guessed}. Nothing was changed.",
        f"Look at it with a command: iconv -f {guessed.split()[0].upper()} -t UTF-8, and leave the file as it is.",
    )


def guess(sample: bytes) -> str:
    """Return the most likely encoding of text that is not UTF-8."""
    text = sample[: sample.rfind(b"\n") + 1] or sample
    for name, codec, usual, share in _CANDIDATES:
        foreign = re.sub("[\x00-\x7f]", "", _decode(text, codec))
        if foreign and len(re.findall(usual, foreign)) >= share * len(foreign):
            return name
    words = re.findall(rb"[\xa8\xb8\xc0-\xff]{3,}", text)
    if len(b"".join(words)) * 2 > len(text.translate(None, bytes(range(128)))):
        lower = len(re.findall(rb"[\xe0-\xff]", text)) > len(re.findall(rb"[\xc0-\xdf]", text))
        return "windows-1251" if lower else "koi8-r"
    return "windows-1252" if re.search(rb"[\x80-\x9f]", text) else "iso-8859-1 (latin-1)"


_HAN = "\u4e00-\u9fff"
_KANA = "\u3040-\u30ff"
_MARKS = "\u3001-\u3017\uff01-\uff5e\u2010-\u2027"
_CANDIDATES = (
    # name, codec, and the minimal share of characters that are common in such text
    ("shift_jis", "shift_jis", f"[{_KANA}]", 0.25),
    ("euc-jp", "euc_jp", f"[{_KANA}]", 0.25),
    ("euc-kr", "euc_kr", "[\uac00-\ud7a3]", 0.6),
    ("gbk (gb18030)", "gb2312", f"[{_HAN}{_MARKS}]", 0.9),
    ("big5", "big5", f"[{_HAN}{_MARKS}]", 0.9),
    ("shift_jis", "shift_jis", f"[{_HAN}{_MARKS}]", 0.9),
    ("gbk (gb18030)", "gb18030", f"[{_HAN}{_MARKS}]", 0.9),
)


def _decode(data: bytes, codec: str) -> str:
    """Decode `data` from a legacy encoding; empty if it is invalid. The last character may be incomplete."""
    for cut in (0, 1):
        try:
            return data[: len(data) - cut].decode(codec)
        except UnicodeDecodeError:
            continue
    return ""


def _like_utf16(sample: bytes) -> bool:
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    return max(even, odd) * 3 > len(sample) and min(even, odd) * 20 < len(sample)
