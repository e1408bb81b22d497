"""Write down what the built-in tools declare: `python scripts/tool_declarations.py`."""

import json
from pathlib import Path
from typing import Any

from toolgate.tools import builtin
from toolgate.tools.declaration import declaration_of
from toolgate.tools.written import write


def declarations() -> dict[str, Any]:
    """What is to be written down, by class."""
    tools = [*builtin.builtin_tools(), *builtin.agent_tools()]
    return {type(tool).__name__: write(declaration_of(tool)) for tool in tools}


def main() -> None:
    """Make all of them anew."""
    Path(builtin.__file__).with_name("declarations.json").write_text(
        json.dumps(declarations(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
