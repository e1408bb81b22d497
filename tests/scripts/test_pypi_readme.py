"""The readme on PyPI leads to the repository."""

from scripts.pypi_readme import absolute

SOURCE = "https://github.com/someone/something"


def test_links_and_images_become_absolute() -> None:
    text = "See [tools](docs/tools.md#names) and ![a page](docs/page.png)."

    assert absolute(text, SOURCE) == (
        "See [tools](https://github.com/someone/something/blob/main/docs/tools.md#names) and "
        "![a page](https://raw.githubusercontent.com/someone/something/main/docs/page.png)."
    )


def test_absolute_links_and_places_on_the_page_stay() -> None:
    text = "[a](https://example.org/x) [b](#five-lines) [c](mailto:x@example.org)"

    assert absolute(text, SOURCE) == text
