"""Words of notes and queries are cut alike."""

from hypothesis import given
from hypothesis import strategies as st

from toolgate.sessions.word_index import index_words, query_words


@given(st.text(max_size=40))
def test_every_word_is_letters_and_digits(text: str) -> None:
    for word in [*index_words(text), *query_words(text)]:
        assert word
        assert not set(word) & set("\"'\\ :*|&!()<>\0")


@given(st.text(alphabet="ab漢字かなé ", min_size=1, max_size=20))
def test_what_is_asked_for_is_among_what_is_indexed(text: str) -> None:
    assert set(query_words(text)) <= set(index_words(text))
