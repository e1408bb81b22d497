"""Paths that lead out of the root, as root and as nobody, by both ways to open."""

import json
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.arena import Arena, Outcome, arena_for
from tests.support.privileges import UIDS
from tests.workspace.kit import swapper
from toolgate.workspace.confine import Confinement

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


@pytest.fixture(params=["openat2", "walk"])
def how(request: pytest.FixtureRequest) -> Confinement:
    kind: Confinement = request.param
    return kind


def codes(outcomes: list[Outcome]) -> list[str | None]:
    return [outcome.code for outcome in outcomes]


def test_p01_a_path_that_climbs_out_is_denied(arena: Arena, how: Confinement) -> None:
    assert arena.call("read_file", how, path="../root-evil/secret.txt").code == "ACCESS_DENIED"


def test_p02_an_absolute_path_in_a_prefix_twin_is_denied(arena: Arena, how: Confinement) -> None:
    outcome = arena.call("read_file", how, path=str(arena.evil / "secret.txt"))

    assert outcome.code == "ACCESS_DENIED"


def test_p02_outside_nothing_says_whether_a_path_exists(arena: Arena, how: Confinement) -> None:
    there, nowhere = str(arena.evil / "secret.txt"), str(arena.evil / "nowhere.txt")
    first, second = arena.calls([("read_file", {"path": there}), ("read_file", {"path": nowhere})], confinement=how)

    assert first.text.replace(there, "") == second.text.replace(nowhere, "")


def test_p02_an_absolute_path_inside_the_root_is_accepted(arena: Arena, how: Confinement) -> None:
    assert arena.call("read_file", how, path=str(arena.root / "control.txt")).status == "success"


def test_p03_a_path_that_goes_down_and_then_out_is_denied(arena: Arena, how: Confinement) -> None:
    (arena.root / "sub").mkdir()

    assert arena.call("read_file", how, path="sub/../../root-evil/secret.txt").code == "ACCESS_DENIED"


@pytest.mark.parametrize("target", ["absolute", "relative"])
@pytest.mark.parametrize("path", ["d/../root-evil/secret.txt", "ROOT/d/../x.txt", "sub/../d/./../x.txt", "no/../../x"])
def test_p03_a_path_that_climbs_behind_a_link_that_leads_out_is_denied(
    arena: Arena, how: Confinement, target: str, path: str
) -> None:
    (arena.root / "sub").mkdir()
    (arena.root / "d").symlink_to(arena.evil if target == "absolute" else Path("../root-evil"))
    path = path.replace("ROOT", str(arena.root))
    outcomes = arena.calls(
        [
            ("read_file", {"path": path}),
            ("write_file", {"path": path, "content": "x"}),
            ("glob", {"path": path, "pattern": "*"}),
        ],
        confinement=how,
    )

    assert [(outcome.code, path in outcome.text) for outcome in outcomes] == [("ACCESS_DENIED", True)] * 3


@pytest.mark.parametrize("target", ["absolute", "relative"])
def test_p04_a_link_to_a_file_outside_is_denied(arena: Arena, how: Confinement, target: str) -> None:
    where = arena.evil / "secret.txt" if target == "absolute" else Path("../root-evil/secret.txt")
    (arena.root / "l").symlink_to(where)
    outcomes = arena.calls(
        [
            ("read_file", {"path": "l"}),
            ("edit_file", {"path": "l", "old_string": "a", "new_string": "b"}),
            ("grep", {"path": "l", "pattern": "[0-9a-f]{32}"}),
        ],
        confinement=how,
    )

    assert codes(outcomes) == ["ACCESS_DENIED", "ACCESS_DENIED", "ACCESS_DENIED"]


def test_p05_writing_through_a_link_to_a_directory_outside_is_denied(arena: Arena, how: Confinement) -> None:
    (arena.root / "d").symlink_to(arena.evil)
    outcomes = arena.calls(
        [
            ("write_file", {"path": "d/new.txt", "content": "x"}),
            ("write_file", {"path": "d/secret.txt", "content": "x"}),
            ("edit_file", {"path": "d/secret.txt", "old_string": "a", "new_string": "b"}),
        ],
        confinement=how,
    )

    assert codes(outcomes) == ["ACCESS_DENIED"] * 3


@pytest.mark.parametrize("target", ["../root-evil/new", "{evil}/new"])
def test_p06_a_dangling_link_to_the_outside_creates_nothing(arena: Arena, how: Confinement, target: str) -> None:
    (arena.root / "out").symlink_to(target.format(evil=arena.evil))

    assert arena.call("write_file", how, path="out", content="x").code == "ACCESS_DENIED"
    assert not (arena.evil / "new").exists()


