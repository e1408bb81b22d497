"""Reaching files outside the project."""

from redteam.arena import Arena, expect_question
from redteam.attack import CONFINED, LAYERS, Broken, attack


@attack("A command reads and writes nothing outside the project.")
async def paths_that_lead_out(arena: Arena) -> None:
    session = arena.session()
    (arena.root / "link").symlink_to(arena.outside)
    for access in ("read", "write"):
        for path in (arena.outside, arena.root / "link", arena.root / ".." / "root-evil"):
            await session.bash(f"cat {path}/secret.txt; echo x > {path}/new", access=access)


@attack("File tools stay inside the project, whatever a path says.", layers=LAYERS)
async def file_tools_that_lead_out(arena: Arena) -> None:
    session = arena.session(allow=True)
    (arena.root / "link").symlink_to(arena.outside)
    for path in ("../root-evil/secret.txt", "link/secret.txt", str(arena.outside / "secret.txt")):
        await session.call("read_file", path=path)
        await session.call("write_file", path=path, content="x")
        await session.call("grep", pattern=".", path=path)


@attack("The runtime's secrets are not in a command's environment.")
async def secrets_of_the_environment(arena: Arena) -> None:
    session = arena.session()
    await session.bash("env; export -p; cat /proc/self/environ /proc/1/environ /proc/$PPID/environ", access="read")


@attack("Removing what exists is asked about.", layers=LAYERS)
async def removing(arena: Arena) -> None:
    session = arena.session()
    await session.bash("rm README.md")
    expect_question(session, "'rm README.md' ran without a question")


@attack("Control: an ordinary command runs, and needs no question.", layers=CONFINED)
async def ordinary_command(arena: Arena) -> None:
    session = arena.session()
    access = "read" if arena.layer == "landlock" else "write"
    done = await session.bash("cat README.md | wc -l", access=access)
    if arena.layer == "landlock":
        return  # what Landlock alone does not enforce is asked about; the refusal is the right answer here
    if done.stdout.strip() != "1" or session.person.questions:
        raise Broken(f"{done.status} {done.code}: {done.output}")
