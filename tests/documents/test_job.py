"""The worker process: its limits, and that nothing of it is left."""

import os
import threading
import time
from pathlib import Path

import pytest

from tests.documents.test_images import opened
from tests.support.pictures import pdf, png, write
from toolgate.documents import job
from toolgate.documents.job import Frames, decode
from toolgate.process import bare_python
from toolgate.workspace import Stop, Stopped

TASK = {"task": "image", "pixels": 10**9, "side": 1568, "max_bytes": 10**7, "bytes": 1}


def test_frames_are_taken_as_soon_as_they_are_complete() -> None:
    frames = Frames()
    for byte in b'{"a": 1}\n{"b": 2, "size": 3}\nx\ny':
        frames.feed(bytes([byte]))
    assert frames.frames == [({"a": 1}, b""), ({"b": 2, "size": 3}, b"x\ny")]
    assert frames.error == ("limits", "")


def test_the_worker_reads_the_file_from_its_beginning(tmp_path: Path) -> None:
    with opened(write(tmp_path / "a.png", png())) as fd:
        os.lseek(fd, 5, os.SEEK_SET)
        frames = decode(Stop(), fd, TASK)
    assert frames.error is None
    assert frames.frames == [({"same": True, "width": 3, "height": 2}, b"")]


def test_a_worker_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "DEADLINE", 0.3)
    monkeypatch.setattr(bare_python, "_BOOT", "import time; time.sleep(60)")
    began = time.monotonic()
    with opened(write(tmp_path / "a.png", png())) as fd:
        assert decode(Stop(), fd, TASK).error == ("limits", "")
    assert time.monotonic() - began < 20


def test_a_cancelled_call_ends_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare_python, "_BOOT", "import time; time.sleep(60)")
    stop = Stop()
    threading.Timer(0.2, stop.set).start()
    with opened(write(tmp_path / "a.png", png())) as fd, pytest.raises(Stopped):
        decode(stop, fd, TASK)


def test_the_worker_can_neither_write_files_nor_take_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = bare_python._BOOT.replace(
        "importlib.import_module(module).main()",
        "from toolgate.documents import worker; worker._limit()\n"
        "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    worker.answer({'memory': False})\n"
        f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"try:\n    open({str(tmp_path / 'made')!r}, 'wb', buffering=0).write(b'x' * 10)\n"
        "except OSError:\n    worker.answer({'file': False})\n",
    )
    monkeypatch.setattr(bare_python, "_BOOT", attack)
    with opened(write(tmp_path / "a.pdf", pdf("a"))) as fd:
        frames = decode(Stop(), fd, TASK)
    assert [head for head, _ in frames.frames] == [{"memory": False}, {"file": False}]
    made = tmp_path / "made"
    assert not made.exists() or made.read_bytes() == b""


def test_the_worker_cannot_read_the_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolgate.process import landlock

    if landlock.version() == 0:
        pytest.skip("this kernel has no Landlock; run on Linux 5.13 or newer")
    secret = write(tmp_path / "secret", b"canary")
    attack = bare_python._BOOT.replace(
        "importlib.import_module(module).main()",
        "from toolgate.documents import worker\n"
        f"try:\n    worker.answer({{'read': open({str(secret)!r}).read()}})\n"
        "except OSError:\n    worker.answer({'read': None})\n",
    )
    monkeypatch.setattr(bare_python, "_BOOT", attack)
    with opened(write(tmp_path / "a.pdf", pdf("a"))) as fd:
        assert decode(Stop(), fd, TASK).frames == [({"read": None}, b"")]
