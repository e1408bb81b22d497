"""System calls that Python does not have."""

import errno
import os
from pathlib import Path

import pytest

from toolgate.sandbox.supervisor.kernel import check, open_without_links, syscall

SYS_GETPID = {"x86_64": 39, "aarch64": 172}


def test_a_raw_call_returns_what_the_kernel_says() -> None:
    assert syscall("getpid", SYS_GETPID[os.uname().machine]) == os.getpid()


def test_a_call_that_fails_is_the_error_of_the_kernel_with_its_name() -> None:
    with pytest.raises(OSError, match="close it") as caught:
        syscall("close it", {"x86_64": 3, "aarch64": 57}[os.uname().machine], -1)

    assert caught.value.errno == errno.EBADF


def test_a_result_that_is_no_error_passes() -> None:
    assert check(7, "x") == 7


def test_a_link_is_not_followed_anywhere_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(open_without_links(directory, "real/file", os.O_RDONLY))
        with pytest.raises(OSError, match="link/file") as caught:
            open_without_links(directory, "link/file", os.O_RDONLY)
    finally:
        os.close(directory)

    assert caught.value.errno == errno.ELOOP
