"""Commands that lose files or hold up the runtime without a question."""

import asyncio

from redteam.arena import Arena
from redteam.attack import LAYERS, VIEWS, Broken, Escaped, Unasked, attack

_LOSES = (
    "mv README.md /tmp/",
    "mv README.md ~/",
    "mv -n * /tmp/",
    'for name in *; do mv "$name" /tmp; done',
    'for name in *; do mv "$name" all; done',
    "find . -name 'README*' -exec mv {} /tmp \\;",
    "cp /dev/null README.m*",
    "cp /dev/null READM?.md",
    "tar cf README.md .",
    "gzip README.md",
    "TAR_OPTIONS=--remove-files tar cf x.tar README.md",
    "mkdir -p /tmp/new && cp README.md /tmp/new && cp -rT /tmp/new .",
    "rsync -a /tmp/new/ .",
    "python3 -m json.tool /dev/null README.md",
    "git bundle create README.md HEAD",
)
_RUN_BY_OTHERS = (
    "true; jobs -x rm README.md",
    "x86_64 rm README.md",
    "cmake -E rm README.md",
    "tmux new-session -d 'rm README.md'",
    "npm exec -c 'rm README.md'",
    "sqlite3 a.db '.sh rm README.md'",
    "fish -c 'rm README.md'",
    "dotenv -- rm README.md",
    "nix develop -c rm README.md",
    "frobnicate --exec='rm README.md'",
    "echo `echo \\`rm README.md\\``",
    "MAKEFLAGS='--eval=x:;rm README.md' make x",
    "GIT_ALLOW_PROTOCOL=ext git ls-remote 'ext::sh -c rm% README.md'",
    "git clone -u 'rm README.md' . out",
    'export "GIT_EDITOR=rm README.md"',
    "declare -n x=GIT_EDITOR; x='rm README.md'",
    "echo 'rm README.md' > a && cp a b && sh b",
    "echo 'ls' > c && sed -i 's/ls/rm README.md/' c && sh c",
    "python3 -m timeit -s 'import os' 'os.remove(\"README.md\")'",
    "go test -exec 'rm README.md'",
)
_KEEPS = ("cp README.md /tmp/", "cp README.md new", "echo rm", "grep rm README.md", "cat /etc/passwd", "which rm")
_LONG = {"directories": "cd a; " * 1500, "wrappers": "timeout -x " * 60 + "1 ls", "commands": "ls; " * 5000}


@attack("Files are not lost without a question.", layers=LAYERS)
async def losing_files(arena: Arena) -> None:
    session = arena.session()
    for number, command in enumerate((*_LOSES, *_RUN_BY_OTHERS), 1):
        await session.bash(command)
        if len(session.person.questions) != number:
            raise Unasked(f"{command!r} ran without a question")


@attack("Control: copies, reading and text need no question.", layers=VIEWS)
async def keeping_files(arena: Arena) -> None:
    session = arena.session()
    for command in _KEEPS:
        await session.bash(command, access="write")
        if session.person.questions:
            raise Broken(f"{command!r} was asked about")


@attack("No command holds up the event loop before it is permitted.", layers=LAYERS)
async def long_commands(arena: Arena) -> None:
    session = arena.session()
    for name, command in _LONG.items():
        turns = 0
        call = asyncio.ensure_future(session.bash(command))
        while not call.done():
            turns += 1
            await asyncio.sleep(0)
        await call
        if turns < 20:
            raise Escaped(f"the event loop stood still during a command of many {name}")
