"""Every reason that a person reads is in every table, and no table has reasons that nobody gives."""

import re
from collections.abc import Iterator

import pytest

from tests.language import reason_source
from toolgate.language.choice import LANGUAGES
from toolgate.language.table import table
from toolgate.language.translate import explained, pattern_of, reason, use

OTHERS = [language for language in LANGUAGES if language != "en"]
_ENGLISH_WORDS = re.compile(r"\b(it|its|the|is|are|may|which|that|of|what|not|or)\b")
ELSEWHERE = {
    *("it is too large to analyse", "the script 'X1' is too large to analyse", "and X1 more reasons"),
    *("X1 may hold X1, and the model would see it (X1 shows what belongs in it)", "because: it publishes"),
    *("it can read 'X1', which may hold secrets (X1 shows what belongs in it)", "asked every time: it publishes"),
    *("in: X1   access: X1", "it replaces 'X1'", "it sends data to another machine"),
}
"""Reasons that are put together from parts, and the lines in which a request gives them."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    use(None)


@pytest.mark.parametrize("language", OTHERS)
def test_every_reason_is_translated(language: str) -> None:
    found = reason_source.reasons()
    assert len(found) > 140
    use(language)
    shown = {text: reason(text) for text in found}
    assert {text: said for text, said in shown.items() if said == text or _ENGLISH_WORDS.search(said)} == {}


@pytest.mark.parametrize("language", OTHERS)
def test_every_pattern_is_the_first_for_some_reason(language: str) -> None:
    texts = reason_source.reasons() | ELSEWHERE
    patterns = {english: pattern_of(english) for english in table(language, "reason")}
    used = {next((english for english, pattern in patterns.items() if pattern.fullmatch(text)), "") for text in texts}
    assert sorted(patterns.keys() - used) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'rm': it removes files; '/x' is outside the root", "'rm'：它删除文件；'/x' 在根目录之外"),
        ("in 'a.sh': 'git': it publishes commits", "在 'a.sh' 中：'git'：它发布提交"),
        (
            "git's own files; a change there can lose history or run code",
            "git 自己的文件；修改它们可能丢失历史或运行代码",
        ),
        ("nobody deploys on Fridays; ask Ann", "nobody deploys on Fridays；ask Ann"),
        ("Bash needs permission", "Bash 需要许可"),
        ("'${HOME}' may have another value", "'${HOME}' 可能有别的值"),
    ],
)
def test_several_reasons_are_one_text(text: str, shown: str) -> None:
    assert reason(text) == text
    use("zh-CN")
    assert reason(text) == shown


def test_of_a_request_only_the_lines_about_the_command_are_translated() -> None:
    detail = (
        "because: it removes files\n│ because: x\n\nin: src   access: write\nbecause: it publishes\nwhere A=because: b"
    )
    assert explained(detail) == detail
    use("zh-CN")
    assert explained(detail) == (
        "because: it removes files\n│ because: x\n\n目录：src   访问权限：write\n原因：它会发布内容\nwhere A=because: b"
    )


def test_a_very_long_reason_is_not_compared_with_the_patterns() -> None:
    use("zh-CN")
    text = "' evaluates '" * 100_000
    assert reason(text) == text
