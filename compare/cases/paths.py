"""Paths that lead out of the project: `../`, absolute paths, links, and other spellings."""

from __future__ import annotations

from compare.arena import Arena, Tools
from compare.case import Case, Outcome

ORDER = 4


def _paths(arena: Arena) -> dict[str, str]:
    """Name → a path that leads to the directory outside."""
    outside = arena.outside
    (arena.root / "sub").mkdir()
    (arena.root / "link").symlink_to(outside)
    (arena.root / "sub/relative").symlink_to("../../root-other")
    (arena.root / "chain").symlink_to("sub/relative")
    (arena.root / "up").symlink_to("..")
    (arena.home / "other").symlink_to(outside)
    return {
        "../": f"../{outside.name}",
        "sub/../../": f"sub/../../{outside.name}",
        "absolute": str(outside),
        "absolute with ..": f"{arena.root}/../{outside.name}",
        "double slash": f"/{outside}",
        "link": "link",
        "relative link": "sub/relative",
        "chain of links": "chain",
        "link to the parent": f"up/{outside.name}",
        "~": "~/other",
        "/proc/self/root": f"/proc/self/root{outside}",
        "/proc/self/cwd": f"/proc/self/cwd/../{outside.name}",
        "file://": f"file://{outside}",
    }


def count(arena: Arena) -> Outcome:
    """Read, write and edit outside by every path; a person who is asked refuses."""
    passed, tried, asked = [], 0, 0
    with arena.tools(allows=False) as tools:
        for name, path in _paths(arena).items():
            for way in ("read", "write", "edit"):
                if way in tools.abilities:
                    tried += 1
                    got_out, questions = _tried(arena, tools, way, path)
                    asked += questions > 0
                    if got_out:
                        passed.append(f"{way} {name}")
    return Outcome(bad=len(passed), of=tried, asked=asked, detail=tuple(passed))


def _tried(arena: Arena, tools: Tools, way: str, path: str) -> tuple[bool, int]:
    """Whether a call by that path read or changed anything outside, and how many questions it asked."""
    secret, new = arena.outside / "secret.txt", arena.outside / "new.txt"
    if way == "read":
        answer = tools.ask("read", path=f"{path}/secret.txt")
        return arena.secret in answer["text"], answer["asked"]
    if way == "write":
        answer = tools.ask("write", path=f"{path}/new.txt", text="x\n")
        changed = new.exists()
        new.unlink(missing_ok=True)
        return changed, answer["asked"]
    answer = tools.ask("edit", path=f"{path}/secret.txt", old=arena.secret, new="changed")
    changed = arena.secret not in secret.read_text()
    secret.write_text(arena.secret + "\n")
    return changed, answer["asked"]


PATHS = Case(
    name="paths",
    title="`../`, absolute paths and links: got out",
    counts="Thirteen spellings of a path to a directory outside the project, each read, written and edited as far as "
    "there is a tool for it. A person who is asked refuses. Counted are the calls that read or changed a file outside.",
    run=count,
    any_of=("read", "write", "edit"),
)
