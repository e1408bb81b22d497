"""Compare the lower bounds of pyproject.toml with the versions that a resolution chose: scripts/floors.py LOCK

A bound below the version that is tested is not true: another package needs more. Prints such bounds and exits with 1.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def untested(project: dict[str, object], lock: str) -> Iterator[str]:
    """Yield a line per bound of the core or of an extra that the locked version is above."""
    locked = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", lock))
    chosen = {canonicalize_name(name): Version(version) for name, version in locked.items()}
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    for text in [*project["dependencies"], *(one for extra in extras.values() for one in extra)]:  # type: ignore[misc]
        needed = Requirement(text)
        floor = next((Version(bound.version) for bound in needed.specifier if bound.operator == ">="), None)
        found = chosen.get(canonicalize_name(needed.name))
        if floor is not None and found is not None and found != floor:
            yield f"{needed.name}: pyproject.toml allows {floor}, but {found} is the lowest that can be installed"


def main() -> int:
    """Print the bounds that are not true."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = list(untested(project, Path(sys.argv[1]).read_text("utf-8")))
    for line in lines:
        print(f"floors: {line}: raise the bound", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
