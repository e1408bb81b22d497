"""A small project in which commands are judged, for every test of the analysis."""

from toolgate.command.analysis import CommandPlan, Kind, Surroundings, analyse

_KINDS: dict[str, Kind] = {
    **dict.fromkeys((".", "src"), "directory"),
    **dict.fromkeys(("f", "src/f", "run.sh", "list", "Makefile", "package.json"), "file"),
}
_ENTRIES = {".": ("f", "src", "run.sh", "list"), "src": ("f",)}

PROJECT = Surroundings(
    root="/project",
    home="/home/user",
    kind=lambda path: _KINDS.get(path, "absent"),
    entries=_ENTRIES.get,
    content={"run.sh": "rm x\n"}.get,
)


def judged(command: str) -> CommandPlan:
    """The plan of a command in that project."""
    return analyse(command, PROJECT)


def dangers(command: str) -> str:
    """Why it is asked about; empty if it is not."""
    return judged(command).reason
