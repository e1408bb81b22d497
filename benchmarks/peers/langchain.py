"""LangChain's tools, alone and in a LangGraph node. Bad JSON is refused before them."""

lacks = {"dispatch": ("unknown", "badjson")}
imports = "from langchain_core.tools import tool"


def _add():
    from langchain_core.tools import tool

    @tool
    async def add(a: int, b: int) -> dict:
        """Add."""
        return {"sum": a + b}

    return add


def _parse(name, arguments):
    from langchain_core.output_parsers.openai_tools import parse_tool_call

    call = {"id": "c1", "function": {"name": name, "arguments": arguments}}
    return parse_tool_call(call, strict=False, partial=False, return_id=True)


async def _core():
    add = _add()
    tools = {add.name: add}

    async def call(name, arguments):
        try:
            parsed = _parse(name, arguments)
        except Exception as error:
            return repr(error)
        tool = tools.get(name)
        if tool is None:
            return f"{name} is not a valid tool"
        return (await tool.ainvoke({**parsed, "type": "tool_call"})).content

    return call


async def _node():
    from langchain_core.messages import AIMessage
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([_add()]))
    graph.set_entry_point("tools")
    graph.set_finish_point("tools")
    app = graph.compile()

    async def call(name, arguments):
        try:
            parsed = _parse(name, arguments)
        except Exception as error:
            return repr(error)
        result = await app.ainvoke({"messages": [AIMessage("", tool_calls=[parsed])]})
        return result["messages"][-1].content

    return call


dispatch = {"core": _core, "langgraph-node": _node}


class _Shell:
    """`ShellTool`, which keeps all of the output in memory."""

    def __init__(self):
        import warnings

        from langchain_community.tools import ShellTool

        warnings.simplefilter("ignore")
        self._tool = ShellTool()

    async def run(self, command):
        output = self._tool.run({"commands": [command]})
        assert output is not None
        return output

    async def close(self):
        pass


shell = _Shell
