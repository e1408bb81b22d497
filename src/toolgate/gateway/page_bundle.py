"""Joins the modules that the page needs at once into one script, because forty small requests are slow.

Each module becomes a block with its own names, after the modules that it imports. What it exports is one object, which
later modules destructure where they imported it. Modules that are loaded when they are needed import it from the
script. So no module may wait for one of these at its top level: each would wait for the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_IMPORT = re.compile(r'^import (?:(\* as \w+|\{[^}\n]*\}) from )?"\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=((?:async )?function|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import (?!\()|export (?!(?:(?:async )?function|class|const) \w)).*", re.MULTILINE)
"""Forms that are not joined."""


class NotBundled(ValueError):
    """A module has a form that cannot be joined."""


def bundle(modules: Mapping[str, str], entry: str) -> dict[str, str]:
    """Return the scripts by name: the entry with all that it imports, and the modules that it does not import.

    `modules` are the texts by name, without the suffix.
    """
    order = list(_order(modules, entry, [], set()))
    blocks = [_block(name, modules[name]) for name in order]
    blocks.append(f"export {{ {', '.join(f'${name}' for name in order)} }};\n")
    later = {name: _lazy_module(text, order, entry) for name, text in modules.items() if name not in order}
    return {entry: "".join(blocks), **later}


def bundled_page(page: str, entry: str) -> str:
    """Return the HTML that loads the joined script in place of the modules."""
    return page.replace(f'src="static/{entry}.js"', f'src="static/joined/{entry}.js"')


def _order(modules: Mapping[str, str], name: str, waiting: list[str], done: set[str]) -> Iterator[str]:
    """Yield a module after everything that it imports, each once; `waiting` are those that import it."""
    if name in waiting:
        raise NotBundled(f"modules import each other: {' > '.join([*waiting, name])}")
    for _, other in _IMPORT.findall(modules[name]):
        if other not in done:
            yield from _order(modules, other, [*waiting, name], done)
    done.add(name)
    yield name


def _block(name: str, text: str) -> str:
    """Return a module as a block that sets `$name` to its exports."""
    if other := _OTHER.search(_IMPORT.sub("", text)):
        raise NotBundled(f"{name}.js: {other[0]}")
    body = _IMPORT.sub(lambda found: _binding(found[1], found[2]), text)
    exports = ", ".join(found[2] for found in _EXPORT.finditer(text))
    return f"// {name}.js\nlet ${name};\n{{\n{_EXPORT.sub('', body)}\n${name} = {{ {exports} }};\n}}\n"


def _lazy_module(text: str, order: list[str], entry: str) -> str:
    """Return a module that is loaded later: what was joined comes from the joined script."""

    def rebind(found: re.Match[str]) -> str:
        if found[2] not in order:
            return found[0]
        return f'import {{ ${found[2]} }} from "./{entry}.js"; {_binding(found[1], found[2])}'

    return _IMPORT.sub(rebind, text)


def _binding(names: str | None, module: str) -> str:
    """Return the statement that replaces an import; `names` is what the import has before `from`."""
    if not names:
        return ""
    if names.startswith("*"):
        return f"const {names.removeprefix('* as ')} = ${module};"
    return f"const {names.replace(' as ', ': ')} = ${module};"
