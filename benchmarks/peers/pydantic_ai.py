"""Pydantic AI."""

imports = "from pydantic_ai import Agent, FunctionToolset"


async def dispatch():
    from pydantic_ai import FunctionToolset, RunContext
    from pydantic_ai.messages import ToolCallPart, ToolReturnPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.usage import RunUsage

    async def add(a: int, b: int) -> dict:
        return {"sum": a + b}

    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    toolset = FunctionToolset([add], max_retries=10**9)
    manager = await ToolManager(toolset, default_max_retries=10**9).for_run_step(context)

    async def call(name, arguments):
        try:
            result = await manager.handle_call(ToolCallPart(name, arguments, tool_call_id="c1"))
        except Exception as error:
            return repr(error)
        return ToolReturnPart(name, result, tool_call_id="c1").model_response_str()

    return call
