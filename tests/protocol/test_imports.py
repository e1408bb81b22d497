"""`import toolgate` is light, and says so itself."""

import subprocess
import sys

HEAVY = (
    "sqlalchemy",
    "starlette",
    "uvicorn",
    "httpx",
    "openai",
    "anthropic",
    "mcp",
    "structlog",
    "jsonschema_rs",
    "tree_sitter",
    "tree_sitter_bash",
    "opentelemetry",
)


def loaded(code: str) -> str:
    code = f"import sys; {code}; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_toolgate_loads_no_gateway_database_or_sdk() -> None:
    assert loaded("import toolgate") == "[]\n"


def test_defining_a_tool_loads_none_either() -> None:
    definition = "@toolgate.tool(modes=toolgate.ToolMode)\ndef f(a: int) -> int:\n    'F.'\n    return a"
    assert loaded(f"exec({'import toolgate' + chr(10) + definition!r})") == "[]\n"


def test_what_is_listed_is_not_loaded_and_what_is_not_there_is_an_attribute_error() -> None:
    listed = "assert set(toolgate.__all__) <= set(dir(toolgate)) and not hasattr(toolgate, 'no_such_name')"
    assert loaded(f"import toolgate; {listed}") == "[]\n"
