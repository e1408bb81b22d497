"""More than 500 ordinary commands, and hundreds of dangerous ones, with what the default policy says about each."""

from pathlib import Path

from toolgate.command.analysis import Kind, Surroundings, analyse

CORPUS = Path(__file__).parents[2] / "data" / "commands.tsv"
FILES = frozenset(
    """
    README.md a.txt b.txt data.csv config.ini server.log package.json pyproject.toml Makefile requirements.txt run.sh
    scripts/build.sh src/main.py src/util.py tests/test_main.py main.c main.go prog dist.tar.gz dist.zip fix.patch
    .venv/bin/activate .venv/bin/python list.txt filelist.txt docs/index.md
    """.split()
)
DIRECTORIES = frozenset({".", "src", "tests", "build", "scripts", "docs", ".venv", ".venv/bin", "node_modules", ".git"})


def kind(path: str) -> Kind:
    return "file" if path in FILES else "directory" if path in DIRECTORIES else "absent"


def entries(directory: str) -> tuple[str, ...] | None:
    below = "" if directory == "." else f"{directory}/"
    paths = [path[len(below) :] for path in (*FILES, *DIRECTORIES - {"."}) if path.startswith(below)]
    return tuple(sorted({path.split("/")[0] for path in paths}))


AROUND = Surroundings(root="/project", home="/home/user", kind=kind, entries=entries)


def corpus() -> list[tuple[str, str]]:
    rows = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            verdict, command = line.split("\t", 1)
            rows.append((verdict, command.replace("⏎", "\n")))
    return rows


ROWS = corpus()


def wrong(verdict: str, *, asks: bool) -> list[str]:
    """The commands of a verdict for which the analysis says otherwise, with its reason."""
    plans = {command: analyse(command, AROUND) for expected, command in ROWS if expected == verdict}
    return [f"{command!r}: {plan.reason}" for command, plan in plans.items() if plan.asks is not asks]


def test_ordinary_commands_run_without_a_question() -> None:
    assert wrong("allow", asks=False) == []


def test_dangerous_commands_ask() -> None:
    assert wrong("ask", asks=True) == []


def test_the_needless_questions_are_the_ones_that_are_listed() -> None:
    assert wrong("ask?", asks=True) == []


def test_at_most_two_percent_of_500_ordinary_commands_ask_needlessly() -> None:
    ordinary = [verdict for verdict, _ in ROWS if verdict in ("allow", "ask?")]
    assert len(ordinary) >= 500
    assert ordinary.count("ask?") / len(ordinary) <= 0.02


def test_no_command_is_listed_twice() -> None:
    commands = [command for _, command in ROWS]
    assert sorted(commands) == sorted(set(commands))
