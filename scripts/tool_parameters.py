"""Write down what models are told about the built-in tools' arguments: `python scripts/tool_parameters.py`."""

import json
from pathlib import Path

from toolgate.tools import builtin
from toolgate.tools.schema import parameters_schema


def main() -> None:
    """Make all of them anew."""
    schemas = {tool.name: parameters_schema(tool.Params) for tool in (*builtin.builtin_tools(), *builtin.agent_tools())}
    Path(builtin.__file__).with_name("parameters.json").write_text(
        json.dumps(schemas, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
