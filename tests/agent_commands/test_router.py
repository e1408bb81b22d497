"""What a command line is, and what the two handlers make of it."""

from pathlib import Path

import pytest

from toolgate import CallableToolset, ToolCall, ToolContext, ToolMode, ToolResult, Workspace, builtin_registry
from toolgate.agent_commands import COMMANDS, Native, RoutedCall, SessionCommand, Usage
from toolgate.agent_commands.router import BashWrapperHandler, CommandRouter, parse
from toolgate.shell.result import CommandResult
from toolgate.testing import AutoApprover


class FakeSession:
    """Remembers what it was asked to run."""

    def __init__(self, cwd: str = ".", files: frozenset[str] = frozenset()) -> None:
        self.ran: list[str] = []
        self.cwd = cwd
        self._files = files

    def exists(self, path: str) -> bool:
        return path in self._files

    async def execute(self, command: str) -> CommandResult:
        self.ran.append(command)
        return CommandResult(f"ran {command}\n", "", 0)


async def no_dispatch(call: ToolCall) -> ToolResult:
    raise AssertionError(f"{call} was dispatched")


async def test_bash_passes_the_command_on_without_the_prefix() -> None:
    session = FakeSession()
    result = await BashWrapperHandler(session).execute("bash echo hi")
    assert (session.ran, result) == (["echo hi"], CommandResult("ran echo hi\n", "", 0))


async def test_bash_without_arguments_is_a_usage_error() -> None:
    session = FakeSession()
    result = await BashWrapperHandler(session).execute("bash")
    assert (session.ran, result.exit_code, result.stderr) == ([], 2, "Usage: bash <command>\n")


@pytest.mark.parametrize(
    "command", ["bash -h", "bash --help", "bash    --help", "  bash\t -h  ", "bash --help\n", "bash bash -h"]
)
async def test_bash_help_runs_nothing(command: str) -> None:
    session = FakeSession()
    result = await BashWrapperHandler(session).execute(command)
    assert (session.ran, result.exit_code) == ([], 0)
    assert result.stdout.startswith("Usage: bash <command>\n")


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("bash echo -h", "echo -h"),
        ("bash echo --help", "echo --help"),
        ("bash   ls -la | head", "ls -la | head"),
        ("bash ls && rm x", "ls && rm x"),
        ("bash bash echo hi", "echo hi"),
        ("bash FOO=1 make", "FOO=1 make"),
        ("bash 'a b'", "'a b'"),
        ("bash \\\n ls", "\\\n ls"),
        ("bash -c 'rm x'", "bash -c 'rm x'"),
        ("bash -x script.sh", "bash -x script.sh"),
        ("bash --version", "bash --version"),
        ("bash --help x", "bash --help x"),
        ("bash -h x", "bash -h x"),
        ("bash script.sh a", "bash script.sh a"),
        ("bash ./script.sh", "bash ./script.sh"),
        ("bash 'script.sh'", "bash 'script.sh'"),
        ("bash /abs/s.sh", "bash /abs/s.sh"),
        ("bash nothere.sh", "nothere.sh"),
        ("bash $SCRIPT", "bash $SCRIPT"),
        ("bash <<EOF\nls\nEOF", "bash <<EOF\nls\nEOF"),
        ("bash < script.sh", "bash < script.sh"),
        ("bash; ls", "bash; ls"),
        ("bash | cat", "bash | cat"),
        ("bash && ls", "bash && ls"),
        ("bash\nls", "bash\nls"),
        ("bash\n--help", "bash\n--help"),
        ("bashful x", "bashful x"),
        ("bash-x", "bash-x"),
        ("/bin/bash ls", "/bin/bash ls"),
        ("bash=1", "bash=1"),
        ("echo bash", "echo bash"),
    ],
)
async def test_bash_unwraps_commands_and_leaves_the_real_bash_alone(command: str, runs: str) -> None:
    files = frozenset({"script.sh", "/abs/s.sh"})
    for handler in (BashWrapperHandler, lambda session: CommandRouter(session, no_dispatch)):
        session = FakeSession(files=files)
        await handler(session).execute(command)
        assert session.ran == [runs]