def test_p07_nul_in_a_path_is_an_invalid_parameter(arena: Arena) -> None:
    outcomes = arena.calls(
        [
            ("read_file", {"path": "control.txt\0.png"}),
            ("write_file", {"path": "x\0../y", "content": "x"}),
            ("edit_file", {"path": "\0", "old_string": "a", "new_string": "b"}),
            ("ls", {"path": "\0"}),
        ]
    )

    assert codes(outcomes) == ["INVALID_PARAM"] * 4


@pytest.mark.parametrize("path", ["", "x" * 256, "a/" * 2100, "\ud800"], ids=["empty", "name", "path", "surrogate"])
def test_p07_what_cannot_be_a_path_is_an_invalid_parameter(arena: Arena, path: str) -> None:
    outcomes = arena.calls([("read_file", {"path": path}), ("write_file", {"path": path, "content": "x"})])

    assert codes(outcomes) == ["INVALID_PARAM", "INVALID_PARAM"]


@pytest.mark.parametrize(
    "path", ["p", "/proc/self/root/etc/passwd", "/proc/self/cwd/../root-evil/secret.txt", "/dev/fd/0", "fd/0"]
)
def test_p08_magic_links_are_denied(arena: Arena, how: Confinement, path: str) -> None:
    (arena.root / "p").symlink_to("/proc/self/environ")
    (arena.root / "fd").symlink_to("/proc/self/fd")

    assert arena.call("read_file", how, path=path).code == "ACCESS_DENIED"


@pytest.mark.torture
@pytest.mark.timeout(60 + 20 * TORTURE)
def test_p09_a_swapped_directory_is_never_read(arena: Arena, how: Confinement) -> None:
    from tests.support.privileges import run_as
    from toolgate import ToolError, Workspace

    def race() -> tuple[int, int, int]:
        workspace = Workspace(arena.root, confinement=how)
        read = denied = leaked = 0
        for _ in range(1000 * TORTURE):
            try:
                with workspace.open_file("d/secret.txt") as opened:
                    content = os.read(opened.fd, 100).decode()
                    read += content == "harmless\n"
                    leaked += content != "harmless\n"
            except ToolError as error:
                denied += error.code in ("ACCESS_DENIED", "NOT_FOUND")
        workspace.close()
        return read, denied, leaked

    read = denied = leaked = rounds = 0
    with swapper(arena):
        while rounds < 1 or (rounds < 100 and not (read and denied)):  # until both have had the processor
            counts = run_as(arena.uid, race)
            read, denied, leaked = read + counts[0], denied + counts[1], leaked + counts[2]
            rounds += 1
    assert (leaked, read + denied) == (0, 1000 * TORTURE * rounds)
    assert read > 0, "an implementation that refuses everything must fail"
    assert denied > 0, "the race never took place"


@pytest.mark.torture
@pytest.mark.timeout(60 + 20 * TORTURE)
def test_p10_writing_into_a_swapped_directory_changes_nothing_outside(arena: Arena, how: Confinement) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    for number in range(20 * TORTURE):
        calls += [
            ("write_file", {"path": "d/f", "content": f"{number}\n"}),
            ("edit_file", {"path": "d/f", "old_string": "0", "new_string": "1", "replace_all": True}),
            ("write_file", {"path": f"d/new{number}/x", "content": "x"}),
        ]
    codes: set[str | None] = set()
    with swapper(arena):
        for _ in range(30):  # a write has to find the good directory at every step: how often it does is chance
            codes |= {outcome.code for outcome in arena.calls(calls, confinement=how, swapping=True)}
            if None in codes:
                break

    assert codes <= {None, "ACCESS_DENIED", "NOT_FOUND", "CONFLICT", "INVALID_PARAM"}
    assert None in codes, "an implementation that refuses everything must fail"


def test_p11_a_root_that_was_a_link_stays_what_it_was(arena: Arena, how: Confinement) -> None:
    from tests.support.privileges import run_as
    from toolgate import Workspace

    link = arena.base / "R"
    link.symlink_to("root")
    (arena.evil / "control.txt").write_text(arena.canary)
    arena.own()

    def attack() -> tuple[bytes, bytes, bool]:
        workspace = Workspace(link, confinement=how)
        link.unlink()
        link.symlink_to("root-evil")
        with workspace.open_file("control.txt") as relative, workspace.open_file(str(link / "control.txt")) as absolute:
            return os.read(relative.fd, 100), os.read(absolute.fd, 100), workspace.root.name == "root"

    assert run_as(arena.uid, attack) == (b"control\n", b"control\n", True)


NAMES = [
    "..foo",
    "a..b",
    "...",
    "-rf",
    " x ",
    "new\nline",
    unicodedata.normalize("NFC", "é"),
    unicodedata.normalize("NFD", "é"),
    "*?[",
    "quote'\"",
]


