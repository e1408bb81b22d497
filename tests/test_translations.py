"""The Chinese pages keep step with the English ones: the same headings, the same code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAIRS = [(ROOT / "README.md", ROOT / "README.zh-CN.md")] + [
    (ROOT / "docs" / page.relative_to(ROOT / "docs/zh"), page) for page in sorted((ROOT / "docs/zh").rglob("*.md"))
]
TRANSLATED = {
    *("tutorial.md", "approvers.md", "ci-policy.md", "hardening.md", "security.md"),
    *("embedding.md", "evaluation.md", "plugins.md", "mcp-client.md", "mcp.md", "scale.md"),
    *(f"clients/{page.name}" for page in (ROOT / "docs/clients").glob("*.md")),
}
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def _code(page: Path) -> list[str]:
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def _headings(page: Path) -> list[int]:
    """The levels of the headings, in order."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


@pytest.mark.parametrize(("english", "chinese"), PAIRS, ids=lambda page: page.name)
def test_a_translation_has_the_same_code(english: Path, chinese: Path) -> None:
    assert _code(chinese) == _code(english)


@pytest.mark.parametrize(("english", "chinese"), PAIRS, ids=lambda page: page.name)
def test_a_translation_has_the_same_headings(english: Path, chinese: Path) -> None:
    assert _headings(chinese) == _headings(english)


@pytest.mark.parametrize(  # the Chinese page about security summarises the promises and links to their tests
    ("english", "chinese"), [pair for pair in PAIRS if pair[0].name != "security.md"], ids=lambda page: page.name
)
def test_a_translation_has_tables_of_the_same_size(english: Path, chinese: Path) -> None:
    rows = [
        len(re.findall(r"^\|", _FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)) for page in (english, chinese)
    ]

    assert rows[0] == rows[1]


def test_the_tutorial_the_guides_and_the_security_page_are_translated() -> None:
    assert {chinese.relative_to(ROOT / "docs/zh").as_posix() for _, chinese in PAIRS[1:]} == TRANSLATED


def test_the_links_of_the_chinese_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", PAIRS[0][1].read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
