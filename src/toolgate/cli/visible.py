"""Text from elsewhere, made safe to show: nothing in it can move the cursor, hide or reverse what a person reads."""

from toolgate.shell.analysis.visible import squeezed, visible

__all__ = ["excerpt", "squeezed", "visible"]


def excerpt(text: str, *, lines: int, width: int) -> tuple[str, bool]:
    """The start and the end of `text`, what is left out counted; and whether anything was left out."""
    rows = text.split("\n")
    cut = len(rows) > lines
    if cut:
        half = lines // 2
        rows = [*rows[:half], f"⟨{len(rows) - 2 * half} lines left out⟩", *rows[-half:]]
    clipped = [_clip(row, width) for row in rows]
    return "\n".join(clipped), cut or clipped != rows


def _clip(row: str, width: int) -> str:
    if len(row) <= width:
        return row
    half = width // 2
    return f"{row[:half]}⟨{len(row) - 2 * half} characters left out⟩{row[-half:]}"
