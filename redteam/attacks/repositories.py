"""Making the person's own git run something."""

import toolgate
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


@attack("Where edits are accepted, file tools make no repository that the person's git obeys.", layers=VIEWS)
async def accepted_edits(arena: Arena) -> None:
    arena.repository()
    session = arena.session(approval_mode=toolgate.ApprovalMode.accept_edits)
    settings = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n"
    settings += f'\tfsmonitor = "touch {arena.marker}; false"\n'
    files = {"config": settings, "objects/x": "", "refs/x": "", "HEAD": "ref: refs/heads/main\n"}
    for path, content in files.items():
        await session.call("write_file", path=f"data/{path}", content=content)
    await session.call("write_file", path=".git/rebase-merge/git-rebase-todo", content=f"exec touch {arena.marker}\n")
    await session.bash("mkdir -p more/objects more/refs; echo 'ref: refs/heads/main' > more/HEAD")
    await session.call("write_file", path="more/config", content=settings)
    for directory in ("data", "more"):
        arena.person_git("status", directory=arena.root / directory)
    if (arena.root / ".git/rebase-merge").exists():
        raise Escaped("a file tool wrote below .git")


@attack("Control: git records work without a question.", layers=VIEWS)
async def recording_work(arena: Arena) -> None:
    arena.repository()
    session = arena.session()
    done = await session.bash("echo x > new && git add new && git -c user.name=a -c user.email=b commit -qm new")
    if done.status != "success" or session.person.questions:
        raise Broken(f"{done.status} {done.code}: {done.output}")
