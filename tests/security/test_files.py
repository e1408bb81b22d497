"""Group F of the attack matrix: files. Every case as root and as nobody."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.privileges import NOBODY, UIDS, run_as

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0>\0"


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {}),
        ("grep", {"pattern": "x"}),
        ("edit_file", {"old_string": "a", "new_string": "b"}),
        ("write_file", {"content": "x"}),
    ],
)
def test_f01_a_fifo_without_a_writer_is_refused_at_once(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    os.mkfifo(arena.root / "ff")
    outcome = arena.call(name, path="ff", **arguments)

    assert (outcome.status, outcome.seconds < 1) == ("error", True) or outcome.data.get("matches") == []
    assert outcome.seconds < 1
    assert stat.S_ISFIFO((arena.root / "ff").lstat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device node needs root: run the tests as root")
def test_f02_a_device_node_is_refused(arena: Arena) -> None:
    os.mknod(arena.root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    outcome = arena.call("read_file", path="zero")

    assert (outcome.code, "character device" in outcome.text, outcome.growth < 8) == ("INVALID_PARAM", True, True)


def test_f02_a_link_to_a_device_is_refused(arena: Arena) -> None:
    (arena.root / "z").symlink_to("/dev/zero")
    outcome = arena.call("read_file", path="z")

    assert (outcome.code, outcome.growth < 8) == ("ACCESS_DENIED", True)


def test_f03_a_socket_is_refused_and_not_connected_to(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(arena.root)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        server.listen()
        server.setblocking(False)
        read, written = arena.calls([("read_file", {"path": "sock"}), ("write_file", {"path": "sock", "content": "x"})])
        assert (read.code, written.code) == ("INVALID_PARAM", "INVALID_PARAM")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_f04_a_huge_sparse_file_is_read_partially_and_fast(arena: Arena) -> None:
    with (arena.root / "sparse").open("wb") as file:
        file.truncate(10 << 30)
    outcomes = arena.calls(
        [("read_file", {"path": "sparse"}), ("read_file", {"path": "sparse", "start_line": 1_000_000_000})]
    )

    assert [outcome.status for outcome in outcomes] == ["partial", "partial"]
    assert all(outcome.data["truncated"] and outcome.seconds < 2 for outcome in outcomes)


def test_f04_what_was_written_before_a_hole_is_read(arena: Arena) -> None:
    with (arena.root / "sparse").open("wb") as file:
        file.write(b"one\ntwo\n" * 1000)
        file.truncate(10 << 30)
    outcome = arena.call("read_file", path="sparse", start_line=1999)

    assert (outcome.status, outcome.data["content"].splitlines()[:2]) == ("partial", ["  1999\tone", "  2000\ttwo"])


def test_f05_one_line_of_500_mb_is_clipped(arena: Arena) -> None:
    with (arena.root / "long").open("wb") as file:
        for _ in range(500):
            file.write(b"x" * 1_000_000)
    read, searched = arena.calls([("read_file", {"path": "long"}), ("grep", {"path": "long", "pattern": "y"})])

    assert (read.status, read.data["truncated"], read.growth < 8) == ("partial", True, True)
    assert read.data["content"].startswith("     1\t" + "x" * 2000 + "… [clipped: 2000 of 500000000 characters]")
    # on a busy machine the search may run into its own deadline, which is an answer too
    assert searched.data["matches"] == [] if searched.code is None else searched.code == "TIMEOUT"


@pytest.mark.parametrize(
    "content", [PNG, ELF, b"text\0text\n", b"a\n" * 10_000 + b"\0"], ids=["png", "elf", "nul", "late nul"]
)
def test_f06_a_binary_file_is_neither_read_nor_edited(arena: Arena, content: bytes) -> None:
    (arena.root / "bin").write_bytes(content)
    read, edited = arena.calls(
        [
            ("read_file", {"path": "bin", "limit": 100_000}),
            ("edit_file", {"path": "bin", "old_string": "e", "new_string": "f"}),
        ]
    )

    assert (read.code, edited.code) == ("BINARY_FILE", "BINARY_FILE")
    assert (arena.root / "bin").read_bytes() == content


def test_f07_a_directory_is_not_a_file(arena: Arena) -> None:
    (arena.root / "dd").mkdir()
    read, written, edited, root, slash = arena.calls(
        [
            ("read_file", {"path": "dd"}),
            ("write_file", {"path": "dd", "content": "x"}),
            ("edit_file", {"path": "dd", "old_string": "a", "new_string": "b"}),
            ("write_file", {"path": ".", "content": "x"}),
            ("write_file", {"path": "new/", "content": "x"}),
        ]
    )

    assert {outcome.code for outcome in (read, written, edited, root, slash)} == {"IS_DIRECTORY"}
    assert "not a writable file" in written.text


@pytest.fixture
def small_disk(arena: Arena) -> Iterator[Arena]:
    """The arena's root on a file system of 1 MiB, nearly full."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root: run the tests as root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", arena.root], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here: run the tests in a privileged container")
    try:
        (arena.root / "control.txt").write_text("control\n")
        arena.own()
        yield arena
    finally:
        subprocess.run(["umount", "-l", arena.root], check=True)


