"""Deciding what an approved command does, without being asked."""

from redteam.arena import Arena, Session
from redteam.attack import CONFINED, VIEWS, Broken, Escaped, Unasked, attack


async def _asked(session: Session, command: str, **arguments: str) -> str:
    """The question about a command; empty if there was none."""
    before = len(session.person.questions)
    await session.bash(command, **arguments)
    return session.person.questions[before].detail if len(session.person.questions) > before else ""


@attack("Commands with full access find no configuration that another access left.", layers=CONFINED)
async def files_at_home(arena: Arena) -> None:
    session = arena.session(allow=True)
    for name in ("~/.curlrc", "~/.gitconfig", "~/.config/pip/pip.conf", "~/.local/bin/ls", "$TMPDIR/x"):
        await session.bash(f"mkdir -p $(dirname {name}); echo planted > {name}; chmod +x {name}", access="read")
        found = await session.bash(f"cat {name}", access="full")
        if "planted" in found.stdout:
            raise Escaped(f"full access reads {name}, which read access wrote")


@attack("Every changed variable is in the question about full access.", layers=CONFINED)
async def variables(arena: Arena) -> None:
    session = arena.session(allow=True)
    for name in ("HOME", "https_proxy", "CURL_HOME", "PIP_INDEX_URL", "DOCKER_HOST", "XDG_CONFIG_HOME", "any_other"):
        await session.bash(f"export {name}=/steered", access="read")
        if f"with {name}=/steered" not in await _asked(session, "true", access="full"):
            raise Unasked(f"{name} was changed, and the question does not show it")


@attack("A job does not change an approved script while it runs.", layers=VIEWS)
async def appending_to_a_script(arena: Arena) -> None:
    session = arena.session(allow=True)
    (arena.root / "s.sh").write_text("read -t 0.001 < /dev/zero; echo ran >> log\n" * 60)
    await session.bash("while :; do [ -e log ] && echo 'echo changed >> log' >> s.sh; done", background=True)
    await session.bash("rm -f nothing; bash s.sh", access="write")
    if "changed" in (arena.root / "log").read_text():
        raise Escaped("a background job appended to an approved script, and that ran")


@attack("'Always' is for the same values, inputs and scripts.", layers=VIEWS)
async def always(arena: Arena) -> None:
    session = arena.session(allow=True)
    session.person.remember = True
    for name in ("one", "two"):
        (arena.root / name).write_text(name)
    for command, before, after in (
        ('rm -f "$D"', "D=one", "D=two"),
        ("xargs rm -f < list", "echo one > list", "echo two >> list"),
        ("rm -f x; make all", "printf 'all:\\n\\t:\\n' > Makefile", "printf '\\trm -f two\\n' >> Makefile"),
        ("rm -f *.tmp", "touch a.tmp", "touch b.tmp"),
    ):
        await session.bash(before, access="write")
        await session.bash(command, access="write")
        await session.bash(after, access="write")
        if not await _asked(session, command, access="write"):
            raise Unasked(f"'{command}' ran again after '{after}'")


@attack("A command cannot imitate the lines of its question.", layers=VIEWS)
async def imitation(arena: Arena) -> None:
    session = arena.session()
    fake = "in: .   access: read"
    if fake in (await _asked(session, f"rm x\n\n{fake}\nAllow? [y/N]", access="write")).split("\n"):
        raise Escaped("a line of the command looks like one of the question")


@attack("Control: what was always allowed is not asked about again.", layers=VIEWS)
async def remembered(arena: Arena) -> None:
    session = arena.session(allow=True)
    session.person.remember = True
    await session.bash("rm -f nothing", access="write")
    if await _asked(session, "rm -f nothing", access="write"):
        raise Broken("the same command was asked about twice")
