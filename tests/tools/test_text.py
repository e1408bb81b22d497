"""Model-facing text lies beside its module."""

from pathlib import Path

import pytest

from toolgate.tools.text import counted, load_text


def test_the_text_beside_a_module_is_read_without_blank_edges(tmp_path: Path) -> None:
    (tmp_path / "tool.md").write_text("\nDoes it: é.\n\n", encoding="utf-8")

    assert load_text(str(tmp_path / "tool.py")) == "Does it: é."


def test_a_text_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "tool.md").write_text("Does it.", encoding="utf-8")
    load_text(str(tmp_path / "tool.py"))
    (tmp_path / "tool.md").unlink()

    assert load_text(str(tmp_path / "tool.py")) == "Does it."


def test_a_module_without_a_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_text(str(tmp_path / "tool.py"))


def test_one_is_not_many() -> None:
    assert [counted(number, "line") for number in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
