"""Tools, calls and results in the formats of the providers, there and back, judged by the providers' own types."""

import json
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from anthropic.types import Message, MessageParam, RawMessageStreamEvent, ToolParam
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionChunk,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessage,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.responses import FunctionToolParam, Response, ResponseInputItemParam, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.pictures import png
from toolgate import ToolCall, ToolDefinition, ToolMode, ToolResponse, ToolResult, builtin_registry
from toolgate.adapters import anthropic_messages, openai_chat, openai_responses
from toolgate.adapters.formats import result_of
from toolgate.protocol.content import ImageContent

FORMATS = [openai_chat, openai_responses, anthropic_messages]
TOOL_TYPES: dict[ModuleType, Any] = {
    openai_chat: ChatCompletionFunctionToolParam,
    openai_responses: FunctionToolParam,
    anthropic_messages: ToolParam,
}
CALL_TYPES: dict[ModuleType, Any] = {
    openai_chat: ChatCompletionAssistantMessageParam,
    openai_responses: ResponseInputItemParam,
    anthropic_messages: MessageParam,
}
RESULT_TYPES: dict[ModuleType, Any] = {
    openai_chat: ChatCompletionToolMessageParam,
    openai_responses: ResponseInputItemParam,
    anthropic_messages: MessageParam,
}
CALLS = [
    ToolCall(id="call_1", name="grep", arguments='{"pattern":"TODO"}'),
    ToolCall(id="call_2", name="current_time", arguments="{}"),
]

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
each_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.__name__.rpartition(".")[2])


def pictured() -> ToolResult:
    """A result with a picture."""
    picture = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")
    response = ToolResponse.success({}, "a picture", content=(picture,))
    return ToolResult(tool_call_id="call_1", is_error=False, output="a picture", message="a picture", response=response)


def fits(kind: Any, documents: list[dict[str, Any]]) -> None:
    """The provider's own type accepts each of them."""
    adapter = TypeAdapter(kind)
    for document in documents:
        adapter.validate_python(document, strict=True)


@each_format
def test_all_built_in_tools_there_and_back(form: Any) -> None:
    definitions = builtin_registry().describe()

    tools = form.to_tools(definitions)

    fits(TOOL_TYPES[form], tools)
    assert form.from_tools(tools) == definitions


def test_the_registry_and_the_adapter_say_the_same() -> None:
    registry = builtin_registry()
    definitions = [tool.tool_definition for tool in registry.list_tools(ToolMode.coding)]

    assert openai_chat.to_tools(definitions) == registry.get_tools_schema(ToolMode.coding)


@each_format
def test_calls_there_and_back(form: Any) -> None:
    documents = form.to_calls(CALLS, "Let me look.")

    fits(CALL_TYPES[form], documents)
    found = form.from_calls(documents if form is openai_responses else documents[0])
    assert found == CALLS


@each_format
def test_results_there_and_back(form: Any) -> None:
    results = [result_of("call_1", "three matches"), result_of("call_2", "no such file", is_error=True)]

    documents = form.to_results(results)

    fits(RESULT_TYPES[form], documents)
    found: list[ToolResult] = form.from_results(documents)
    assert [(item.tool_call_id, item.output) for item in found] == [
        ("call_1", "three matches"),
        ("call_2", "no such file"),
    ]


def test_an_error_is_marked_where_the_format_has_a_mark() -> None:
    results = [result_of("a", "fine"), result_of("b", "bad", is_error=True)]

    (message,) = anthropic_messages.to_results(results)

    assert [block.get("is_error") for block in message["content"]] == [None, True]
    assert [item.is_error for item in anthropic_messages.from_results([message])] == [False, True]


@each_format
def test_nothing_makes_nothing(form: Any) -> None:
    assert (form.to_tools([]), form.to_results([]), form.from_results([])) == ([], [], [])


@each_format
@relaxed
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_every_output_survives(form: Any, text: str) -> None:
    (found,) = form.from_results(form.to_results([result_of("call_1", text)]))

    assert found.output == (text or ("(empty)" if form is anthropic_messages else ""))


@each_format
@relaxed
@given(
    arguments=st.dictionaries(
        TEXT,
        st.recursive(
            st.none() | st.booleans() | st.integers() | TEXT,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
            max_leaves=4,
        ),
        max_size=4,
    )
)
def test_every_argument_survives(form: Any, arguments: dict[str, Any]) -> None:
    documents = form.to_calls([ToolCall(id="call_1", name="x", arguments=json.dumps(arguments))])

    (found,) = form.from_calls(documents if form is openai_responses else documents[0])

    assert json.loads(found.arguments) == arguments


@pytest.mark.parametrize("form", [openai_chat, openai_responses])
def test_arguments_stay_exactly_as_the_model_wrote_them(form: Any) -> None:
    broken = [ToolCall(id="c", name="x", arguments='{"a": 1,')]

    documents = form.to_calls(broken)

    assert form.from_calls(documents if form is openai_responses else documents[0]) == broken


def test_arguments_that_do_not_parse_are_kept_in_an_object_where_the_format_wants_one() -> None:
    (message,) = anthropic_messages.to_calls([ToolCall(id="c/1", name="x", arguments='{"a": 1,')])

    assert message["content"] == [
        {"type": "tool_use", "id": "c_1", "name": "x", "input": {"unreadable_arguments": '{"a": 1,'}}
    ]


