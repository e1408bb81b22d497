"""The buffer of live output keeps the newest pieces and counts the rest."""

from toolgate.sessions.live_output import MAX_CHARACTERS, OutputBuffer, OutputChunk


def test_a_buffer_keeps_the_newest_and_counts_the_rest() -> None:
    buffer = OutputBuffer()
    buffer.add("a", "stdout", "x" * MAX_CHARACTERS)
    buffer.add("a", "stdout", "y" * 10)
    buffer.add("a", "stderr", "z" * 5)
    assert buffer.take() == [
        OutputChunk("a", "stdout", "x" * (MAX_CHARACTERS - 15) + "y" * 10, 15),
        OutputChunk("a", "stderr", "z" * 5),
    ]
    assert buffer.take() == []


def test_a_buffer_keeps_few_pieces() -> None:
    buffer = OutputBuffer()
    for number in range(1000):
        buffer.add("a", ("stdout", "stderr")[number % 2], f"{number},")
    pieces = buffer.take()
    assert len(pieces) == 32
    assert "".join(piece.text for piece in pieces) == "".join(f"{n}," for n in range(968, 1000))
    assert sum(piece.left_out for piece in pieces) == len("".join(f"{n}," for n in range(968)))
