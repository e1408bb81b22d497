"""A memory for the tools of the memory."""

from typing import Any


class Notes:
    """A memory in a list."""

    def __init__(self, *notes: str) -> None:
        self.notes = list(notes)
        self.limits: list[int] = []

    async def append(self, content: str) -> None:
        self.notes.append(content)

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.limits.append(limit)
        return [{"content": note} for note in self.notes if query in note][:limit]
