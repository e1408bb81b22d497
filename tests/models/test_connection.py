"""What a server says when it refuses, as a sentence for a person."""

import pytest

from toolgate.models.connection import error_message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": {"message": "too fast"}}', "too fast"),
        ('{"message": "too fast"}', "too fast"),
        ('{"error": "too fast"}', "too fast"),
        (" too fast\n", "too fast"),
        ('{"error": {"message": 7}}', '{"error": {"message": 7}}'),
        ("[" * 100_000, "[" * 100_000),
        ("", "Error code: 429"),
    ],
)
def test_what_a_refusal_says(text: str, said: str) -> None:
    assert error_message(text, 429) == said
