"""Definitions, schemas, gates and results of tools, scenario by scenario."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.kit import PathParams, ProbeTool, call
from toolgate import CallableToolset, ToolContext, ToolMode, ToolRegistry, ToolResponse, Workspace, builtin_registry
from toolgate.testing import AutoApprover


@pytest.fixture
def approver() -> AutoApprover:
    return AutoApprover()


@pytest.fixture
def project(tmp_path: Path, approver: AutoApprover) -> Iterator[CallableToolset]:
    workspace = Workspace(tmp_path)
    context = ToolContext(workspace=workspace, mode=ToolMode.coding, approver=approver)
    yield CallableToolset(builtin_registry(), context)
    workspace.close()


async def use(project: CallableToolset, name: str, **arguments: Any) -> Any:
    return await project.handle(call(name, arguments))


@pytest.mark.parametrize("definition", builtin_registry().describe(), ids=lambda definition: definition.name)
def test_tool_basic_information(definition: Any) -> None:
    """工具基本信息 / Tool Basic Information"""
    assert definition.name
    assert len(definition.description) > 20
    assert definition.parameters["type"] == "object"
    assert definition.parameters["additionalProperties"] is False
    jsonschema_rs.meta.validate(definition.parameters)
    assert all(field.get("description") for field in definition.parameters["properties"].values())
    assert "$ref" not in json.dumps(definition.parameters)
    assert '"title"' not in json.dumps(definition.parameters)


async def test_tool_execution() -> None:
    """工具执行 / Tool Execution"""
    tool = ProbeTool(Params=PathParams)
    response = await tool.execute(PathParams(path="a"), ToolContext())
    assert response == ToolResponse.success({}, "done")


async def test_permission_requirements() -> None:
    """权限要求 / Permission Requirements"""
    approver = AutoApprover()
    tool = ProbeTool(requires_permission=True)
    toolset = CallableToolset([tool], ToolContext(approver=approver))
    assert not (await toolset.handle(call())).is_error
    assert len(approver.requests) == 1
    asking = {tool.name for tool in builtin_registry().list_tools(ToolMode.coding) if tool.requires_permission}
    assert asking >= {"write_file", "edit_file"}


def test_register_tool() -> None:
    """注册工具 / Register Tool"""
    registry, tool = ToolRegistry(), ProbeTool()
    registry.register(tool)
    assert registry.get("probe") is tool
    with pytest.raises(ValueError, match="already registered"):
        registry.register(ProbeTool())


def test_get_tool() -> None:
    """获取工具 / Get Tool"""
    registry = builtin_registry()
    tool = registry.get("read_file")
    assert tool is not None
    assert type(tool).__name__ == "FileReadTool"
    assert registry.get("nobody") is None


def test_list_tools() -> None:
    """列出工具 / List Tools"""
    described = {definition.name: definition.description for definition in builtin_registry().describe()}
    assert set(described) >= {
        "read_file",
        "write_file",
        "edit_file",
        "ls",
        "glob",
        "grep",
        "task",
        "current_time",
        "memory_search",
        "memory_append",
        "todo",
    }
    assert all(described.values())


def test_filter_tools() -> None:
    """过滤工具 / Filter Tools"""
    view = builtin_registry().filter(["grep", "nobody", "ls"])
    assert {definition.name for definition in view.describe()} == {"grep", "ls"}


@pytest.mark.parametrize("absolute", [False, True])
async def test_read_file(project: CallableToolset, tmp_path: Path, absolute: bool) -> None:
    """读取文件 / Read File"""
    (tmp_path / "a.txt").write_text("hello\n")
    path = str(tmp_path / "a.txt") if absolute else "a.txt"
    result = await use(project, "read_file", path=path)
    assert (result.response.status, result.response.data["content"]) == ("success", "     1\thello")
    missing = await use(project, "read_file", path=path + ".missing")
    assert missing.response.error.code == "NOT_FOUND"


async def test_write_file(project: CallableToolset, tmp_path: Path, approver: AutoApprover) -> None:
    """写入文件 / Write File"""
    created = await use(project, "write_file", path="new/deep/a.txt", content="one\n")
    overwritten = await use(project, "write_file", path="new/deep/a.txt", content="two\n")
    assert [created.response.data["applied"], overwritten.response.data["applied"]] == [True, True]
    assert (tmp_path / "new" / "deep" / "a.txt").read_text() == "two\n"
    assert [request.tool_name for request in approver.requests] == ["write_file", "write_file"]
    assert "-one" in approver.requests[1].detail
    assert "+two" in approver.requests[1].detail


async def test_write_file_that_is_not_confirmed(tmp_path: Path) -> None:
    """写入文件 / Write File: requests user confirmation"""
    workspace = Workspace(tmp_path)
    context = ToolContext(workspace=workspace, mode=ToolMode.coding, approver=AutoApprover(allow=False))
    result = await use(CallableToolset(builtin_registry(), context), "write_file", path="a.txt", content="x")
    workspace.close()
    assert (result.response.error.code, list(tmp_path.iterdir())) == ("APPROVAL_DENIED", [])


async def test_edit_file(project: CallableToolset, tmp_path: Path) -> None:
    """编辑文件 / Edit File"""
    (tmp_path / "a.txt").write_text("one two\n")
    edited = await use(project, "edit_file", path="a.txt", old_string="two", new_string="2")
    missed = await use(project, "edit_file", path="a.txt", old_string="three", new_string="3")
    assert (edited.response.data["replacements"], (tmp_path / "a.txt").read_text()) == (1, "one 2\n")
    assert missed.response.error.code == "INVALID_PARAM"
    assert "not found" in missed.message


async def test_content_search(project: CallableToolset, tmp_path: Path) -> None:
    """内容搜索 / Content Search"""
    (tmp_path / "a.py").write_text("before\ndef first(): ...\nafter\n")
    (tmp_path / "b.md").write_text("def second\n")
    result = await use(project, "grep", pattern=r"def \w+\(", before=1, after=1)
    assert result.response.data["matches"] == [
        {"file": "a.py", "line": 2, "text": "def first(): ...", "before": ["before"], "after": ["after"]}
    ]
    filtered = await use(project, "grep", pattern="def", file_type="md")
    assert [match["file"] for match in filtered.response.data["matches"]] == ["b.md"]
    included = await use(project, "grep", pattern="def", include="*.py")
    assert [match["file"] for match in included.response.data["matches"]] == ["a.py"]


async def test_file_pattern_matching(project: CallableToolset, tmp_path: Path) -> None:
    """文件匹配 / File Pattern Matching"""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt"):
        (tmp_path / name).write_text("")
    assert (await use(project, "glob", pattern="*.py")).response.data["paths"] == ["a.py"]
    deep = await use(project, "glob", pattern="**/*.py")
    assert deep.response.data["paths"] == ["a.py", "src/b.py", "src/deep/c.py"]
    assert (await use(project, "glob", pattern="src/?.{py,txt}")).response.data["paths"] == ["src/b.py", "src/d.txt"]
