"""`translate` speaks the language of the process."""

from collections.abc import Iterator

import pytest

from toolgate.language.table import table
from toolgate.language.translate import current, phrase, translatable, translate, use


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    use(None)


def test_a_text_without_a_translation_is_english() -> None:
    use("zh-CN")
    assert translate("Nobody has translated this {what}.", what="text") == "Nobody has translated this text."


def test_values_are_inserted_as_they_are() -> None:
    assert translate("{a} and {b}", a="{b}", b="{0}") == "{b} and {0}"
    assert translate("not {text}", text="x") == "not x"
    assert translate("a brace { stays without values") == "a brace { stays without values"


def test_the_language_is_that_of_the_environment_until_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLGATE_LANGUAGE", raising=False)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert current() == "zh-CN"
    use("en")
    assert current() == "en"
    use(None)
    assert current() == "zh-CN"


def test_a_text_that_is_shown_later_stays_as_it_is() -> None:
    assert translatable("later") == "later"


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        table("zh-CN", "page")["Send"] = "x"  # type: ignore[index]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("edits to docs/a (b).md", "对 docs/a (b).md 的编辑"),
        ("Create 'x' (+1 -0 lines)", "新建 'x'（+1 -0 行）"),
        ("Run: git push (now)", "运行：git push (now)"),
        ("something that no pattern knows", "something that no pattern knows"),
        ("edits to {path}", "对 {path} 的编辑"),
    ],
)
def test_what_a_request_says_is_recognised(said: str, shown: str) -> None:
    assert phrase(said) == said
    use("zh-CN")
    assert phrase(said) == shown