def test_an_existing_file_is_looked_for_in_the_shells_directory() -> None:
    assert parse("bash s.sh", "sub", {"sub/s.sh"}.__contains__) == Native(command="bash s.sh")
    assert parse("bash ../s.sh", "sub", {"s.sh"}.__contains__) == Native(command="bash ../s.sh")
    assert parse("bash s.sh", ".", {"sub/s.sh"}.__contains__) == Native(command="s.sh")


@pytest.mark.parametrize(
    "command",
    [
        "ls", "grep x f", "readme", "while read x; do echo $x; done", "read-file x", "reader", "writer f x", "./read f",
        "\\read f", "'read' f", "command read f", "builtin read x", "echo read f", "X=1 read f", "(read f)", "! read f",
        "read=1", "read x < f", "read x <<< text", "read x << EOF\nv\nEOF", "if read x; then ls; fi", "jobs; ls",
        "jobs | cat", "edits f a b", "READ f", "", "   ", "# read f", "read\\ f",
    ],
)  # fmt: skip
def test_what_is_no_agent_command_is_left_as_it_is(command: str) -> None:
    assert parse(command) == Native(command=command)


@pytest.mark.parametrize("command", ["read f | head", "  read 'a b' | head -3", "read f |& cat"])
def test_read_in_a_pipe_runs_as_bash_and_says_how_to_do_better(command: str) -> None:
    outcome = parse(command)
    assert isinstance(outcome, Native)
    assert outcome.command == command
    assert "read " in outcome.hint
    assert "--limit" in outcome.hint


@pytest.mark.parametrize(
    "command",
    ["write f x | cat", "edit f a b && ls", "todo a; ls", "write f x > g", "memory search x | head", "write f x\nls"],
)
def test_other_agent_commands_in_lists_run_as_bash_with_a_hint(command: str) -> None:
    outcome = parse(command)
    assert isinstance(outcome, Native)
    assert outcome.command == command
    assert "stands alone" in outcome.hint


async def test_the_hint_goes_to_stderr() -> None:
    session = FakeSession()
    result = await CommandRouter(session, no_dispatch).execute("read f | head")
    assert session.ran == ["read f | head"]
    assert "read f --limit" in result.stderr


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_agent_command_has_help(name: str, option: str) -> None:
    outcome = parse(f"{name}   {option}")
    assert isinstance(outcome, Usage)
    assert outcome.exit_code == 0
    assert outcome.text.startswith(f"Usage: {name}")
    assert parse(f"bash {name} {option}") == outcome


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("read", "<file> missing"),
        ("read a b", "only <file> are expected"),
        ("read f --offset x", "--offset must be a whole number of at least 0, not 'x'"),
        ("read f --offset -1", "--offset must be a whole number of at least 0, not '-1'"),
        ("read f --limit 0", "--limit must be a whole number of at least 1, not '0'"),
        ("read f --offset", "--offset needs a value"),
        ("read f --limit ٣", "--limit must be a whole number"),
        ("read -r x", "unknown option '-r'"),
        ("read f --ofset 1", "unknown option '--ofset'"),
        ("read $FILE", "'$FILE' contains something that a shell would expand"),
        ("read ~/x", "'~/x' contains something"),
        ("read $(ls)", "'$(ls)' contains something"),
        ("read `ls`", "'`ls`' contains something"),
        ('read "a$b"', "contains something"),
        ("read 'a", "a single quote is not closed"),
        ("write f", "<content> missing"),
        ("write f a b", "quote a word that contains blanks"),
        ("write f x <<EOF\ny\nEOF", "given twice"),
        ("write f <<EOF\n$x\nEOF", "quote the heredoc's delimiter"),
        ("write f <<EOF\nx", "not closed by a line 'EOF'"),
        ("edit f a", "<new> missing"),
        ("edit f a b <<EOF\nEOF", None),
        ("edit f a b c", "only <file> <old> <new>"),
        ("edit f -x y", "unknown option '-x'"),
        ("memory", "search or append is missing"),
        ("memory forget x", "'forget' is neither search nor append"),
        ("memory search", "<query> missing"),
        ("task explore", "<prompt> missing"),
        ("jobs nap 1", "'nap' is none of output, wait, stop"),
        ("jobs output", "<id> missing"),
        ("jobs stop a --timeout 3", "--timeout is for 'jobs wait' only"),
        ("todo --clear x", "--clear takes no items"),
        ("todo ''", "an item is blank"),
    ],
)
def test_a_mistake_is_named_with_the_usage_and_exit_code_2(command: str, said: str | None) -> None:
    outcome = parse(command)
    if said is None:
        assert isinstance(outcome, Native)
        return
    assert isinstance(outcome, Usage)
    assert outcome.exit_code == 2
    assert said in outcome.text
    assert f"\nUsage: {command.split()[0]}" in outcome.text


