"""Names of tools: which are refused, and which look alike."""

from typing import Any

import pytest

from tests.kit import BOTH, Foreign, ProbeTool
from toolgate import CallableToolset, ToolMode, ToolRegistry, builtin_registry
from toolgate.errors import DeclarationError
from toolgate.tools.names import checked_name

ODD = [
    "a/../b",
    "x\0y",
    "n" * 65,
    "é",
    "read file",
    "read_file\u200b",
    "a.b",
    "",
    " ",
    "a\n",
    "\uff52ead",
    "tool!",
    "-\ud800",
]


class Spelled(str):
    """A text that answers for another one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("read_file")

    def __eq__(self, other: object) -> bool:
        return True


def named(name: Any) -> ProbeTool:
    return ProbeTool(name=name)


@pytest.mark.parametrize("name", [*ODD, None, 7, b"bytes", ["a"]])
def test_a_name_outside_the_rule_is_refused_and_the_registry_still_works(name: Any) -> None:
    registry = builtin_registry()
    before = registry.describe()
    with pytest.raises(DeclarationError, match="name"):
        registry.register(named(name))
    assert registry.describe() == before


@pytest.mark.parametrize("name", ODD)
def test_the_rule_is_the_same_for_foreign_tools_and_for_toolsets_without_a_registry(name: str) -> None:
    foreign = Foreign(lambda _: None, name=name)
    with pytest.raises(DeclarationError, match="name"):
        ToolRegistry().register(foreign, modes=[ToolMode.coding])
    for tool in (foreign, named(name)):
        with pytest.raises(DeclarationError, match="name"):
            CallableToolset([tool])


@pytest.mark.parametrize("name", ["a", "A-1", "_x_", "n" * 64, "mcp__server__tool", "0"])
def test_every_name_inside_the_rule_is_taken(name: str) -> None:
    registry = ToolRegistry()
    registry.register(named(name))
    assert registry.names() == [name]


def test_a_text_that_pretends_to_be_another_one_counts_as_what_it_says() -> None:
    registry = builtin_registry()
    registry.register(named(Spelled("probe")))
    name = registry.names()[-1]
    assert (name, type(name), checked_name(Spelled("probe"))) == ("probe", str, "probe")
    assert [type(definition.name) for definition in registry.describe()] == [str] * len(registry.names())


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("Read_File", "read_file"),
        ("READ_FILE", "read_file"),
        ("read-file", "read_file"),
        ("readFile", "read_file"),
        ("read__file", "read_file"),
        ("_read_file", "read_file"),
        ("read_file-", "read_file"),
        ("read_fi1e", "read_file"),
        ("read_fiIe", "read_file"),
        ("bash", "Bash"),
        ("B-a-s-h", "Bash"),
        ("g1ob", "glob"),
        ("gIob", "glob"),
        ("gl0b", "glob"),
        ("glOb", "glob"),
        ("Is", "ls"),
        ("1s", "ls"),
        ("t0do", "todo"),
        ("vvrite_file", "write_file"),
        ("rnemory-search", "memory_search"),
    ],
)
def test_a_name_that_looks_like_a_registered_one_is_refused(name: str, alike: str) -> None:
    registry = builtin_registry()
    for tool in (named(name), Foreign(lambda _: None, name=name)):
        modes = {} if isinstance(tool, ProbeTool) else {"modes": BOTH}
        with pytest.raises(ValueError, match=f"looks like '{alike}'"):
            registry.register(tool, **modes)
    assert name not in registry.names()


def test_names_that_differ_are_all_taken() -> None:
    registry = builtin_registry()
    names = ["read", "file_read", "read_files", "step_1_11", "step_11_1", "step_1", "step_2", "fail", "fall", "grep2"]
    for name in names:
        registry.register(named(name))
    assert registry.names()[-len(names) :] == names


def test_a_look_alike_may_come_once_the_first_is_gone() -> None:
    registry = builtin_registry()
    registry.unregister("read_file")
    registry.register(named("read-file"))
    with pytest.raises(ValueError, match="looks like 'read-file'"):
        registry.register(named("read_file"))
