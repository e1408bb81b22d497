"""Every text for people is in every table, with the same values, and no table has texts that nobody shows."""

import re

import pytest

from tests.language import page_source
from toolgate.language.choice import LANGUAGES
from toolgate.language.table import Surface, table

OTHERS = [language for language in LANGUAGES if language != "en"]


def texts_of_the_page() -> set[str]:
    found = {text for script in page_source.scripts().values() for text in page_source.translated(script)}
    return found | page_source.html_texts() - {"Toolgate"}


@pytest.mark.parametrize("language", OTHERS)
def test_the_page_shows_exactly_the_texts_of_the_table(language: str) -> None:
    shown, known = texts_of_the_page(), table(language, "page").keys()
    assert len(shown) > 300
    assert (sorted(shown - known), sorted(known - shown)) == ([], [])


@pytest.mark.parametrize("surface", ["page", "terminal", "approval"])
@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_the_text(language: str, surface: Surface) -> None:
    def values(text: str) -> list[str]:
        return sorted(re.findall(r"\{[^{}]*\}", text))

    texts = table(language, surface)
    assert {text: shown for text, shown in texts.items() if values(text) != values(shown)} == {}
    assert [text for text, shown in texts.items() if not shown.strip()] == []


@pytest.mark.parametrize("name", page_source.scripts())
def test_a_script_of_the_page_has_no_text_that_is_not_translated(name: str) -> None:
    assert list(page_source.untranslated(page_source.scripts()[name])) == []


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('h("p", {}, "Not translated")', ["Not translated"]),
        ("toast(`${n} of the files`)", ["{0} of the files"]),
        ("toast(`${t`Yes` + `This ${n}`}`)", ["This {0}"]),
        ('h("p", { class: "quiet square" }, t`Translated ${"x"}`)', []),
    ],
)
def test_a_text_that_is_not_translated_is_found(script: str, found: list[str]) -> None:
    assert list(page_source.untranslated(script)) == found


def test_a_text_is_read_as_it_stands_in_the_table() -> None:
    script = 't`${a} of ${f({ b: t`two ${"}"}` })} lines`'
    assert list(page_source.translated(script)) == ["{0} of {1} lines", "two {0}"]


def test_english_and_unknown_languages_have_no_table() -> None:
    assert (dict(table("en", "page")), dict(table("fr", "terminal"))) == ({}, {})
