"""The command line of a Python that runs one module of this package and little else, so that it starts quickly."""

from __future__ import annotations

from pathlib import Path

from toolgate.process.executables import find_interpreter

PACKAGE = str(Path(__file__).parents[1])
"""The directory of this package."""
_OPTIONS = ("-I", "-S", "-X", "utf8")
_BOOT = """
import importlib, sys
package, bare, module = sys.argv[1:4]
for name, path in (("toolgate", package), ("toolgate." + bare, package + "/" + bare)):
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = [path]
importlib.import_module(module).main()
"""


def bare_python(module: str, *arguments: str, bare: str) -> list[str]:
    """The words that run the `main` of a module. Its `arguments` are `sys.argv[4:]`.

    Neither this package nor its room `bare` runs its `__init__`: those import what such a process does not need.
    """
    return [find_interpreter(), *_OPTIONS, "-c", _BOOT, PACKAGE, bare, module, *arguments]
