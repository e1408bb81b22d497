"""What a model reads of a result that has no form of its own."""

from toolgate import ToolResponse
from toolgate.tools.render import render_response


def test_a_result_without_data_is_its_text() -> None:
    assert render_response(ToolResponse.success({}, "done")) == "done"


def test_data_follows_the_text_as_compact_json() -> None:
    assert render_response(ToolResponse.success({"a": [1, "é"]}, "done")) == 'done\n{"a":[1,"é"]}'
