"""Bash's notation for values, compared with bash itself."""

import re
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.shell.quoting import SCALAR, decode, quote, quote_scalar

VALUES = st.binary(max_size=20).map(lambda value: value.replace(b"\0", b""))


@given(VALUES)
def test_a_value_in_the_notation_of_declare_is_read_back(value: bytes) -> None:
    written = quote_scalar(value)

    assert re.fullmatch(SCALAR, written, re.DOTALL)
    assert decode(written) == value


@settings(max_examples=15)
@given(VALUES)
def test_bash_reads_a_quoted_word_as_the_value(value: bytes) -> None:
    done = subprocess.run(["bash", "-c", b"printf %s " + quote(value)], capture_output=True, check=True)

    assert done.stdout == value


def test_ansi_escapes_stand_for_their_bytes() -> None:
    assert decode(rb"$'\a\e\n\x41\101\'\\'") == b"\a\x1b\nAA'\\"


def test_what_bash_would_expand_is_no_value() -> None:
    for text in (b'"$x"', b'"`id`"', b"$(id)", b'"a"b'):
        assert not re.fullmatch(SCALAR, text)