def test_objects_of_the_sdks_are_read_too() -> None:
    chat = ChatCompletionMessage.model_validate(openai_chat.to_calls(CALLS)[0])
    message = Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "x",
            "content": [
                {"type": "text", "text": "Let me look."},
                *anthropic_messages.to_calls(CALLS)[0]["content"],
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    response = Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "x",
            "output": [
                {"type": "reasoning", "id": "rs", "summary": []},
                *({**item, "id": "fc", "status": "completed"} for item in openai_responses.to_calls(CALLS)),
            ],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )

    assert openai_chat.from_calls(chat) == CALLS
    assert anthropic_messages.from_calls(message) == CALLS
    assert openai_responses.from_calls(response) == CALLS


def test_a_custom_call_keeps_its_id_and_input() -> None:
    chat = {"tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "x", "input": "raw"}}]}
    items = [{"type": "custom_tool_call", "call_id": "1", "name": "x", "input": "raw"}]

    expected = [ToolCall(id="1", name="x", arguments='{"input":"raw"}')]
    assert (openai_chat.from_calls(chat), openai_responses.from_calls(items)) == (expected, expected)


def test_other_kinds_of_tools_and_messages_are_passed_over() -> None:
    assert openai_chat.from_tools([{"type": "custom", "custom": {"name": "x"}}]) == []
    assert openai_responses.from_tools([{"type": "web_search"}]) == []
    assert anthropic_messages.from_tools([{"type": "bash_20250124", "name": "bash"}]) == []
    assert openai_chat.from_calls({"role": "assistant", "content": "hi"}) == []
    assert anthropic_messages.from_calls({"role": "assistant", "content": "hi"}) == []
    assert openai_chat.from_results([{"role": "user", "content": "hi"}]) == []
    assert anthropic_messages.from_results([{"role": "user", "content": "hi"}]) == []


def test_a_tool_without_a_schema_takes_an_object() -> None:
    expected = [ToolDefinition(name="x", description="", parameters={"type": "object", "properties": {}})]

    assert openai_chat.from_tools([{"type": "function", "function": {"name": "x"}}]) == expected
    assert openai_responses.from_tools([{"type": "function", "name": "x", "parameters": None}]) == expected


def test_a_stream_of_chat_chunks() -> None:
    stream = openai_chat.CallStream()
    pieces: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Let"},
        {
            "tool_calls": [
                {"index": 0, "id": "call_1", "type": "function", "function": {"name": "grep", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"pattern":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"TODO"}'}}]},
        {
            "tool_calls": [
                {
                    "index": 1,
                    "id": "call_2",
                    "type": "function",
                    "function": {"name": "current_time", "arguments": "{}"},
                }
            ]
        },
    ]
    for delta in pieces:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        document = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "x", "choices": [choice]}
        stream.add(ChatCompletionChunk.model_validate(document))
    stream.add({"id": "c", "choices": []})

    assert stream.finished() == CALLS


def test_a_stream_of_response_events() -> None:
    stream = openai_responses.CallStream()
    event: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    item = {"type": "function_call", "id": "fc", "call_id": "call_1", "name": "grep", "arguments": ""}
    second = {"type": "function_call", "id": "fd", "call_id": "call_2", "name": "current_time", "arguments": "{}"}
    about = {"item_id": "fc", "output_index": 1}
    documents: list[dict[str, Any]] = [
        {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "hi"}
        | {"logprobs": []},
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        {"type": "response.function_call_arguments.delta", **about, "delta": '{"pattern":'},
        {"type": "response.function_call_arguments.delta", **about, "delta": '"TODO"}'},
        {"type": "response.output_item.done", "output_index": 2, "item": second},
    ]
    for number, document in enumerate(documents):
        stream.add(event.validate_python({**document, "sequence_number": number}))

    assert stream.finished() == CALLS


def test_a_stream_of_message_events() -> None:
    stream = anthropic_messages.CallStream()
    event: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    documents: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "call_1", "name": "grep", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"pattern":'},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"TODO"}'}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "call_2", "name": "current_time", "input": {}},
        },
        {"type": "message_stop"},
    ]
    for document in documents:
        stream.add(event.validate_python(document))

    assert stream.finished() == CALLS


def test_no_sdk_is_imported() -> None:
    code = (
        "import sys, toolgate.adapters.openai_chat, toolgate.adapters.openai_responses, "
        "toolgate.adapters.anthropic_messages; print({'openai', 'anthropic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


def test_a_picture_is_content_of_the_providers_own_type() -> None:
    result = pictured()

    chat, shown = openai_chat.to_results([result])
    (item,) = openai_responses.to_results([result])
    (message,) = anthropic_messages.to_results([result])

    fits(ChatCompletionToolMessageParam, [chat])
    fits(ChatCompletionUserMessageParam, [shown])
    fits(ResponseInputItemParam, [item])
    fits(MessageParam, [message])
    assert shown["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert [part["type"] for part in item["output"]] == ["input_text", "input_image"]
    assert [part["type"] for part in message["content"][0]["content"]] == ["text", "image"]
    assert [found.output for found in openai_responses.from_results([item])] == ["a picture"]


@each_format
def test_a_model_that_takes_no_pictures_reads_their_names(form: Any) -> None:
    documents = form.to_results([pictured()], pictures=False)

    (found,) = form.from_results(documents)
    assert found.output == "a picture\n[Not shown: a.png (3 × 2). Only text reaches this model]"
    assert "iVBOR" not in json.dumps(documents)
