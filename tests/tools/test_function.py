"""`@tool`: a function becomes a tool and stays a function."""

import asyncio
import threading
import warnings
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tests.kit import BOTH, code_of, run
from toolgate import ErrorCode, Tool, ToolContext, ToolError, ToolGroup, ToolMode, ToolResponse, tool
from toolgate.tools.function import parse_docstring


@tool(modes=BOTH)
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    They may be negative.

    Args:
        a: the first number,
            on two lines
        b (int): the second number

    Returns:
        int: not part of the description
    """
    return a + b


@tool(modes=BOTH)
async def greet(name: Annotated[str, Field(description="who is greeted", min_length=1)], context: ToolContext) -> str:
    """Greet someone.

    Args:
        name: loses against the annotation
        context: is never shown
    """
    return f"Hello {name} in {context.mode.value}"


def test_it_is_a_tool() -> None:
    assert isinstance(add, Tool)
    assert (add.name, add.allowed_modes, add.group, add.requires_permission) == ("add", BOTH, ToolGroup.code, False)


def test_it_stays_callable() -> None:
    assert (add(1), add(1, b=5)) == (3, 6)


async def test_its_types_are_the_functions() -> None:
    total: int = add(1, b=2)
    greeting: str = await greet("Ann", ToolContext())
    assert (total, greeting) == (3, "Hello Ann in chat_safe")
    with pytest.raises(TypeError):
        add("1")  # type: ignore[arg-type]  # mypy knows the parameters
    with pytest.raises(TypeError):
        add(1, c=2)  # type: ignore[call-arg]  # and their names


def test_without_parentheses_its_types_are_the_functions_too() -> None:
    @tool
    def half(number: int) -> float:
        """Halve."""
        return number / 2

    result: float = half(3)
    assert result == 1.5
    with pytest.raises(TypeError):
        half("3")  # type: ignore[arg-type]  # mypy knows the parameter


def test_modes_may_be_text() -> None:
    @tool(modes=["coding"])
    def build() -> None:
        """Build."""

    assert build.allowed_modes == frozenset({ToolMode.coding})


def test_it_keeps_the_functions_name_and_docstring() -> None:
    assert add.__name__ == "add"  # type: ignore[attr-defined]  # taken over from the function
    assert (add.__doc__ or "").startswith("Add two numbers.")


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    assert add.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "the first number, on two lines"},
            "b": {"type": "integer", "description": "the second number", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_the_description_is_the_docstring_before_its_sections() -> None:
    assert add.description == "Add two numbers.\n\nThey may be negative."


def test_an_annotation_beats_the_docstring_and_the_context_is_not_shown() -> None:
    assert greet.parameters["properties"] == {
        "name": {"type": "string", "description": "who is greeted", "minLength": 1}
    }


async def test_a_plain_value_becomes_the_result() -> None:
    result = await run(add, {"a": 1})
    assert (result.response.status, result.response.data) == ("success", {"result": 3})
    assert result.response.text


async def test_the_context_is_injected() -> None:
    assert (await run(greet, {"name": "Ada"})).response.data == {"result": "Hello Ada in coding"}


async def test_the_context_cannot_be_passed_by_the_model() -> None:
    result = await run(greet, {"name": "Ada", "context": {}})
    assert code_of(result) == "INVALID_PARAM"
    assert "context: unknown key" in result.message


@pytest.mark.parametrize("value", [None, [], {}, "", 0, False, [1, {"a": None}]])
async def test_every_json_value_may_be_returned(value: Any) -> None:
    @tool(modes=BOTH)
    async def give() -> Any:
        """Give it."""
        return value

    assert (await run(give)).response.data == {"result": value}


async def test_a_dict_with_an_error_is_a_plain_value_of_a_native_tool() -> None:
    @tool(modes=BOTH)
    async def give() -> dict[str, str]:
        """Give it."""
        return {"error": "just a word"}

    assert (await run(give)).response.data == {"result": {"error": "just a word"}}


async def test_a_response_is_kept() -> None:
    @tool(modes=BOTH)
    def give() -> ToolResponse:
        """Give it."""
        return ToolResponse.partial({"n": 1}, "Half. Use more.")

    result = await run(give)
    assert (result.response.status, result.response.data) == ("partial", {"n": 1})


async def test_a_tool_error_is_kept_from_a_thread_too() -> None:
    @tool(modes=BOTH)
    def fail() -> None:
        """Fail."""
        raise ToolError(ErrorCode.NOT_FOUND, "Gone.", "Look elsewhere.")

    assert code_of(await run(fail)) == "NOT_FOUND"


async def test_a_synchronous_function_does_not_block_the_loop() -> None:
    release = threading.Event()

    @tool(modes=BOTH)
    def block() -> bool:
        """Wait for the loop."""
        return release.wait(60)

    async def let_go() -> None:
        release.set()

    result, _ = await asyncio.gather(run(block), let_go())
    assert result.response.data == {"result": True}


@pytest.mark.parametrize(
    "error", [StopIteration(), GeneratorExit(), SystemExit(3), KeyboardInterrupt(), MemoryError(), ValueError("x")]
)
async def test_whatever_a_synchronous_function_raises_is_an_answer(error: BaseException) -> None:
    @tool(modes=BOTH)
    def fail() -> None:
        """Fail."""
        raise error

    assert code_of(await asyncio.wait_for(run(fail), 60)) == "INTERNAL_ERROR"


async def test_a_synchronous_function_that_runs_dry_is_an_answer() -> None:
    @tool(modes=BOTH)
    def first() -> int:
        """The first of nothing."""
        return next(iter(()))

    assert code_of(await asyncio.wait_for(run(first), 60)) == "INTERNAL_ERROR"


async def test_a_synchronous_function_that_returns_an_awaitable_is_awaited() -> None:
    @tool(modes=BOTH)
    def later() -> Any:
        """Later."""
        return asyncio.sleep(0, "now")

    assert (await run(later)).response.data == {"result": "now"}


async def test_parameters_may_be_named_like_methods_of_a_model() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @tool(modes=BOTH)
        async def names(schema: str, copy: bool, json: str, model_name: str, model_config: str = "") -> list[Any]:
            """Names that pydantic uses itself."""
            return [schema, copy, json, model_name, model_config]

    given = {"schema": "s", "copy": True, "json": "j", "model_name": "m", "model_config": "c"}
    assert list(names.parameters["properties"]) == list(given)
    assert (await run(names, given)).response.data == {"result": ["s", True, "j", "m", "c"]}


async def test_parameters_may_begin_with_an_underscore() -> None:
    @tool(modes=BOTH)
    async def private(_key: str) -> str:
        """A private name."""
        return _key

    assert (await run(private, {"_key": "x"})).response.data == {"result": "x"}


async def test_models_and_literals_are_validated_and_handed_over_as_what_they_are() -> None:
    class Point(BaseModel):
        x: int
        y: int = 0

    seen: list[Any] = []

    @tool(modes=BOTH)
    async def move(point: Point, how: Literal["slow", "fast"] = "slow", tags: list[str] | None = None) -> None:
        """Move."""
        seen.append((point, how, tags))

    assert code_of(await run(move, {"point": {"x": 1}, "how": "fast", "tags": ["a"]})) is None
    assert seen == [(Point(x=1), "fast", ["a"])]
    assert "$ref" not in str(move.parameters)
    result = await run(move, {"point": {"x": "1"}, "how": "now"})
    assert "point.x: " in result.message
    assert "how: " in result.message


async def test_a_default_is_not_shared_between_calls() -> None:
    @tool(modes=BOTH)
    async def collect(items: list[int] = []) -> list[int]:  # noqa: B006 - what is tested
        """Collect."""
        items.append(1)
        return list(items)

    assert [(await run(collect)).response.data for _ in range(2)] == [{"result": [1]}] * 2


def test_options_become_attributes() -> None:
    @tool(
        name="other",
        description="Described.",
        modes=[ToolMode.coding],
        group=ToolGroup.world,
        requires_permission=True,
        read_only=True,
        idempotent=True,
        timeout=3.0,
    )
    def anything() -> None:
        """Ignored."""

    assert (anything.name, anything.description, anything.group) == ("other", "Described.", ToolGroup.world)
    assert (anything.allowed_modes, anything.requires_permission) == (frozenset({ToolMode.coding}), True)
    assert (anything.read_only, anything.idempotent, anything.timeout) == (True, True, 3.0)


def test_without_parentheses_and_without_modes_it_is_closed() -> None:
    @tool
    def closed() -> None:
        """Closed."""

    assert (closed.name, closed.allowed_modes) == ("closed", frozenset())


def test_a_function_without_a_docstring_is_described_by_its_name() -> None:
    @tool(modes=BOTH)
    def silent() -> None: ...

    assert silent.description == "silent"


def test_a_parameter_without_a_type_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="'x' has no type"):

        @tool(modes=BOTH)
        def untyped(x) -> None:  # type: ignore[no-untyped-def]  # what is tested
            """Untyped."""


@pytest.mark.parametrize("kind", ["args", "kwargs", "positional"])
def test_parameters_that_json_cannot_name_are_refused_at_once(kind: str) -> None:
    def args(*values: int) -> None: ...
    def kwargs(**values: int) -> None: ...
    def positional(x: int, /) -> None: ...

    functions: dict[str, Any] = {"args": args, "kwargs": kwargs, "positional": positional}
    with pytest.raises(TypeError, match="plain named parameter"):
        tool(functions[kind])


def test_a_mode_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="admin"):
        tool(modes=["admin"])(lambda: None)  # type: ignore[list-item]  # what is tested


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("", ("", {})),
        ("Just this.", ("Just this.", {})),
        ("Do.\n\nArgs:\n    x: one\n    *rest: two\n\nReturns:\n    y: three", ("Do.", {"x": "one", "rest": "two"})),
        ("Do.\n\nArgs:\n    x:\n        below\n", ("Do.", {"x": "below"})),
        ("Do.\n\nArgs:\n    url: like http://x: y\n", ("Do.", {"url": "like http://x: y"})),
    ],
)
def test_docstrings(docstring: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_docstring(docstring) == expected
