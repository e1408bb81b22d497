"""From a tool's response to the result that the caller gets: complete, render, mask, truncate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.log import logger
from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import FAILURE_CATEGORY, ErrorCode
from toolgate.protocol.completion import UnusableResponseError, complete
from toolgate.protocol.envelope import ErrorInfo, Status, ToolResponse
from toolgate.protocol.jsontext import encode, encode_result, scrub
from toolgate.protocol.references import references
from toolgate.protocol.unvalidated import maker, trusted
from toolgate.runtime.failures import internal
from toolgate.runtime.invocation import Invocation, milliseconds_since
from toolgate.text.redaction import mask, secrets_of
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.truncator import Truncator
    from toolgate.workspace.threads import Stop

_new_response, _new_result = maker(ToolResponse), maker(ToolResult)
_SUCCESS = Status.success


def plain_result(invocation: Invocation, text: str, value: Any, limit: int) -> ToolResult | None:
    """The result of a plain value, in one step. None if the value is not plain or has more than `limit` characters."""
    try:
        output = f"{text}\n{encode_result(value)}"
    except (ValueError, TypeError, RecursionError):
        return None
    if len(output) > limit or not output.isascii():
        return None
    response = _new_response(
        {
            "status": _SUCCESS,
            "data": {"result": value},
            "text": text,
            "error": None,
            "stats": {"time_ms": milliseconds_since(invocation.started)},
            "context": {"cwd": ".", "params_input": invocation.arguments},
            "content": (),
        }
    )
    return _new_result(
        {
            "tool_call_id": invocation.call_id,
            "is_error": False,
            "output": output,
            "message": text,
            "extras": {},
            "response": response,
        }
    )


def plain_refusal(
    call_id: str, response: ToolResponse, arguments: Any, extras: dict[str, Any], limit: int
) -> ToolResult | None:
    """The result of a refusal that consists of words (`refused`). None if it has to be cut or cleaned first."""
    text = response.text
    if len(text) > limit or not text.isascii() or (type(arguments) is str and not arguments.isascii()):
        return None
    return _new_result(
        {
            "tool_call_id": call_id,
            "is_error": True,
            "output": text,
            "message": text,
            "extras": extras,
            "response": response,
        }
    )


def rendered(invocation: Invocation, response: ToolResponse) -> tuple[ToolResponse, str]:
    """The completed envelope and what the model reads. A tool whose response cannot be written is broken."""
    resolved, error = invocation.resolved, response.error
    own = None if resolved is None or resolved.plain_render else resolved.render
    try:
        completed, data = complete(
            response,
            arguments=invocation.arguments,
            milliseconds=invocation.milliseconds(),
            data_is_shown=own is None or error is not None,
        )
    except UnusableResponseError as problem:
        return _broken(invocation, str(problem))
    output: object = f"{completed.text}\n{data}" if data else completed.text
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        output = encode({"ok": False, **response.data.get("routed", response.data)})
    elif own is not None:
        try:
            output = own(completed)
        except BaseException as failure:  # noqa: BLE001 - a tool's own code: an error stays what it was, a result is broken
            logger("pipeline").error("render_failed", tool_name=invocation.name, error=type(failure).__name__)
            output = output if error is not None else None
    if not isinstance(output, str):
        return _broken(invocation, "could not render its result")
    return completed, output if output.isascii() else scrub(output)


def _broken(invocation: Invocation, problem: str) -> tuple[ToolResponse, str]:
    broken = internal((invocation.inner or invocation).name, problem)
    answer = broken if invocation.answer is None else invocation.answer(broken, str)
    completed, _ = complete(
        answer, arguments=invocation.arguments, milliseconds=invocation.milliseconds(), data_is_shown=True
    )
    return completed, completed.text


def extras_of(invocation: Invocation, response: ToolResponse) -> dict[str, Any]:
    """`extras` of the result: what kind of failure it was, if any."""
    extras, error = invocation.extras or {}, response.error
    if "failureCategory" in extras:
        return extras
    category = None
    if error is not None:
        category = FAILURE_CATEGORY.get(error.code, "execution_error")
    elif invocation.resolved is not None and invocation.resolved.categorises:
        category = invocation.resolved.tool.category(response)
    return {"failureCategory": category, **extras} if category else extras


def result_of(invocation: Invocation, response: ToolResponse, output: str) -> ToolResult:
    """The result, bound to the call's id."""
    error = response.error
    return _new_result(
        {
            "tool_call_id": invocation.call_id,
            "is_error": error is not None,
            "output": output,
            "message": response.text if error is None else error.message,
            "extras": extras_of(invocation, response),
            "response": response,
        },
    )


_TEXTS = frozenset({"data", "text", "stats", "context"})


class OutputLimits:
    """The truncator and the secrets of one context, looked up once."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        output = context.settings.tool_output
        self.surely_fits = min(output.max_lines, output.max_bytes // 4)
        """Up to this many characters, an output fits without being measured."""
        self.secrets = secrets_of(context.settings)
        self._truncator: Truncator | None = None

    def masked(self, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        """The response and its output without the runtime's own secrets."""
        fields = {name: mask(value, self.secrets) for name, value in response.__dict__.items() if name in _TEXTS}
        error = response.error
        if error is not None:
            error = trusted(ErrorInfo, {"code": error.code, "message": mask(error.message, self.secrets)})
        kept = {"status": response.status, "error": error, "content": response.content}
        masked = trusted(ToolResponse, {**fields, **kept})
        return masked, mask(output, self.secrets)

    def owned(self, response: ToolResponse) -> ToolResponse:
        """The response without paths of full outputs that the runtime did not write itself.

        What a result names is shown and served, so a tool must not name a file that is not its own output.
        """
        if "truncation" not in response.data and "full_output" not in response.data:
            return response
        named = references(response.data)
        kept = self._context.state.kept_outputs
        if kept.issuperset(named.values()):
            return response
        data = dict(response.data)
        if "whole" in named:
            data["truncation"] = {**data["truncation"], "full_output_path": None}
        if "full_output" in data:
            own = {name: path for name, path in data["full_output"].items() if path in kept}
            data["full_output"] = own
        return response.model_copy(update={"data": data})

    async def cut(self, invocation: Invocation, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        """The response and its output, within the limits."""
        from toolgate.workspace.threads import in_thread

        if self._truncator is None:
            from toolgate.runtime.truncator import Truncator

            self._truncator = Truncator(
                self._context.settings.tool_output, self._context.workspace, self._context.clock
            )
        truncator = self._truncator
        if not truncator.needs_cut(response, output):
            return response, output
        keep = "head"
        keep_data: tuple[str, ...] = ()
        if invocation.resolved is not None:
            keep, keep_data = invocation.declaration.keep, invocation.declaration.keep_data

        def cut(stop: Stop) -> tuple[ToolResponse, str]:
            return truncator.cut(invocation.name, keep, response, output, stop, keep_data=keep_data)

        return await in_thread(cut)