@pytest.mark.parametrize("name", NAMES)
def test_p12_control_unusual_names_round_trip(arena: Arena, how: Confinement, name: str) -> None:
    written, read, listed = arena.calls(
        [
            ("write_file", {"path": f"sub/{name}", "content": "hello\n"}),
            ("read_file", {"path": f"sub/{name}"}),
            ("ls", {"path": "sub", "include_hidden": True}),
        ],
        confinement=how,
    )

    assert (written.status, read.status, read.data["content"]) == ("success", "success", "     1\thello")
    assert [entry["path"] for entry in listed.data["entries"]] == [f"sub/{name}"]
    assert (arena.root / "sub" / name).read_text() == "hello\n"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(".")])
def test_p12_control_unusual_names_are_found(arena: Arena, name: str) -> None:
    (arena.root / "sub").mkdir()
    (arena.root / "sub" / name).write_text("hello\n")

    assert arena.call("glob", pattern="sub/*").data["paths"] == [f"sub/{name}"]


def test_p12_control_a_relative_link_inside_the_root_is_followed(arena: Arena, how: Confinement) -> None:
    (arena.root / "sub").mkdir()
    (arena.root / "sub" / "up").symlink_to("../control.txt")
    (arena.root / "dir").symlink_to("sub")
    read, written = arena.calls(
        [("read_file", {"path": "dir/up"}), ("write_file", {"path": "dir/new", "content": "x"})], confinement=how
    )

    assert (read.status, written.status) == ("success", "success")
    assert (arena.root / "sub" / "new").read_text() == "x"


def test_p12_control_writing_through_a_link_changes_its_target_and_not_the_link(arena: Arena, how: Confinement) -> None:
    (arena.root / "real.txt").write_text("old\n")
    (arena.root / "link.txt").symlink_to("real.txt")
    outcome = arena.call("edit_file", how, path="link.txt", old_string="old", new_string="new")

    assert (outcome.status, outcome.context["path_resolved"]) == ("success", "real.txt")
    assert ((arena.root / "link.txt").is_symlink(), (arena.root / "real.txt").read_text()) == (True, "new\n")


@pytest.mark.parametrize("pattern", ["../**/secret*", "/etc/*", "**/../../root-evil/*"])
def test_p13_glob_finds_nothing_outside(arena: Arena, pattern: str) -> None:
    outcome = arena.call("glob", pattern=pattern)

    assert outcome.code == "ACCESS_DENIED" or outcome.data["paths"] == []


def test_p14_a_link_to_the_outside_is_listed_as_a_link_and_not_followed(arena: Arena, how: Confinement) -> None:
    (arena.root / "d").symlink_to(arena.evil)
    listed, inside, searched = arena.calls(
        [("ls", {"path": "."}), ("ls", {"path": "d"}), ("grep", {"pattern": "[0-9a-f]{32}"})], confinement=how
    )

    assert {"path": "d", "type": "link"} in [
        {key: entry[key] for key in ("path", "type")} for entry in listed.data["entries"]
    ]
    assert inside.code == "ACCESS_DENIED"
    assert searched.data["matches"] == []
    info = arena.evil.stat()
    shown = json.dumps([entry for entry in listed.data["entries"] if entry["path"] == "d"])
    assert str(info.st_mtime_ns) not in shown


def test_p15_link_loops_end_and_nothing_is_found_twice(arena: Arena) -> None:
    (arena.root / "self").symlink_to(".")
    for one, other in (("a", "b"), ("b", "a")):
        (arena.root / one).mkdir()
        (arena.root / one / "other").symlink_to(f"../{other}")
        (arena.root / one / "f.txt").write_text("needle\n")
    found, searched, listed = arena.calls(
        [("glob", {"pattern": "**/*.txt"}), ("grep", {"pattern": "needle"}), ("ls", {"path": "."})]
    )

    assert sorted(found.data["paths"]) == ["a/f.txt", "b/f.txt", "control.txt"]
    assert sorted(match["file"] for match in searched.data["matches"]) == ["a/f.txt", "b/f.txt"]
    paths = [entry["path"] for entry in listed.data["entries"]]
    assert len(paths) == len(set(paths))


def test_p16_no_directory_is_made_outside(arena: Arena, how: Confinement) -> None:
    (arena.root / "d").symlink_to(arena.evil)

    assert arena.call("write_file", how, path="d/x/y/z.txt", content="x").code == "ACCESS_DENIED"
    assert not (arena.evil / "x").exists()


@pytest.mark.parametrize("where", ["..", "/", "d", "{evil}"])
def test_p17_searching_and_listing_outside_is_denied(arena: Arena, where: str) -> None:
    (arena.root / "d").symlink_to(arena.evil)
    path = where.format(evil=arena.evil)
    outcomes = arena.calls(
        [("grep", {"path": path, "pattern": "."}), ("ls", {"path": path}), ("glob", {"path": path, "pattern": "*"})]
    )

    assert codes(outcomes) == ["ACCESS_DENIED"] * 3
