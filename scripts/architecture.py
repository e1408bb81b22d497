"""Draw the pictures of docs/architecture.md from the code: `python scripts/architecture.py`, or `--check` them.

The rooms and their order come from the import contract in pyproject.toml, the words about them from their docstrings.
The ways are traced by `scripts/walk.py`. `--check` compares the rooms and their order, and looks for the modules that
people are told to read; single modules and sentences in the traced ways may be older than the code.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "toolgate"
PAGE = ROOT / "docs" / "architecture.md"
WIDTH = 120
_END = "```\n"
_FILE = re.compile(r"\b[a-z_]+(?:/[a-z_]+)*\.py\b")
_TRACED = re.compile(r"<!-- (?:call|turn): .*?```text\n.*?\n```", re.DOTALL)
SEVERAL_MACHINES = [
    ("gateway/methods.py", "takes the request of a client"),
    ("distributed/runner.py", "stores the turn and puts it into the queue of its workspace"),
    ("", "PostgreSQL: the queue, the log of the session, its lease"),
    ("distributed/worker.py", "a worker that serves the workspace claims the turn"),
    ("distributed/turn_executor.py", "takes the lease of the session, and resumes the session"),
    ("agent/turn.py", "asks the model and runs its calls, as on one machine"),
    ("sessions/turn_store.py", "writes every event to the log, with the fence of the lease"),
    ("", "PostgreSQL: NOTIFY with session and sequence number"),
    ("gateway/durable_feed.py", "a gateway hears that there is more to read"),
    ("gateway/channel.py", "reads the log from where it was"),
    ("gateway/watcher.py", "sends it to the clients that watch the session"),
]
"""Module, or empty for the database, and what happens there in a turn on several machines."""


def main() -> int:
    """Draw the pictures, or compare the page with the code."""
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        problems = list(check(page))
        print("\n".join(problems) or "docs/architecture.md is up to date.")
        return int(bool(problems))
    pictures = {
        "rooms": rooms_picture(),
        "call": way_picture("edit"),
        "turn": way_picture("turn"),
        "machines": machines_picture(),
    }
    for name, text in pictures.items():
        mark = f"<!-- {name}: made by scripts/architecture.py -->\n```text\n"
        before, _, rest = page.partition(mark)
        page = f"{before}{mark}{text}\n{_END}{rest.partition(_END)[2]}"
    PAGE.write_text(page, encoding="utf-8")
    return 0


def rooms() -> list[list[str]]:
    """The rooms from the top to the bottom, as the import contract has them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return [[one.strip(" ()") for one in line.split("|")] for line in contract[0]["layers"]]


def rooms_picture() -> str:
    """One line per room, the highest first."""
    lines = []
    for line in rooms():
        for name in line:
            folder = (PACKAGE / name).is_dir()
            lines.append(_fitting(f"{f'{name}/' if folder else f'{name}.py':<17}│ {_sentence(name)}"))
    lines.insert(0, f"{'room':<17}│ what lives there")
    lines.insert(1, f"{'─' * 17}┼{'─' * 60}")
    return "\n".join([*lines, f"{'':<17}▼ imports go only in this direction"])


def way_picture(walk: str) -> str:
    """The rooms in the order in which a way first enters them, and the first modules that it meets in each."""
    modules = list(dict.fromkeys(_way(walk)))
    entered = dict.fromkeys(path.partition("/")[0] for path in modules)
    lines = []
    for number, name in enumerate(entered, start=1):
        own = [path for path in modules if path.partition("/")[0] == name]
        for path in own[:4]:
            lead = f"{number:>2}  " if path == own[0] else "    "
            lines.append(_fitting(f"{lead}{path:<34} {_sentence(path.removesuffix('.py'))}"))
        if len(own) > 4:
            lines.append(f"    … and {len(own) - 4} more of {name}/")
    return "\n".join(lines)


def machines_picture() -> str:
    """One line per step, with the database between the machines."""
    lines = []
    for module, text in SEVERAL_MACHINES:
        lines.append(f"    {module:<34} {text}" if module else f"──  {text} {'─' * (70 - len(text))}")
    return "\n".join(lines)


def check(page: str) -> Iterator[str]:
    """What on the page is not as it is in the code."""
    drawn = re.search(r"<!-- rooms: .*?```text\n(.*?)\n```", page, re.DOTALL)
    found = re.findall(r"^([a-z_]+)(?:/|\.py)\s*│", drawn[1], re.MULTILINE) if drawn else []
    if found != [name for line in rooms() for name in line]:
        yield "The rooms or their order have changed: run python scripts/architecture.py."
    known = {name for line in rooms() for name in line}
    for block in _TRACED.findall(page):
        for name in sorted(set(re.findall(r"^ *\d+ +([a-z_]+)/", block, re.MULTILINE)) - known):
            yield f"There is no room {name}/: run python scripts/architecture.py."
    for path in sorted(set(_FILE.findall(_TRACED.sub("", page)))):
        if not any((folder / path).is_file() for folder in (PACKAGE, ROOT)):
            yield f"There is no {path}: run python scripts/architecture.py, or change the page."


def _way(walk: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "walk.py", walk, "--path"], capture_output=True, text=True, check=True
    )
    steps = [line.partition(":")[0] for line in done.stdout.splitlines()[:-1]]
    return [path for path in steps if "/" in path and not path.endswith("__init__.py") and _is_room(path)]


def _is_room(path: str) -> bool:
    return path.partition("/")[0] in {name for line in rooms() for name in line}


def _sentence(name: str) -> str:
    """The first sentence of a docstring."""
    path = PACKAGE / name
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = " ".join((ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0].rstrip(".")


def _fitting(line: str) -> str:
    """The line, shortened to whole words."""
    return line if len(line) <= WIDTH else f"{line[:WIDTH].rpartition(' ')[0]} …"


if __name__ == "__main__":
    sys.exit(main())
