"""The first words of a command that a person may be offered to allow, with any words after them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolgate.command.analysis.program import AskRule, Program, program

if TYPE_CHECKING:
    from toolgate.command.analysis import CommandPlan

_VERB = re.compile(r"[a-z][a-z0-9:_-]*")
_WITH_VERBS = frozenset(
    """
    alembic bazel buck bundler cabal cargo composer dart django-admin docker dune dvc elm flit flutter gem git gleam go
    gradle gradlew hugo jekyll lein lerna mix mvn mvnw nx opam pip pip3 pnpm pod poetry rails react-scripts stack tofu
    turbo uv vite vue xcodebuild zig
    """.split()
)
"""Programs whose first word decides what they do, such as git. A rule about them always includes that word."""
_RUN_CODE = frozenset(
    """
    celery clj code crystal cucumber elixir flask fzf ghc ghci gunicorn history iex invoke ipython java jshell jupyter
    kotlinc lint-staged ltrace nim ninja nox open playwright pre-commit rake sbt scala set snakemake suspend swift tap
    tox ts-node tsx ulimit uvicorn watch xdg-open xdotool bind builtin enable hash let shopt
    """.split()
)
"""Programs that run code or programs that their words name, or change what later words mean."""
_RUNNING_VERBS = frozenset("console dlx eval exec repl run script shell test-script x".split())
"""First words with which a program runs what the next words name."""


def prefixes_of(analysed: CommandPlan) -> tuple[tuple[str, ...], ...]:
    """The first words, the fewest first; empty if only the exact call can be remembered.

    Words are offered only for a line that is one command, without any danger, script, definition or variable. Its
    program must be known not to run what its words name.
    """
    if analysed.dangers or analysed.unresolved or analysed.suspects or not analysed.plain:
        return ()
    if analysed.scripts or analysed.inputs or analysed.definitions or analysed.variables:
        return ()
    needed = [command for command in dict.fromkeys(analysed.commands) if command not in analysed.harmless]
    if len(needed) != 1:
        return ()
    return _prefixes(needed[0])


def _prefixes(words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    name, verb = words[0], words[1] if len(words) > 1 else ""
    found: list[tuple[str, ...]] = []
    if "/" in name or name in _RUN_CODE or not _is_known(program(name), name, verb):
        return ()
    if name not in _WITH_VERBS:
        found.append((name,))
    if _VERB.fullmatch(verb) and verb not in _RUNNING_VERBS and _is_quiet_verb(name, verb):
        found.append((name, verb))
    return tuple(found)


def _is_known(facts: Program, name: str, verb: str) -> bool:
    """Whether no argument makes the program run something else, or do something that a person should see."""
    if not (facts.ordinary or facts.reads) or facts.suspect or facts.keyword:
        return False
    if facts.wraps or facts.after or facts.joins or facts.code or facts.commands or facts.interprets or facts.shell:
        return False
    if name == "git":
        return True  # its first word decides
    rules = [rule for rule in facts.rules if not _is_for_other_verbs(rule, name, verb)]
    return not (rules or facts.reader or facts.build_files or facts.lists or facts.writes or facts.sends)


def _is_for_other_verbs(rule: AskRule, name: str, verb: str) -> bool:
    """Whether a rule asks only about other verbs than this one."""
    only_verbs = rule.verbs and not (rule.options or rule.operands or rule.unknown)
    return name in _WITH_VERBS and bool(only_verbs) and verb not in rule.verbs


def _is_quiet_verb(name: str, verb: str) -> bool:
    """Whether the table knows nothing about the first word that a person should see."""
    facts = program(f"{name}-{verb}")
    known = facts.ordinary or facts.reads or facts.reads_operands
    if name == "git" and not known:
        return False
    return not (facts.rules or facts.reader or facts.wraps or facts.code or facts.commands or facts.interprets)
