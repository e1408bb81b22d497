"""The readme of the package: README.md with absolute links, because PyPI shows it away from the repository.

Hatchling runs this when it builds (`[tool.hatch.metadata.hooks.custom]`).
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)]+)\)")


def absolute(text: str, source: str, branch: str = "main") -> str:
    """Return Markdown whose relative links and images lead to the repository at `source`."""
    raw = source.replace("https://github.com/", "https://raw.githubusercontent.com/")
    text = _IMAGE.sub(rf"![\1]({raw}/{branch}/\2)", text)
    return _LINK.sub(rf"[\1]({source}/blob/{branch}/\2)", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the field `readme` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md and make its links absolute."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, metadata["urls"]["Source"])}
