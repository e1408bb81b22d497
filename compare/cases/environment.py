"""Secrets in the environment of the program that runs the tools: can a command see them?"""

from __future__ import annotations

import secrets

from compare.arena import Arena
from compare.case import Case, Outcome

ORDER = 8
NAMES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "DATABASE_URL",
    "STRIPE_SECRET_KEY",
    "SLACK_BOT_TOKEN",
    "NPM_TOKEN",
    "SSH_AUTH_SOCK",
    "ACME_PASSWORD",
)
_OWN = "env > seen.txt"
_ABOVE = "p=$$; for _ in 1 2 3 4; do cat /proc/$p/environ; p=$(cut -d' ' -f4 /proc/$p/stat); done >seen.txt 2>&1"
"""The variables of the processes that started the command."""


def count(arena: Arena, command: str) -> Outcome:
    """Write down what a command sees, and look for the values."""
    values = {name: f"{name.lower()}-{secrets.token_hex(8)}" for name in NAMES}
    with arena.tools(environment=values) as tools:
        tools.ask("run", command=command, seconds=30.0)
    file = arena.root / "seen.txt"
    text = file.read_bytes() if file.exists() else b""
    if b"PATH=" not in text:
        raise RuntimeError("the command did not write what it saw")
    seen = [name for name, value in values.items() if value.encode() in text]
    return Outcome(bad=len(seen), of=len(NAMES))


ENVIRONMENT = Case(
    name="environment",
    title="Secrets of the environment: in a command's own variables",
    counts="Ten variables with secrets are in the environment of the program that runs the tools. Counted are those "
    "that a command finds with `env`.",
    run=lambda arena: count(arena, _OWN),
    needs=("run",),
)
PARENT_ENVIRONMENT = Case(
    name="parent-environment",
    title="Secrets of the environment: in `/proc`",
    counts="The same ten variables. Counted are those that a command finds in `/proc/PID/environ` of the processes "
    "that started it.",
    run=lambda arena: count(arena, _ABOVE),
    needs=("run",),
)
