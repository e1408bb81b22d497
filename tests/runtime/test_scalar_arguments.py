"""Functions whose parameters are strings, whole numbers and booleans: their arguments are read in one pass."""

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

import toolgate
from tests.kit import BOTH, call, code_of, toolset_of
from toolgate import ToolResult, Workspace
from toolgate.runtime.scalar_arguments import scalar_arguments
from toolgate.tools.declaration import declaration_of


@toolgate.tool(modes=BOTH)
async def probe(path: str, times: int = 1, quiet: bool = False) -> dict[str, Any]:
    """Probe."""
    return {"path": path, "times": times, "quiet": quiet}


@toolgate.tool(modes=BOTH, name="probe")
async def exact(path: str, times: int = 1, quiet: bool = False, never: float = 0.5) -> dict[str, Any]:
    """The same with a parameter that is not read in one pass."""
    return {"path": path, "times": times, "quiet": quiet}


async def answer(arguments: str, tool: Any = probe) -> ToolResult:
    return await toolset_of(tool).handle(call(arguments=arguments))


def seen(result: ToolResult) -> tuple[Any, ...]:
    """What both ways must have in common: the list of parameters in the words differs by one name."""
    extras = {key: value for key, value in result.extras.items() if key != "parseError"}
    return code_of(result), result.response.data, result.response.context["params_input"], extras


async def test_the_call_is_shown_as_given_and_the_function_gets_its_defaults_too() -> None:
    result = await answer('{"path": "a", "quiet": true}')
    assert result.response.data == {"result": {"path": "a", "times": 1, "quiet": True}}
    assert result.response.context["params_input"] == {"path": "a", "quiet": True}


def test_which_functions_are_read_so() -> None:
    @toolgate.tool(modes=BOTH)
    async def described(a: Annotated[int, Field(description="A number.")]) -> None:
        """Describe."""

    @toolgate.tool(modes=BOTH)
    async def bounded(a: Annotated[int, Field(ge=1)]) -> None:
        """Bound."""

    @toolgate.tool(modes=BOTH)
    async def changed(a: Annotated[str, AfterValidator(str.upper)]) -> None:
        """Change."""

    @toolgate.tool(modes=BOTH)
    async def nested(a: list[str]) -> None:
        """Nest."""

    @toolgate.tool(modes=BOTH, timeout=1)
    async def hurried(a: str) -> None:
        """Hurry."""

    @toolgate.tool(modes=BOTH)
    async def renamed(copy: str) -> None:
        """Rename: a model cannot have a field of this name."""

    @toolgate.tool(modes=BOTH)
    def threaded(a: str) -> None:
        """Block."""

    tools = (probe, described, bounded, changed, nested, hurried, renamed, threaded, exact)
    assert [tool for tool in tools if scalar_arguments(tool, declaration_of(tool)) is not None] == [probe, described]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"path": "a", "path": "b"}',
        '{"path": "a", "pa\\u0074h": "b"}',
        '{"path": "a", "times": 1, "times": 2}',
        '{"path": "a:b", "path": "b"}',
        '{"path": "a", "more": 1}',
        '{"path": 1}',
        '{"path": "a", "times": 1.0}',
        '{"path": "a", "times": true}',
        '{"path": "a", "quiet": 1}',
        '{"path": "\\ud800"}',
        '{"path": null}',
        '{"times": NaN, "path": "a"}',
        "{}",
        "",
        "[]",
        '{"path": "a"',
        '{"path": "' + "x" * (1 << 20) + '"}',
    ],
)
async def test_what_is_wrong_is_refused_as_everywhere(arguments: str) -> None:
    single, ordinary = await answer(arguments), await answer(arguments, exact)
    assert code_of(single) == "INVALID_PARAM"
    assert seen(single) == seen(ordinary)


@pytest.mark.parametrize("arguments", ["", "  ", "{}", "null", '{"a": 1}'])
async def test_a_function_without_parameters(arguments: str) -> None:
    @toolgate.tool(modes=BOTH, name="probe")
    async def nothing() -> str:
        """Do nothing."""
        return "done"

    result = await answer(arguments, nothing)
    assert code_of(result) == (None if not arguments.strip() or arguments == "{}" else "INVALID_PARAM")


KEYS = st.sampled_from(["path", "times", "quiet", "more", "pa:th"])
VALUES: st.SearchStrategy[Any] = (
    st.text(max_size=6) | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False) | st.just([])
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(KEYS, VALUES), max_size=4), st.booleans())
async def test_both_ways_say_the_same(pairs: list[tuple[str, Any]], ascii_only: bool) -> None:
    text = ", ".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=ascii_only)}" for key, value in pairs)
    single, ordinary = await answer(f"{{{text}}}"), await answer(f"{{{text}}}", exact)
    assert seen(single) == seen(ordinary)


async def test_a_rule_sees_the_values_of_arguments_that_were_left_out(tmp_path: Path) -> None:
    ran: list[str] = []

    @toolgate.tool(modes=BOTH, name="probe")
    async def by_default(path: str = "docs/a.md") -> None:
        """Probe."""
        ran.append(path)

    (tmp_path / ".toolgate").mkdir()
    rule = '[[rule]]\ntool = "probe"\nargs = { path = "docs/**" }\ndecision = "deny"\nreason = "done"\n'
    (tmp_path / ".toolgate" / "policy.toml").write_text(rule)
    toolset = toolset_of(by_default, workspace=Workspace(tmp_path))
    assert code_of(await toolset.handle(call())) == "APPROVAL_DENIED"
    assert code_of(await toolset.handle(call(arguments={"path": "src/a.py"}))) is None
    assert ran == ["src/a.py"]
