"""Store what the built-in tools declare in `declarations.json`: `python scripts/tool_declarations.py`."""

import json
from pathlib import Path
from typing import Any

from toolgate.tools import builtin
from toolgate.tools.declaration import declaration_of
from toolgate.tools.lazy_tool import declaration_to_json


def declarations() -> dict[str, Any]:
    """The declarations to store, by class name."""
    tools = [*builtin.builtin_tools(), *builtin.agent_tools()]
    return {type(tool).__name__: declaration_to_json(declaration_of(tool)) for tool in tools}


def main() -> None:
    """Write the file anew."""
    Path(builtin.__file__).with_name("declarations.json").write_text(
        json.dumps(declarations(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
