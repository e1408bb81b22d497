"""Addresses of pages as text."""

import pytest

from toolgate.errors import ToolError
from toolgate.web.urls import canonical, parse, redirected


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://Example.ORG", "https://example.org/"),
        ("HTTPS://example.org:443/a?b=c#d", "https://example.org/a?b=c"),
        ("http://example.org:8080/ä", "http://example.org:8080/%C3%A4"),
        ("https://example.org./x", "https://example.org/x"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
    ],
)
def test_an_address_has_one_spelling(url: str, text: str) -> None:
    assert parse(url).text == text
    assert canonical(url) == text


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x"),
        *("https://user:secret@example.org/", "https://example.org@evil.test/", "http://a b/", "http://a\\b/"),
        *("http://example.org:22/", "http://example.org:6379/", "http://example.org:0/", "http://example.org:99999/"),
        *(
            "http://[fe80::1%25eth0]/",
            "http://[::1",
            "http:///path",
            "http://exa\r\nmple/",
            "http://-/",
            "http://a_b_/",
        ),
        "https://example.org/" + "a" * 5000,
    ],
)
def test_what_is_no_address_of_a_page_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(ToolError, match="is not the address of a page"):
        parse(url)
    assert canonical(url) == url


def test_redirects_are_parsed_as_strictly() -> None:
    start = parse("https://example.org/a/b")
    assert redirected(start, "../c").text == "https://example.org/c"
    assert redirected(start, "//other.test/x").text == "https://other.test/x"
    with pytest.raises(ToolError):
        redirected(start, "file:///etc/passwd")
