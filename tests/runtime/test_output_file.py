"""The shape of the files that hold whole outputs."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime import output_file
from toolgate.runtime.output_file import Layout, write
from toolgate.workspace import Stop, Stopped

RESPONSE = ToolResponse.success(
    {"stdout": 'a "b"\n', "n": [1, {"x": None}], "data": {"deep": {}, "list": []}}, "Ran.", context={"cwd": "."}
)


def written(output: str, response: ToolResponse = RESPONSE) -> tuple[str, Layout]:
    file = io.BytesIO()
    layout = write(file, response, output, Stop())
    return file.getvalue().decode(), layout


def test_the_document_is_the_envelope_and_the_lines_of_the_output() -> None:
    text, _ = written("one\ntwo\n")
    assert json.loads(text) == {"output": ["one", "two", ""], **RESPONSE.to_dict()}


def test_an_error_is_kept_with_its_error() -> None:
    response = ToolResponse.failure(ErrorCode.NOT_FOUND, "gone")
    assert json.loads(written("x", response)[0]) == {"output": ["x"], **response.to_dict()}


def test_line_n_of_the_output_is_line_n_plus_two_of_the_file() -> None:
    text, _ = written('one\n"two"\nthré')
    assert text.split("\n")[:6] == ["{", '"output": [', '"one",', '"\\"two\\"",', '"thré"', "],"]


def test_long_lines_are_there_again_in_pieces_that_read_file_shows_whole() -> None:
    line = "".join(chr(0x4E00 + number % 500) for number in range(4000)) + "\x01" * 1000
    text, layout = written(f"short\n{line}\n{'y' * 1901}")
    lines = text.split("\n")
    pieces = json.loads(text)["long_lines"]
    assert json.loads(lines[layout.pieces_at - 1].removesuffix(",")) == {"line": 2, "from": 1, "text": line[:1500]}
    assert "".join(piece["text"] for piece in pieces if piece["line"] == 2) == line
    assert "".join(piece["text"] for piece in pieces if piece["line"] == 3) == "y" * 1901
    assert max(len(shown) for shown in lines[layout.pieces_at - 1 :][: len(pieces)]) < 2000


@pytest.mark.parametrize(
    ("line", "character", "shown"),
    [
        (1, 3, '"short",'),
        (2, 1, '{"line":2,"from":1,"text":"' + "a" * 1500 + '"},'),
        (2, 1501, '{"line":2,"from":1501,"text":"' + "a" * 499 + "b" * 1001 + '"},'),
        (2, 3999, '{"line":2,"from":3001,"text":"' + "b" * 999 + '"}'),
        (3, 2, '"end"'),
    ],
)
def test_the_layout_leads_to_the_line_that_shows_a_character(line: int, character: int, shown: str) -> None:
    text, layout = written(f"short\n{'a' * 1999}{'b' * 2000}\nend")
    assert text.split("\n")[layout.line_of(line, character) - 1] == shown


def test_pieces_are_bounded() -> None:
    text, _ = written("x" * 5_000_000)
    pieces = json.loads(text)["long_lines"]
    assert sum(len(piece["text"]) for piece in pieces) == 1_048_576 // 1500 * 1500 + 1500


def test_an_envelope_that_json_cannot_say_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        written("x", ToolResponse.success({"n": [float("nan")]}, "Ran."))


def test_a_stopped_call_stops_the_writing() -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        write(io.BytesIO(), RESPONSE, "a\nb", stop)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_joining_the_lines_gives_the_output_back(output: str) -> None:
    assert "\n".join(json.loads(written(output)[0])["output"]) == output


@given(
    st.lists(st.text(alphabet='ab"\\\té漢\x01', max_size=40), max_size=60),
    st.integers(min_value=24, max_value=64),
    st.integers(min_value=8, max_value=24),
)
def test_blocks_of_any_size_give_the_same_lines_and_long_lines(lines: list[str], block: int, shown: int) -> None:
    output = "\n".join(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_file, "_SLICE", block)
        patch.setattr(output_file, "_SHOWN_WHOLE", shown)
        document = json.loads(written(output)[0])
    assert document["output"] == output.split("\n")
    long = [n for n, line in enumerate(output.split("\n"), 1) if len(json.dumps(line, ensure_ascii=False)) > shown]
    assert list(dict.fromkeys(piece["line"] for piece in document.get("long_lines", []))) == long
