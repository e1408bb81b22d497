"""From operating-system errors to codes."""

import errno

import pytest

from toolgate.workspace.oserrors import from_os_error, quote


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, "NOT_FOUND"),
        (errno.ENOTDIR, "NOT_FOUND"),
        (errno.EACCES, "PERMISSION_DENIED"),
        (errno.EPERM, "PERMISSION_DENIED"),
        (errno.EROFS, "PERMISSION_DENIED"),
        (errno.EISDIR, "IS_DIRECTORY"),
        (errno.ELOOP, "ACCESS_DENIED"),
        (errno.EXDEV, "ACCESS_DENIED"),
        (errno.ENAMETOOLONG, "INVALID_PARAM"),
        (errno.EINVAL, "INVALID_PARAM"),
        (errno.ENOSPC, "EXECUTION_ERROR"),
        (errno.EDQUOT, "EXECUTION_ERROR"),
        (errno.EFBIG, "EXECUTION_ERROR"),
        (errno.EIO, "EXECUTION_ERROR"),
        (errno.EMFILE, "EXECUTION_ERROR"),
    ],
)
def test_every_error_has_its_code_quotes_the_path_and_says_what_to_do(number: int, code: str) -> None:
    error = from_os_error(OSError(number, "secret", "/host/path"), "as/typed")

    assert (error.code, "'as/typed'" in error.message, "/host" in error.message) == (code, True, False)
    assert error.next_step


def test_an_error_without_a_number_is_an_execution_error() -> None:
    assert from_os_error(OSError("odd"), "x").code == "EXECUTION_ERROR"


def test_quoting_makes_a_path_printable_and_keeps_it_short() -> None:
    assert quote("a\n\x1b[31m\u202e\ud800") == "'a\\n\\x1b[31m\\u202e\\ud800'"
    assert len(quote("x" * 5000)) < 250
