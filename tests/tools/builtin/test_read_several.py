"""Several files in one call of `read_file`."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.toolbox import Toolbox
from toolgate.settings import Settings


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"content of {name}\n")
    return Toolbox(tmp_path)


async def test_the_files_come_one_after_another(box: Toolbox) -> None:
    result = await box.result("read_file", path="a", paths=["b", "a", "c"])

    assert result.response.status == "success"
    assert [file["path"] for file in result.response.data["files"]] == ["a", "b", "c"]
    assert result.output.index("content of a") < result.output.index("== b ==") < result.output.index("content of c")


async def test_what_was_read_may_be_overwritten(box: Toolbox) -> None:
    await box("read_file", path="a", paths=["b"])

    assert (await box("write_file", path="b", content="new\n")).status == "success"


async def test_a_file_that_is_not_there_does_not_keep_the_others_back(box: Toolbox) -> None:
    response = await box("read_file", path="nope", paths=["b", "../out"])

    assert response.status == "partial"
    assert [file["read"] for file in response.data["files"]] == [False, True, False]
    assert "content of b" in response.data["content"]


async def test_none_that_can_be_read_is_an_error(box: Toolbox) -> None:
    response = await box("read_file", path="nope", paths=["../out"])

    assert response.error is not None
    assert "None of the files" in response.error.message


async def test_a_full_page_names_what_is_left(box: Toolbox) -> None:
    (box.root / "large").write_text("x" * 60 + "\n" + "line of text\n" * 5000)
    response = await box("read_file", path="large", paths=["b"])

    assert response.status == "partial"
    assert "not read yet: b" in response.text
    assert len(response.data["content"].encode()) < 60_000


async def test_a_rule_against_one_path_holds_for_it_among_others(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        '[[rule]]\ntool = "read_file"\nargs = { path = "secret" }\ndecision = "deny"\n'
    )
    root = tmp_path / "root"
    root.mkdir()
    (root / "open").write_text("public\n")
    (root / "secret").write_text("hidden\n")
    box = Toolbox(root, settings=Settings.defaults().model_copy(update={"policy_file": tmp_path / "policy.toml"}))
    response = await box("read_file", path="open", paths=["secret"])

    assert "public" in response.data["content"]
    assert "hidden" not in response.model_dump_json()


async def test_too_many_files_are_refused(box: Toolbox) -> None:
    response = await box("read_file", path="a", paths=["b"] * 20)

    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"


async def test_the_files_may_all_be_named_in_paths(box: Toolbox) -> None:
    response = await box("read_file", paths=["a", "b"])

    assert [file["path"] for file in response.data["files"]] == ["a", "b"]
    alone, named = await box("read_file", paths=["a"], limit=7), await box("read_file", path="a", limit=7)
    assert (alone.status, alone.text, alone.data) == (named.status, named.text, named.data)
    assert (await box("read_file", paths=[])).status == "error"


@pytest.mark.parametrize("paths", [["secret"], ["secret", "open"], ["open", "secret"]])
async def test_a_rule_against_a_path_holds_for_paths_alone(tmp_path: Path, paths: list[str]) -> None:
    (tmp_path / "policy.toml").write_text(
        '[[rule]]\ntool = "read_file"\nargs = { path = "secret" }\ndecision = "deny"\n'
    )
    root = tmp_path / "root"
    root.mkdir()
    (root / "open").write_text("public\n")
    (root / "secret").write_text("hidden\n")
    box = Toolbox(root, settings=Settings.defaults().model_copy(update={"policy_file": tmp_path / "policy.toml"}))

    assert "hidden" not in (await box("read_file", paths=paths)).model_dump_json()


@pytest.mark.parametrize("arguments", [{"paths": [".env"]}, {"path": ".env", "paths": ["a"]}])
async def test_a_secret_file_is_asked_about_once(box: Toolbox, arguments: dict[str, Any]) -> None:
    (box.root / ".env").write_text("KEY=1\n")
    response = await box("read_file", **arguments)

    assert "KEY=1" in response.data["content"]
    assert len(box.approver.requests) == 1
