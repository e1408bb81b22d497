"""Which language a person reads."""

import pytest

from toolgate.language.choice import match, of_browser, of_environment


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("zh_CN.UTF-8", "zh-CN"),
        ("zh_CN.gb18030@stroke", "zh-CN"),
        ("zh", "zh-CN"),
        ("ZH-hans-SG", "zh-CN"),
        ("zh-TW", None),
        ("zh-Hant-CN", None),
        ("en_GB.UTF-8", "en"),
        ("de_DE.UTF-8", None),
        ("C.UTF-8", None),
        ("POSIX", None),
        ("", None),
    ],
)
def test_a_tag_has_at_most_one_language(tag: str, language: str | None) -> None:
    assert match(tag) == language


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "C", "LC_ALL": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh-CN"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "TOOLGATE_LANGUAGE": "en"}, "en"),
        ({"LANG": "C.UTF-8", "TOOLGATE_LANGUAGE": "zh-CN"}, "zh-CN"),
        ({"LANG": "zh_CN.UTF-8", "TOOLGATE_LANGUAGE": "auto"}, "zh-CN"),
        ({"TOOLGATE_LANGUAGE": "tlh"}, "en"),
    ],
)
def test_a_terminal_speaks_the_language_of_the_setting_or_the_locale(environ: dict[str, str], language: str) -> None:
    assert of_environment(environ) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
        ("en-US,en;q=0.9,zh-CN;q=0.8", "en"),
        ("en;q=0.5, zh-CN;q=0.7", "zh-CN"),
        ("fr-FR,fr;q=0.9", "en"),
        ("zh-TW,zh;q=0.9", "zh-CN"),
        ("zh-CN;q=0, en", "en"),
        ("zh-CN;q=many, en;q=0.1", "en"),
        (";;,,q=;zh", "en"),
        ("x," * 10_000 + "zh-CN", "en"),
    ],
)
def test_a_browser_gets_the_language_that_it_prefers(header: str, language: str) -> None:
    assert of_browser(header) == language
