"""kosong: the tool layer under kimi-cli."""

imports = "from kosong.tooling import CallableTool2; from kosong.tooling.simple import SimpleToolset"


async def dispatch():
    import asyncio

    from kosong.message import ToolCall
    from kosong.tooling import CallableTool2, ToolOk, ToolReturnValue
    from kosong.tooling.simple import SimpleToolset
    from pydantic import BaseModel

    class Numbers(BaseModel):
        a: int
        b: int

    class Add(CallableTool2[Numbers]):
        name: str = "add"
        description: str = "add"
        params: type[Numbers] = Numbers

        async def __call__(self, params: Numbers) -> ToolReturnValue:
            return ToolOk(output=f'{{"sum": {params.a + params.b}}}')

    toolset = SimpleToolset([Add()])

    async def call(name, arguments):
        function = ToolCall.FunctionBody(name=name, arguments=arguments)
        result = toolset.handle(ToolCall(id="c1", function=function))
        if isinstance(result, asyncio.Future):
            result = await result
        return result.return_value.model_dump_json()

    return call
