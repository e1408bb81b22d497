"""Write the schemas into docs/wire.md: `python scripts/wire_docs.py`."""

from pathlib import Path

from toolgate.gateway.wire_schema import BEGIN, END, wire_markdown

PAGE = Path(__file__).parent.parent / "docs" / "wire.md"


def main() -> None:
    """Replace what stands between the marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + wire_markdown() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
