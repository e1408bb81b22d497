"""What an operator gets wrong: every mistake is one line that says what to do next, and an exit code that is not 0."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.distributed.conftest import new_database
from tests.distributed.faults import proxied
from tests.support.servers import listening
from toolgate.cli import main

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

WORKER = ("worker", "--workspace")
LONG = "x" * 1001


@pytest.fixture
async def way(server_url: str) -> AsyncIterator[str]:
    """The address of an empty database, by a host and a port."""
    url = await new_database(server_url)
    async with proxied(url) as (_, address):
        yield address


def _toolgate(url: str, *words: str, directory: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "TOOLGATE_DATABASE_URL": url}
    return subprocess.run(
        [sys.executable, "-m", "toolgate", *words],
        cwd=directory,
        env={**plain, **environ},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


async def _one_line(said: str, url: str, *words: str, directory: Path, **environ: str) -> None:
    ended = await asyncio.to_thread(_toolgate, url, *words, directory=directory, **environ)
    lines = ended.stderr.splitlines()

    assert ended.returncode == 2, (words, ended)
    assert len(lines) == 1, ended.stderr
    assert said in lines[0], lines[0]
    assert "hunter2" not in lines[0]
    assert "unexpected" not in lines[0]


ADDRESSES = {
    "postgresql://ada:hunter2@127.0.0.1:1/x": "Check that the server runs",
    "postgresql://postgres:hunter2@{host}/nosuch": "Make it with `createdb`",
    "postgresql://nobody:hunter2@{host}/postgres": "Check the user and the password",
    "postgresql://ada:hunter2@127.0.0.1:port/x": "postgresql://user:password@host:port/name",
    "postgresql://ada:hun@hunter2@127.0.0.1/x": "write %40 for @",
    "postgresql://ada:hunter2@{mute}/x": "perhaps it is no PostgreSQL",
}


async def test_an_address_that_leads_nowhere(way: str, tmp_path: Path) -> None:
    async def say_nothing(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    host = way.partition("@")[2].partition("/")[0]
    async with listening(say_nothing) as mute:
        there = {"host": host, "mute": f"127.0.0.1:{mute}"}
        await asyncio.gather(
            *(_one_line(s, a.format(**there), *WORKER, "main=.", directory=tmp_path) for a, s in ADDRESSES.items())
        )


async def test_a_file_cannot_be_shared_by_machines(tmp_path: Path) -> None:
    for words in (("status",), (*WORKER, "main=.")):
        await _one_line("need PostgreSQL", f"sqlite:///{tmp_path}/a.db", *words, directory=tmp_path)


async def test_a_status_before_anything_was_started_says_what_to_start(way: str, tmp_path: Path) -> None:
    await _one_line("Starting `toolgate serve` or `toolgate worker` makes them", way, "status", directory=tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("main", "for example main=/srv/project"),
        ("=.", "for example main=/srv/project"),
        ("main=", "for example main=/srv/project"),
        ("", "for example main=/srv/project"),
        (" =.", "without blanks around it"),
        ("a\nb=.", "printable characters"),
        (f"{LONG}=.", "up to 1000"),
        ("main=nosuch", "is not a directory here"),
        ("main=a-file", "is not a directory here"),
    ],
    ids=lambda value: value[:20],
)
def test_a_workspace_that_is_none(
    tmp_path: Path, given: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.chdir(tmp_path)
    code = main([*WORKER, given])
    line = capsys.readouterr().err

    assert (code, line.count("\n")) == (2, 1)
    assert said in line


async def test_a_worker_that_cannot_answer_probes_or_ask_its_model(way: str, tmp_path: Path) -> None:
    taken = way.partition("@127.0.0.1:")[2].partition("/")[0]
    here = (*WORKER, "main=.")
    twice = ("--workspace", "main=..")
    await _one_line("one name is one directory", way, *here, *twice, directory=tmp_path)
    await _one_line("0 takes a free one", way, *here, "--port", "65536", directory=tmp_path)
    await _one_line("Address already in use", way, *here, "--port", taken, directory=tmp_path)
    await _one_line("--host for an address", way, *here, "--port", "0", "--host", "x.invalid", directory=tmp_path)
    await _one_line("needs a key", way, *here, directory=tmp_path, TOOLGATE_MODEL_PROVIDER="openai")
