"""Every text for people is in every table, with the same values, and no table has texts that nobody shows."""

import re

import pytest

from tests.language import page_source, python_source
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


def texts_of_the_terminal() -> set[str]:
    modules = [*python_source.SOURCE.glob("cli/**/*.py"), *python_source.SOURCE.glob("gateway/*.py")]
    return {text for module in modules for text in python_source.translated(module)}


@pytest.mark.parametrize("language", OTHERS)
def test_the_chat_and_the_commands_show_exactly_the_texts_of_the_table(language: str) -> None:
    shown, known = texts_of_the_terminal(), table(language, "terminal").keys()
    assert len(shown) > 400
    differing = sorted(shown - known), sorted(known - shown)
    assert differing == ([], []), "to add to and to remove from language/zh-CN.toml"


def test_only_the_commands_and_the_gateway_translate() -> None:
    rooms = {path.relative_to(python_source.SOURCE).parts[0] for path in python_source.SOURCE.rglob("*.py")}
    others = [room for room in rooms - {"cli", "gateway", "language"} if not room.endswith(".py")]
    found = [path for room in others for path in (python_source.SOURCE / room).rglob("*.py")]
    assert [path for path in found if list(python_source.translated(path))] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_blanks_of_the_text_around_it(language: str) -> None:
    def blanks(text: str) -> tuple[str, str]:
        return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]

    texts = table(language, "terminal")
    assert {text: shown for text, shown in texts.items() if blanks(text) != blanks(shown)} == {}


def test_a_text_is_given_exactly_its_values() -> None:
    for module in [*python_source.SOURCE.glob("cli/**/*.py"), *python_source.SOURCE.glob("gateway/*.py")]:
        for text, given in python_source.values(module):
            assert set(re.findall(r"\{(\w+)\}", text)) == given, f"{module.name}: {text}"


@pytest.mark.parametrize("module", python_source.CONVERTED)
def test_a_module_has_no_text_for_people_that_is_not_translated(module: str) -> None:
    code = (python_source.SOURCE / module).read_text("utf-8")
    found = list(python_source.untranslated(code))
    assert found == [], "write them in translate(…), with a translation in language/zh-CN.toml"


def test_a_sentence_that_is_not_translated_is_found() -> None:
    code = 'say("nobody reads this")\nsay(translate("this one is"))\nsay(f"{x} also this")'
    assert list(python_source.untranslated(code)) == ["nobody reads this", " also this"]