def test_f09_a_full_disk_leaves_the_old_content(small_disk: Arena) -> None:
    target = small_disk.root / "f.txt"
    target.write_bytes(b"old\n" * 50_000)
    (small_disk.root / "filler").write_bytes(bytes(700_000))
    outcome = small_disk.call("write_file", path="f.txt", content="new\n" * 200_000)

    assert outcome.code == "EXECUTION_ERROR"
    assert target.read_bytes() == b"old\n" * 50_000
    assert not [name for name in os.listdir(small_disk.root) if name.startswith(".toolgate-tmp-")]


def test_f09_no_space_for_new_directories_leaves_none(small_disk: Arena) -> None:
    (small_disk.root / "filler").write_bytes(bytes(900_000))
    outcome = small_disk.call("write_file", path="a/b/c.txt", content="new\n" * 200_000)

    assert (outcome.code, (small_disk.root / "a").exists()) == ("EXECUTION_ERROR", False)


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644, 0o640, 0o4755])
def test_f10_mode_and_owner_are_kept(arena: Arena, mode: int) -> None:
    target = arena.root / "f.sh"
    target.write_text("echo one\n")
    arena.own()
    target.chmod(mode)
    before = target.stat()
    outcomes = [
        run_as(arena.uid, lambda: _call(arena.root, "edit_file", path="f.sh", old_string="one", new_string="two")),
        run_as(arena.uid, lambda: _call(arena.root, "write_file", path="f.sh", content="echo three\n")),
    ]
    after = target.stat()

    assert outcomes == ["success", "success"]
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another group needs root: run the tests as root")
def test_f10_the_group_of_a_file_is_kept(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text("one\n")
    arena.own()
    os.chown(target, arena.uid, 4242)
    outcome = run_as(
        arena.uid, lambda: _call(arena.root, "edit_file", path="f.txt", old_string="one", new_string="two")
    )

    # nobody is not in that group and may not give it away: refused instead of changed
    expected = ("success", "two\n") if arena.uid == 0 else ("PERMISSION_DENIED", "one\n")
    assert (outcome, target.read_text(), target.stat().st_gid) == (*expected, 4242)


@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user needs root: run the tests as root")
def test_f10_nobody_cannot_write_what_is_read_only() -> None:
    with arena_for(NOBODY) as arena:
        target = arena.root / "f.txt"
        target.write_text("one\n")
        arena.own()
        target.chmod(0o444)
        outcome = run_as(
            NOBODY, lambda: _call(arena.root, "edit_file", path="f.txt", old_string="one", new_string="two")
        )
        assert (outcome, target.read_text()) == ("PERMISSION_DENIED", "one\n")


def _call(root: Path, name: str, **arguments: Any) -> str:
    """The error code or status of one call, without the arena's changes of ownership."""
    import toolgate
    from toolgate.testing import AutoApprover

    async def call() -> str:
        context = toolgate.ToolContext(
            workspace=toolgate.Workspace(root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
        )
        toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        error = result.response.error
        return error.code.value if error else result.response.status.value

    return asyncio.run(call())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_string": "control", "new_string": "mine"}),
        ("write_file", {"content": "mine\n"}),
        ("edit_file", {"old_string": "control", "new_string": "mine", "dry_run": True}),
    ],
)
def test_f11_stale_knowledge_is_a_conflict(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    import toolgate
    from toolgate.testing import AutoApprover

    def attack() -> tuple[str, str, str]:
        async def session() -> tuple[str, str, str]:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)

            async def call(tool: str, **given: Any) -> str:
                given = {"path": "control.txt", **given}
                result = await toolset.handle(toolgate.ToolCall(id="1", name=tool, arguments=json.dumps(given)))
                error = result.response.error
                return error.code.value if error else result.response.status.value

            await call("read_file")
            (arena.root / "control.txt").write_text("control\nother\n")
            first = await call(name, **arguments)
            kept = (arena.root / "control.txt").read_text()
            await call("read_file")
            return first, kept, await call(name, **arguments)

        return asyncio.run(session())

    first, kept, again = run_as(arena.uid, attack)
    assert (first, kept) == ("CONFLICT", "control\nother\n")
    assert again == ("partial" if arguments.get("dry_run") else "success")


