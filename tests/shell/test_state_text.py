"""A shell's state goes on in another process, where the root is somewhere else."""

from pathlib import Path

import pytest

from toolgate.protocol.plan import Access
from toolgate.shell import ShellSession
from toolgate.workspace import Workspace


async def _moved(tmp_path: Path, *commands: tuple[str, Access], then: str, access: Access = "write") -> str:
    places = [tmp_path / "here", tmp_path / "there"]
    for place in places:
        (place / "sub dir").mkdir(parents=True)
    first = ShellSession(Workspace(places[0]))
    for command, level in commands:
        await first.execute(command, access=level)
    carried = first.export_state()
    await first.close()
    assert carried is not None
    second = ShellSession(Workspace(places[1]))
    second.import_state(carried)
    result = await second.execute(then, access=access)
    await second.close()
    return result.stdout


async def test_directory_variables_functions_and_options_are_carried(tmp_path: Path) -> None:
    said = await _moved(
        tmp_path,
        ("cd 'sub dir'; export WHO='ada l.'; list=(1 'b c'); hi() { echo \"hi $WHO\"; }; set -u; umask 027", "write"),
        then='pwd; hi; echo "${list[1]} $(umask) $-"',
    )

    assert said.startswith(f"{tmp_path}/there/sub dir\nhi ada l.\nb c 0027 ")
    assert "u" in said.split()[-1]


async def test_code_does_not_climb_to_a_higher_access_on_the_way(tmp_path: Path) -> None:
    said = await _moved(
        tmp_path, ("ls() { echo trapped; }; export SEEN=yes", "read"), then='type -t ls; echo "$SEEN"', access="write"
    )

    assert said == "file\nyes\n"


async def test_nothing_is_carried_where_nothing_has_changed(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path))
    unused = session.export_state()
    await session.close()

    assert unused is None


async def test_a_state_that_is_too_large_is_not_carried_and_the_next_answer_says_so(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path))
    await session.execute("big=$(head -c 2000000 /dev/zero | tr '\\0' x); small=1")
    carried = session.export_state()
    await session.close()
    assert carried is not None
    assert len(carried) <= 1024 * 1024

    other = ShellSession(Workspace(tmp_path))
    other.import_state(carried)
    first, second = [await other.execute('echo "[$small]"') for _ in range(2)]
    await other.close()
    assert (first.stdout, second.stdout, second.stderr) == ("[]\n", "[]\n", "")
    assert "the shell started anew, because its state could not be carried over: it was too large" in first.stderr


@pytest.mark.parametrize("value", ["naïve ☃", "two\nlines", "'quoted' \"both\" \\ways"])
async def test_any_value_survives(tmp_path: Path, value: str) -> None:
    quoted = "'" + value.replace("'", "'\\''") + "'"
    said = await _moved(tmp_path, (f"kept={quoted}", "write"), then='printf %s "$kept"')

    assert said == value
