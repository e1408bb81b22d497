"""`ls`."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.searching import call, open_descriptors, plant, unprivileged
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.tools.builtin.ls import ListFilesTool

LS = ListFilesTool()


async def test_entries_are_sorted_by_path_with_their_types(tmp_path: Path) -> None:
    plant(tmp_path, {"b": "", "a/x": "", "a-b": "", ".h": ""})
    (tmp_path / "l").symlink_to("a")

    response = await call(LS, tmp_path)

    assert response.to_dict() == {
        "status": "success",
        "data": {
            "entries": [
                {"path": "a-b", "type": "file"},
                {"path": "a/", "type": "dir"},
                {"path": "b", "type": "file"},
                {"path": "l", "type": "link"},
            ],
            "truncated": False,
        },
        "text": "Listed 4 entries in '.'. 1 hidden: pass include_hidden=true to see them.",
        "stats": {"total_entries": 4, "hidden_entries": 1},
        "context": {"path_resolved": "."},
    }


async def test_paths_are_relative_to_the_root(tmp_path: Path) -> None:
    plant(tmp_path, {"a/b/c": "", "a/b/d/e": ""})

    for path in ("a/b", str(tmp_path / "a" / "b"), "./a//b/", "a/x/../b"):
        response = await call(LS, tmp_path, path=path)

        assert [entry["path"] for entry in response.data["entries"]] == ["a/b/c", "a/b/d/"]
        assert response.context == {"path_resolved": "a/b"}


async def test_pages_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    plant(tmp_path, {f"f{number:03}": "" for number in range(25)})
    paths: list[str] = []
    while True:
        response = await call(LS, tmp_path, offset=len(paths), limit=10)
        paths += [entry["path"] for entry in response.data["entries"]]
        if response.status == "success":
            break
        assert response.data["truncated"] is True
        assert f"offset={len(paths)}" in response.text

    assert paths == [f"f{number:03}" for number in range(25)]


async def test_past_the_end_is_empty_and_complete(tmp_path: Path) -> None:
    plant(tmp_path, {"a": ""})

    response = await call(LS, tmp_path, offset=10**12)

    assert (response.status, response.data) == ("success", {"entries": [], "truncated": False})


async def test_hidden_entries_are_shown_on_request_and_temporary_files_never(tmp_path: Path) -> None:
    plant(tmp_path, {".git/x": "", ".h": "", ".toolgate-tmp-1": ""})

    response = await call(LS, tmp_path, include_hidden=True)

    assert response.data["entries"] == [{"path": ".git/", "type": "dir"}, {"path": ".h", "type": "file"}]


async def test_what_is_neither_directory_nor_link_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    assert (await call(LS, tmp_path)).data["entries"] == [{"path": "fifo", "type": "file"}]


async def test_names_that_are_not_utf8_are_replaced_and_said(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT))

    response = await call(LS, tmp_path)

    assert response.data["entries"] == [{"path": "\ufffd\ufffd", "type": "file"}]
    assert "not UTF-8" in response.text
    response.to_json().encode()


@pytest.mark.parametrize(
    ("path", "code"),
    [("nothing", ErrorCode.NOT_FOUND), ("file", ErrorCode.INVALID_PARAM), ("..", ErrorCode.ACCESS_DENIED)],
)
async def test_what_cannot_be_listed_is_an_error(tmp_path: Path, path: str, code: ErrorCode) -> None:
    plant(tmp_path, {"file": ""})

    with pytest.raises(ToolError) as failure:
        await call(LS, tmp_path, path=path)

    assert failure.value.code is code
    assert failure.value.next_step
    assert str(tmp_path) not in failure.value.message


async def test_a_directory_without_permission_is_an_error(public_path: Path) -> None:
    plant(public_path, {"d/x": ""})
    (public_path / "d").chmod(0)

    with unprivileged(), pytest.raises(ToolError) as failure:
        await call(LS, public_path, path="d")

    assert failure.value.code is ErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": True}, {"limit": "3"}, {"offset": -1}, {"offset": 1.5}, {"deep": True}]
)
async def test_wrong_arguments_are_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await call(LS, tmp_path, **arguments)


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    plant(tmp_path, {"a": ""})
    await call(LS, tmp_path)
    before = open_descriptors()

    for _ in range(5):
        await call(LS, tmp_path)

    assert open_descriptors() == before


async def test_a_tree(tmp_path: Path) -> None:
    plant(tmp_path, {"a/x/deep": "", "a/y": "", "b": "", ".h/z": "", ".git/config": ""})
    (tmp_path / "l").symlink_to("a")
    two = await call(LS, tmp_path, depth=2)
    three = await call(LS, tmp_path, path="a", depth=3)
    hidden = await call(LS, tmp_path, depth=5, include_hidden=True)

    assert [entry["path"] for entry in two.data["entries"]] == ["b", "l", "a/", "a/y", "a/x/"]
    assert [entry["path"] for entry in three.data["entries"]] == ["a/y", "a/x/", "a/x/deep"]
    assert ".h/z" in str(hidden.data["entries"])
    assert ".git/config" not in str(hidden.data["entries"])


async def test_a_tree_in_pages(tmp_path: Path) -> None:
    plant(tmp_path, {f"d{number}/f": "" for number in range(5)})
    page = await call(LS, tmp_path, depth=2, offset=2, limit=3)

    assert [entry["path"] for entry in page.data["entries"]] == ["d1/", "d1/f", "d2/"]
    assert (page.data["truncated"], page.stats["total_entries"], "offset=5" in page.text) == (True, 10, True)
