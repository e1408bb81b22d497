"""Agent commands: the shape of their answers."""

import pytest

from toolgate import ToolResponse
from toolgate.agent_commands.answer import to_bash_response
from toolgate.protocol.codes import ErrorCode


def test_content_goes_to_stdout_and_the_tools_data_is_kept() -> None:
    data = {"content": "     1\tx\n", "truncated": False}
    answer = to_bash_response(ToolResponse.success(data, "Read all 1 lines.", context={"cwd": "sub"}), "read")
    assert answer.data == {
        "stdout": "     1\tx\n", "stderr": "", "exit_code": 0, "truncated": False, "sandbox": None, "routed": data,
    }  # fmt: skip
    assert (answer.status, answer.text, answer.context) == ("success", "Read all 1 lines.", {"cwd": "sub"})


def test_what_is_left_out_is_said_on_stderr() -> None:
    data = {"content": "     1\tx\n", "truncated": True}
    answer = to_bash_response(ToolResponse.partial(data, "More lines follow."), "read")
    assert (answer.status, answer.data["exit_code"], answer.data["truncated"]) == ("partial", 0, True)
    assert answer.data["stderr"] == "More lines follow.\n"


def test_text_goes_to_stdout_where_there_is_no_content() -> None:
    answer = to_bash_response(ToolResponse.success({"applied": True, "diff": "…"}, "Edited 'f'."), "edit")
    assert answer.data["stdout"] == "Edited 'f'.\n"


def test_lists_are_shown_as_the_tool_renders_them() -> None:
    response = ToolResponse.success({"items": []}, "The list has 1 items.")
    assert to_bash_response(response, "todo", lambda _: "The list\n[ ] a").data["stdout"] == "The list\n[ ] a\n"


def test_a_failed_command_is_partial_with_exit_code_1() -> None:
    response = ToolResponse.failure(ErrorCode.NOT_FOUND, "File 'f' does not exist.", next_step="List it.")
    answer = to_bash_response(response, "read")
    assert answer.status == "partial"
    assert answer.data["stderr"] == "File 'f' does not exist. List it.\n"
    assert (answer.data["stdout"], answer.data["exit_code"]) == ("", 1)


@pytest.mark.parametrize("code", [ErrorCode.MODE_DENIED, ErrorCode.APPROVAL_DENIED, ErrorCode.CANCELLED])
def test_a_denial_stays_an_error_and_keeps_the_shape(code: ErrorCode) -> None:
    answer = to_bash_response(ToolResponse.failure(code, "No."), "write")
    assert answer.error is not None
    assert (answer.error.code, answer.error.message) == (code, "No.")
    assert (answer.data["stdout"], answer.data["stderr"], answer.data["exit_code"]) == ("", "No.\n", 1)