def test_f12_an_edit_that_misses_changes_nothing(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text("one\ntwo\n")
    arena.own()
    before = target.stat()
    outcome = arena.call("edit_file", path="f.txt", old_string="three", new_string="four")

    assert (outcome.code, "not found" in outcome.text) == ("INVALID_PARAM", True)
    after = target.stat()
    assert (target.read_text(), after.st_mtime_ns, after.st_ino) == ("one\ntwo\n", before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    "content",
    [
        b"one\r\ntoken\r\nthree\r\n",
        b"\xef\xbb\xbfone\ntoken\n",
        b"one\ntoken",
        b"\tone\n\t\ttoken \t\n",
        b"one\r\ntoken\nthree\r",
        "one\ntoken\n\u2028\x0b\x0c\x85".encode(),
        b"\xff\xfe" + "one\r\ntoken\u0a0a\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "one\ntoken".encode("utf-16-be"),
    ],
)
def test_f13_every_byte_outside_the_edit_stays(arena: Arena, content: bytes) -> None:
    encoding = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(content[:2], "utf-8")
    (arena.root / "f.txt").write_bytes(content)
    outcome = arena.call("edit_file", path="f.txt", old_string="token", new_string="word")

    assert outcome.status == "success"
    assert (arena.root / "f.txt").read_bytes() == content.replace("token".encode(encoding), "word".encode(encoding))


def test_f14_windows_at_the_edges(arena: Arena) -> None:
    (arena.root / "ten").write_text("x\n" * 10)
    far, *others = arena.calls(
        [
            ("read_file", {"path": "ten", "start_line": 10**12}),
            *[("read_file", {"path": "ten", "limit": limit}) for limit in (0, -1, True, 1.5, "3")],
            *[("read_file", {"path": "ten", "start_line": start}) for start in (0, -1, True, 1.5, "3")],
        ]
    )

    assert (far.status, far.data) == ("success", {"content": "", "truncated": False})
    assert {outcome.code for outcome in others} == {"INVALID_PARAM"}


@pytest.mark.torture
def test_f15_concurrent_edits_are_never_lost(arena: Arena) -> None:
    """Two clients in processes of their own; an edit that was confirmed is in the file."""
    edits = 20 * int(os.environ.get("TOOLGATE_TORTURE", "1"))
    (arena.root / "shared.txt").write_text("".join(f"slot-{who}-{n}=free\n" for who in "ab" for n in range(edits)))
    arena.own()

    def client(who: str) -> list[tuple[int, str]]:
        done = []
        for number in range(edits):
            slot = f"slot-{who}-{number}="
            code = _call(
                arena.root, "edit_file", path="shared.txt", old_string=f"{slot}free\n", new_string=f"{slot}taken\n"
            )
            done.append((number, code))
        return done

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip("ab", pool.map(lambda who: run_as(arena.uid, lambda: client(who)), "ab"), strict=True))
    lines = (arena.root / "shared.txt").read_text().splitlines()

    assert {code for done in outcomes.values() for _, code in done} <= {"success", "CONFLICT"}
    assert len(lines) == 2 * edits
    for who, done in outcomes.items():
        for number, code in done:
            assert f"slot-{who}-{number}={'taken' if code == 'success' else 'free'}" in lines
    assert any(code == "success" for done in outcomes.values() for _, code in done)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("write_file", {"content": "new\n"}), ("edit_file", {"old_string": "old", "new_string": "new"})],
)
def test_f16_a_dry_run_changes_nothing(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    target = arena.root / "f.txt"
    target.write_text("old\n")
    arena.own()
    before = target.stat()
    outcome = arena.call(name, path="f.txt", dry_run=True, **arguments)

    assert (outcome.status, outcome.data["applied"]) == ("partial", False)
    assert "Dry-run only, no actual write performed." in outcome.text
    assert "-old\n+new\n" in outcome.data["diff"]
    assert (target.read_text(), target.stat().st_mtime_ns) == ("old\n", before.st_mtime_ns)
    assert not (arena.root / ".toolgate").exists()


PROTECTED = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".git//hooks/../hooks/x",
    "./.git/hooks/x",
    "sub/../.git/config",
    "g/hooks/x",
    "g/config",
    ".git",
    ".GIT/config",
    ".git/config.worktree",
    ".git/modules/m/hooks/x",
    "sub/.git/hooks/post-checkout",
    "sub/.git/config",
    ".toolgate/policy.toml",
    ".toolgate/agents/evil.md",
    ".toolgate/journal/journal.jsonl",
    "{root}/.git/hooks/x",
]


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "missing"])
@pytest.mark.parametrize("path", PROTECTED)
def test_f17_protected_paths_are_denied_in_any_spelling(arena: Arena, path: str, exists: bool) -> None:
    if exists:
        for folder in (".git/hooks", ".git/modules/m/hooks", "sub/.git/hooks", ".toolgate/agents"):
            (arena.root / folder).mkdir(parents=True)
        (arena.root / ".git/config").write_text("[core]\n")
        (arena.root / ".git/hooks/x").write_text("x\n")
    (arena.root / "sub").mkdir(exist_ok=True)
    (arena.root / "g").symlink_to(".git")
    before = {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")}
    path = path.format(root=arena.root)
    written, edited, dry = arena.calls(
        [
            ("write_file", {"path": path, "content": "evil\n"}),
            ("edit_file", {"path": path, "old_string": "x", "new_string": "evil"}),
            ("write_file", {"path": path, "content": "evil\n", "dry_run": True}),
        ]
    )

    assert (written.code, edited.code, dry.code) == ("ACCESS_DENIED",) * 3
    assert {found.relative_to(arena.root): found.lstat().st_mtime_ns for found in arena.root.rglob("*")} == before


def test_f17_another_name_of_a_protected_file_is_denied(arena: Arena) -> None:
    (arena.root / ".git").mkdir()
    (arena.root / "shared.cfg").write_text("[core]\n")
    (arena.root / ".git/config").symlink_to("../shared.cfg")

    assert arena.call("write_file", path="shared.cfg", content="x").code == "ACCESS_DENIED"


def test_f17_control_the_rest_of_a_repository_can_be_written(arena: Arena) -> None:
    (arena.root / ".git").mkdir()
    outcomes = arena.calls(
        [
            ("write_file", {"path": path, "content": "x\n"})
            for path in (".git/info/exclude", ".gitignore", ".github/workflows/ci.yml", "config", "hooks/x")
        ]
    )

    assert {outcome.status for outcome in outcomes} == {"success"}


def test_f17_whole_outputs_are_not_written_silently(arena: Arena) -> None:
    """The directory of whole outputs is an ordinary one: writing it asks, and nobody to ask means no."""
    import toolgate

    async def call() -> str:
        context = toolgate.ToolContext(workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding)
        toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        arguments = json.dumps({"path": "tool-output/x.json", "content": "x"})
        result = await toolset.handle(toolgate.ToolCall(id="1", name="write_file", arguments=arguments))
        return result.response.error.code.value if result.response.error else "allowed"

    assert run_as(arena.uid, lambda: asyncio.run(call())) == "APPROVAL_DENIED"
    assert not (arena.root / "tool-output").exists()


def test_f11_a_touched_file_with_the_same_content_is_no_conflict(arena: Arena) -> None:
    def attack() -> list[str]:
        import toolgate
        from toolgate.testing import AutoApprover

        async def session() -> list[str]:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            edit = {"path": "control.txt", "old_string": "control", "new_string": "mine"}
            statuses = []
            for name, given in (("read_file", {"path": "control.txt"}), ("edit_file", edit)):
                result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(given)))
                statuses.append(result.response.status.value)
                os.utime(arena.root / "control.txt", (time.time() + 5, time.time() + 5))
            return statuses

        return asyncio.run(session())

    assert run_as(arena.uid, attack) == ["success", "success"]