def test_routing_is_relative_to_the_shells_directory() -> None:
    assert parse("read f", "sub") == RoutedCall(
        command="read", tool_name="read_file", arguments={"path": "f", "start_line": 1}, cwd="sub"
    )


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("jobs", {"action": "list"}),
        ("jobs output job-1", {"action": "output", "id": "job-1"}),
        ("jobs wait job-1 --timeout 5", {"action": "wait", "id": "job-1", "timeout": 5}),
        ("jobs stop job-1", {"action": "stop", "id": "job-1"}),
    ],
)
def test_jobs_are_the_sessions_own(command: str, arguments: dict[str, object]) -> None:
    assert parse(command) == SessionCommand(command="jobs", arguments=arguments)


def test_tools_and_a_bare_todo_are_the_sessions_own() -> None:
    assert parse("tools file edit") == SessionCommand(command="tools", arguments={"query": "file edit"})
    assert parse("todo") == SessionCommand(command="todo")


class Router:
    """A router over real tools in a real directory."""

    def __init__(self, root: Path, cwd: str = ".", allow: bool = True) -> None:
        self.session = FakeSession(cwd)
        approver = AutoApprover(allow=allow)
        context = ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approver=approver)
        toolset: CallableToolset = builtin_registry().toolset(ToolMode.coding, context)
        self.router = CommandRouter(self.session, toolset.handle)

    async def execute(self, command: str) -> CommandResult:
        return await self.router.execute(command)


async def test_read_shows_a_stable_window(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(1, 10)))
    result = await Router(tmp_path).execute("read f --offset 2 --limit 3")
    assert result.stdout.splitlines() == ["     3\tline 3", "     4\tline 4", "     5\tline 5"]
    assert result.exit_code == 0


async def test_read_far_beyond_the_end_is_an_empty_success(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    result = await Router(tmp_path).execute("read f --offset 1000000000")
    assert result == CommandResult("", "", 0)


async def test_read_of_a_missing_file_names_it(tmp_path: Path) -> None:
    result = await Router(tmp_path).execute("read path/not-exists.txt")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "path/not-exists.txt" in result.stderr


async def test_read_outside_the_root_names_the_path(tmp_path: Path) -> None:
    result = await Router(tmp_path).execute("read /path/not-exists.txt")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "/path/not-exists.txt" in result.stderr


async def test_write_takes_a_heredoc(tmp_path: Path) -> None:
    result = await Router(tmp_path).execute("write a/b.py <<'EOF'\nprint(\"$x\")\n\ndone\nEOF\n")
    assert result.exit_code == 0
    assert (tmp_path / "a/b.py").read_text() == 'print("$x")\n\ndone\n'


async def test_write_onto_a_directory_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    result = await Router(tmp_path).execute("write d x")
    assert result.exit_code == 1
    assert "'d' is a directory" in result.stderr


async def test_edit_replaces_the_first_match_only(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a.b a.b a.b")
    result = await Router(tmp_path).execute("edit f a.b X")
    assert (result.exit_code, (tmp_path / "f").read_text()) == (0, "X a.b a.b")


async def test_edit_all_replaces_every_literal_match(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a.b axb a.b")
    result = await Router(tmp_path).execute("edit f 'a.b' 'X' --all")
    assert (result.exit_code, (tmp_path / "f").read_text()) == (0, "X axb X")


async def test_edit_without_a_match_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("abc")
    result = await Router(tmp_path).execute("edit f old_string new_string")
    assert result.exit_code == 1
    assert "not found" in result.stderr
    assert (tmp_path / "f").read_text() == "abc"


async def test_paths_start_from_the_shells_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/f").write_text("x\n")
    result = await Router(tmp_path, cwd="sub").execute("read f")
    assert result.stdout == "     1\tx"


async def test_a_denied_write_says_so(tmp_path: Path) -> None:
    result = await Router(tmp_path, allow=False).execute("write f x")
    assert result.exit_code == 1
    assert result.stderr != ""
    assert not (tmp_path / "f").exists()
