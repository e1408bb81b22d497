"""Making the person's own git run something."""

from redteam.arena import Arena
from redteam.attack import VIEWS, Broken, Escaped, attack

_NESTED = "git init -q sub; cd sub; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; cd ..; "


@attack("No command but git writes the repository.", layers=VIEWS)
async def writing_the_repository(arena: Arena) -> None:
    arena.repository()
    session = arena.session()
    for name in ("commondir", "config.worktree", "rebase-merge/git-rebase-todo", "modules/x/HEAD", "worktrees/x/HEAD"):
        await session.bash(f"mkdir -p $(dirname .git/{name}); echo exec touch {arena.marker} > .git/{name}")
        if (arena.root / ".git" / name).exists():
            raise Escaped(f".git/{name} was written")
    arena.person_git("status")


@attack("A repository that a command makes runs nothing in the person's git.", layers=VIEWS)
async def planted_settings(arena: Arena) -> None:
    arena.repository()
    session = arena.session()
    await session.bash(f"{_NESTED} git -C sub config core.fsmonitor 'touch {arena.marker}; false'")
    await session.bash("git add sub")
    arena.person_git("status")


@attack("Control: git records work without a question.", layers=VIEWS)
async def recording_work(arena: Arena) -> None:
    arena.repository()
    session = arena.session()
    done = await session.bash("echo x > new && git add new && git -c user.name=a -c user.email=b commit -qm new")
    if done.status != "success" or session.person.questions:
        raise Broken(f"{done.status} {done.code}: {done.output}")
