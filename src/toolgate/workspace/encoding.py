"""Detects a file's text encoding from its first bytes. Encodings without a mark are guessed (`legacy_encoding`)."""

import codecs
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
    multibyte: bool = False
    """Whether a byte of a character may look like another character."""
    confidence: float = 1.0
    """How sure it is, from 0 to 1; below 1 it is a guess."""

    @property
    def is_guess(self) -> bool:
        """Whether nothing in the file says that it is this encoding."""
        return self.confidence < 1.0

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
CERTAIN_ENOUGH = 0.5
"""The least confidence with which other text than ASCII is written."""
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
        return guess_legacy(sample, path)
    return UTF_8


def guess_legacy(data: bytes, path: str) -> Encoding:
    """Return the likely encoding of text that is not UTF-8. Raises `ToolError` if it fits none."""
    from toolgate.workspace.legacy_encoding import guess_encoding

    name, codec, multibyte, confidence = guess_encoding(data)
    if not codec:
        raise not_text(path, name)
    return Encoding(name=name, codec=codec, multibyte=multibyte, confidence=confidence)


def decode_text(content: bytes, path: str) -> tuple[Encoding, str]:
    """Return the encoding and the text of a whole file, without the byte order mark. Raises `ToolError`."""
    encoding = detect(content[:SAMPLE], path, whole=len(content) <= SAMPLE)
    try:
        text = content[len(encoding.bom) :].decode(encoding.codec)
    except UnicodeDecodeError as error:
        if encoding.bom:
            raise not_text(path, f"damaged {encoding.name}") from None
        encoding = guess_legacy(surrounding_lines(content, error.start), path)
        try:
            text = content.decode(encoding.codec)
        except UnicodeDecodeError:
            raise not_text(path, f"damaged {encoding.name}") from None
    if "\0" in text:
        raise binary(path)
    return encoding, text


def surrounding_lines(data: bytes, position: int) -> bytes:
    """Return the lines around a position. In text without line ends, return the bytes around it."""
    piece = data[max(0, position - SAMPLE) : position + SAMPLE]
    first = piece.find(b"\n", 0, min(position, SAMPLE)) if position > SAMPLE else -1
    return piece[first + 1 :]


def encode_text(text: str, encoding: Encoding, path: str) -> bytes:
    """Return text as it is written into a file with this encoding. Raises `ToolError` if that cannot be done safely."""
    if encoding.confidence < CERTAIN_ENOUGH and not text.isascii():
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"It is not certain enough that {quote(path)} is {encoding.name} ({encoding.confidence:.0%}): only ASCII "
            "can be written into it. Nothing was changed.",
            "Write it without other characters, or ask the user which encoding the file has.",
        )
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        if encoding.codec.startswith("utf"):
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                "The content contains a lone surrogate and is not valid Unicode.",
                "Send valid Unicode.",
            ) from None
        wrong = error.object[error.start : error.start + 1]
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} is {encoding.name}, which has no character {wrong!r}. Nothing was changed.",
            "Write it with characters that the encoding has.",
        ) from None


def require_round_trip(content: bytes, encoding: Encoding, path: str) -> None:
    """Raise `ToolError` unless the text of a file, written again, gives the same bytes."""
    body = content[len(encoding.bom) :]
    if encoding.is_guess and body.decode(encoding.codec).encode(encoding.codec) != body:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{quote(path)} looks like {encoding.name}, but its text would not give the same bytes again. Nothing was "
            "changed.",
            "Use 'edit_file', which leaves all other bytes as they are.",
        )


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
    """Return the error for an unsupported encoding, with a guess of its name; `damaged` may stand before that."""
    damaged, _, name = guessed.rpartition(" ")
    iconv = "iconv -c" if damaged else "iconv"  # it leaves out what it cannot decode
    theirs = name.removesuffix("-sig").replace("utf-16-", "utf-16").upper()
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{quote(path)} is not UTF-8 or marked UTF-16; it looks like {guessed}. Nothing was changed.",
        f"Look at it with a command: {iconv} -f {theirs} -t UTF-8, and leave the file as it is.",
    )


def _like_utf16(sample: bytes) -> bool:
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    return max(even, odd) * 3 > len(sample) and min(even, odd) * 20 < len(sample)
