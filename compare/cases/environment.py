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
COMMANDS = {
    "env": "env > seen.txt",
    "/proc": "p=$$; for _ in 1 2 3 4; do cat /proc/$p/environ; p=$(cut -d' ' -f4 /proc/$p/stat); done >seen.txt 2>&1",
}
"""How a command looks: at its own variables, and at those of the processes that started it."""


def count(arena: Arena) -> Outcome:
    """Write down what a command sees, and look for the values."""
    values = {name: f"{name.lower()}-{secrets.token_hex(8)}" for name in NAMES}
    seen: set[str] = set()
    detail = []
    with arena.tools(environment=values) as tools:
        for way, command in COMMANDS.items():
            tools.ask("run", command=command, seconds=30.0)
            file = arena.root / "seen.txt"
            text = file.read_bytes() if file.exists() else b""
            if way == "env" and b"PATH=" not in text:
                raise RuntimeError("the command did not write what it saw")
            found = {name for name, value in values.items() if value.encode() in text}
            detail.append(f"{len(found)} by {way}")
            seen |= found
    return Outcome(bad=len(seen), of=len(NAMES), detail=tuple(detail))


ENVIRONMENT = Case(
    name="environment",
    title="Secrets of the environment: visible to a command",
    counts="Ten variables with secrets are in the environment of the program that runs the tools. Counted are those "
    "that a command finds with `env` or in `/proc`.",
    run=count,
    needs=("run",),
)
