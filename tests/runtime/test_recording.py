"""What is stored of arguments is bounded and redacted."""

from tests.kit import Foreign, PathParams, ProbeTool, code_of, run
from toolgate.testing import MemoryRecorder


async def test_e12_what_is_stored_of_arguments_is_bounded_and_redacted() -> None:
    recorder = MemoryRecorder()
    tool = Foreign(lambda _: "done")
    arguments = {"content": "x" * 1_000_000, "password": "hunter2", "nested": {"api_key": "k", "list": [1] * 10_000}}
    result = await run(tool, arguments, recorder=recorder)
    kept = "".join(record.model_dump_json() for record in recorder.records)
    assert len(kept) < 20_000
    assert "hunter2" not in kept
    assert "[redacted]" in kept
    assert result.response.context["params_input"] == arguments


async def test_e12_five_megabytes_are_too_much() -> None:
    recorder = MemoryRecorder()
    result = await run(ProbeTool(Params=PathParams), {"path": "x" * 5_000_000}, recorder=recorder)
    assert code_of(result) == "INVALID_PARAM"
    assert len("".join(record.model_dump_json() for record in recorder.records)) < 20_000


async def test_e12_what_is_stored_of_arguments_that_do_not_parse_is_bounded_too() -> None:
    recorder = MemoryRecorder()
    await run(ProbeTool(Params=PathParams), '{"password": "hunter2", "content": "' + "x" * 500_000, recorder=recorder)
    assert len("".join(record.model_dump_json() for record in recorder.records)) < 20_000
