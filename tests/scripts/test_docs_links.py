"""Pages of the site link to the repository where they leave docs/."""

from scripts.docs_links import complete, to_repository

REPOSITORY = "https://github.com/someone/something"


def test_a_link_out_of_the_pages_leads_to_the_repository() -> None:
    assert (
        to_repository("[a](../SECURITY.md#x)", "security.md", REPOSITORY)
        == f"[a]({REPOSITORY}/blob/main/SECURITY.md#x)"
    )
    assert to_repository("[a](../../tests/a.py)", "zh/a.md", REPOSITORY) == f"[a]({REPOSITORY}/blob/main/tests/a.py)"


def test_a_link_between_pages_stays() -> None:
    for text in ("[a](tools.md)", "[a](../tools.md#x)", "[a](https://example.org/../x)"):
        assert to_repository(text, "zh/a.md", REPOSITORY) == text


def test_a_page_that_the_navigation_does_not_name_is_listed_under_reference() -> None:
    nav = ["index.md", {"How-to": ["a.md"]}, {"Reference": ["b.md"]}]

    assert complete(nav, ["a.md", "b.md", "index.md", "new.md"]) == [
        "index.md",
        {"How-to": ["a.md"]},
        {"Reference": ["b.md", "new.md"]},
    ]
