"""Secret files ask before a tool or a command shows them; what a rule denies is shown by none."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import call, code_of
from toolgate import CallableToolset, ToolResult
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.modes import ApprovalMode
from toolgate.settings import Settings
from toolgate.testing import AutoApprover

SECRET = "hunter2-0123456789"
KEY = "-----BEGIN PRIVATE KEY-----\n" + SECRET.replace("-", "") * 4 + "\n"
DENY = """
[[rule]]
tool = "read_file"
args = { path = "vault/**" }
decision = "deny"
reason = "the vault is legal's."

[[rule]]
tool = "read_file"
args = { path = "plain.txt" }
decision = "deny"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / ".env").write_text(f"TOKEN={SECRET}\n")
    (root / ".env.example").write_text("TOKEN=\n")
    (root / "sub" / ".env").write_text(f"SUB={SECRET}\n")
    (root / "notes.txt").write_text(KEY)
    (root / "app.py").write_text("TOKEN = read()\n")
    (root / "link").symlink_to(".env")
    (root / "hard.txt").hardlink_to(root / ".env")
    return root


def settings(root: Path, rules: str = "", **shell: Any) -> Settings:
    policy = root.parent / "policy.toml"
    policy.write_text(rules)
    return Settings.of(policy_file=policy, shell=shell)


@asynccontextmanager
async def opened(root: Path, approver: Any = None, rules: str = "", **shell: Any) -> AsyncIterator[CallableToolset]:
    async with toolgate.open(
        root, mode="coding", approver=approver, settings=settings(root, rules, **shell)
    ) as toolset:
        yield toolset


def shown(result: ToolResult) -> str:
    return result.output + result.response.to_json() + result.message


SHOWING: list[tuple[str, dict[str, Any]]] = [
    *(("read_file", {"path": path}) for path in (".env", "./sub/../.env", "link", "hard.txt", "notes.txt", "sub/.env")),
    *(("grep", {"pattern": ".", "path": path}) for path in (".env", "link", "hard.txt", "notes.txt")),
    *(
        ("Bash", {"command": command})
        for command in (
            *("read .env", "read link", "cat .env", "cat < .env", "cat ./sub/../.env", "cd sub && cat .env"),
            *("cat '.e''nv'", "cat .en?", "head -1 sub/.*", "set -a; . ./.env; env", "cp .env /tmp/x && cat /tmp/x"),
            *("python3 -c \"print(open('.env').read())\"", 'mapfile -t a < .env; echo "${a[0]}"', "base64 .env"),
        )
    ),
]


@pytest.mark.parametrize(("tool", "arguments"), SHOWING)
async def test_k01_what_shows_a_secret_file_asks_first(project: Path, tool: str, arguments: dict[str, Any]) -> None:
    refusing, allowing = AutoApprover(allow=False), AutoApprover(allow=True)
    async with opened(project, refusing) as toolset:
        result = await toolset.handle(call(tool, arguments))
        assert (code_of(result), len(refusing.requests)) == ("APPROVAL_DENIED", 1)
        assert SECRET not in shown(result)
        assert SECRET.replace("-", "") not in shown(result)
    assert "secrets" in refusing.requests[0].summary + refusing.requests[0].detail
    async with opened(project, allowing) as toolset:
        result = await toolset.handle(call(tool, arguments))
        assert not result.is_error, result.output
        assert SECRET in shown(result) or SECRET.replace("-", "") in shown(result) or "base64" in str(arguments)


HIDING = [
    *("python3 -c \"import glob; print(open(glob.glob('.e*v')[0]).read())\"", "cat link", "cat hard.txt"),
    *("grep -rs TOKEN . ; true", "tar cf - . 2>/dev/null | strings; true", "find . -type f -exec cat {} + ; true"),
    *("for f in .[a-z]*; do cat $f; done; true", "x=.en; cat ${x}v; true", "ln .env other; cat other; true"),
    *("mv .env other; cat other; true", "mv sub moved; cat moved/.e* ; true", "cat $(printf '.%s' env); true"),
]


@pytest.mark.parametrize("command", HIDING)
@pytest.mark.parametrize("sandbox", ["bwrap", "landlock"])
async def test_k02_a_command_that_does_not_name_a_secret_file_cannot_read_it(
    project: Path, command: str, sandbox: str
) -> None:
    (project / "notes.txt").unlink()
    approver = AutoApprover(allow=False)
    async with opened(project, approver, sandbox=sandbox) as toolset:
        result = await toolset.handle(call("Bash", {"command": command, "access": "write"}))
        assert SECRET not in shown(result)
        after = await toolset.handle(call("Bash", {"command": "cat moved/.* other 2>/dev/null; true"}))
        assert SECRET not in shown(after)
    assert (project / ".env").read_text() == f"TOKEN={SECRET}\n"


async def test_k03_an_approved_command_sees_only_the_file_that_it_names(project: Path) -> None:
    async with opened(project, AutoApprover(allow=True)) as toolset:
        result = await toolset.handle(
            call("Bash", {"command": "cat sub/.env; python3 -c 'print(open(chr(46)+\"env\").read())'"})
        )
        assert f"SUB={SECRET}" in result.output
        assert f"TOKEN={SECRET}" not in result.output


async def test_k04_a_hidden_file_is_explained_with_its_template(project: Path) -> None:
    async with opened(project) as toolset:
        result = await toolset.handle(call("Bash", {"command": "x=.en; cat ${x}v"}))
        assert "Permission denied" in result.output
        assert "'.env.example' shows what belongs in it" in result.output
        assert "name it in the command" in result.output
        linked = await toolset.handle(call("Bash", {"command": "cat link"}))
        assert "'.env' may hold secrets and is hidden" in linked.output


@pytest.mark.parametrize(("tool", "arguments"), [("read_file", {"path": ".env"}), ("Bash", {"command": "cat .env"})])
async def test_k04_a_denial_names_the_template(project: Path, tool: str, arguments: dict[str, Any]) -> None:
    async with opened(project, AutoApprover(allow=False)) as toolset:
        result = await toolset.handle(call(tool, arguments))

    assert "not approved: denied ('.env.example' shows what belongs in it)." in result.output


@pytest.mark.parametrize(
    "command", ["git show :.env", "git show HEAD:.env", "git show HEAD:sub/../.env", "git diff -- .env"]
)
async def test_k05_a_secret_that_git_has_recorded_asks_when_it_is_named(project: Path, command: str) -> None:
    _commit(project)
    approver = AutoApprover(allow=False)
    async with opened(project, approver) as toolset:
        result = await toolset.handle(call("Bash", {"command": command, "access": "read"}))
        assert code_of(result) == "APPROVAL_DENIED"
    (project / ".env").unlink()
    async with opened(project, approver) as toolset:
        result = await toolset.handle(call("Bash", {"command": command, "access": "read"}))
        assert code_of(result) == "APPROVAL_DENIED"


async def test_k06_control_git_records_a_tracked_secret_file_without_a_question(project: Path) -> None:
    _commit(project)
    (project / ".env").write_text("TOKEN=changed\n")
    (project / "app.py").write_text("changed\n")
    async with opened(project) as toolset:
        result = await toolset.handle(call("Bash", {"command": "git add -A && git commit -qm two"}))
        assert result.response.data["exit_code"] == 0, result.output
    assert _recorded(project, ".env") == "TOKEN=changed\n"


async def test_k07_grep_over_a_tree_leaves_secret_files_out_and_says_so(project: Path) -> None:
    for ripgrep in (None, ""):
        async with opened(project, **({} if ripgrep is None else {"ripgrep": ""})) as toolset:
            result = await toolset.handle(
                call("grep", {"pattern": "TOKEN|SUB|hunter|BEGIN", "path": ".", "include_ignored": True})
            )
            assert SECRET not in shown(result)
            assert SECRET.replace("-", "") not in shown(result)
            data = result.response.data
            assert sorted({match["file"] for match in data["matches"]}) == [".env.example", "app.py"]
            left_out = sorted(item["path"] for item in data["skipped"] if item["reason"] == "secret")
            assert left_out == [".env", "hard.txt", "notes.txt", "sub/.env"]
            assert "Left out because they may hold secrets" in result.output


@pytest.mark.parametrize("engine", [{}, {"ripgrep": ""}], ids=["ripgrep", "python"])
@pytest.mark.parametrize("sub", [".", "sub"])
async def test_k07_what_a_search_leaves_out_does_not_tell_whether_the_pattern_is_in_it(
    project: Path, engine: dict[str, Any], sub: str
) -> None:
    _denied_project(project)
    (project / "sub" / "vault").mkdir()
    (project / "sub" / "vault" / "b").write_text(f"x {SECRET}\n")
    (project / "ignored").mkdir()
    (project / "ignored" / ".env").write_text(f"TOKEN={SECRET}\n")
    (project / ".gitignore").write_text("ignored/\n")
    rules = DENY + DENY.replace("plain.txt", "sub/vault/**")
    async with opened(project, None, rules, **engine) as toolset:
        hit, miss = [
            await toolset.handle(call("grep", {"pattern": pattern, "path": sub, "output": "count"}))
            for pattern in ("hunter2-0", "hunter2-9")
        ]
    assert hit.output.replace("hunter2-0", "hunter2-9") == miss.output
    assert hit.response.data == miss.response.data
    left_out = {".": [".env", "hard.txt", "sub/.env"], "sub": ["sub/.env"]}[sub]
    assert [item["path"] for item in hit.response.data["skipped"]] == left_out
    assert f"{ {'.': 4, 'sub': 1}[sub] } path" in hit.output
    assert "which the user's policy denies" in hit.output


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"path": ".env", "old_string": "TOKEN=", "new_string": "X=", "dry_run": True}),
        ("edit_file", {"path": "link", "old_string": "TOKEN = ", "new_string": "X="}),
        ("edit_file", {"path": "hard.txt", "old_string": "TOKEN=", "new_string": "X="}),
        ("write_file", {"path": ".env", "content": "X=1\n", "dry_run": True}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: .env\n@@\n-TOKEN =\n+X=\n*** End Patch"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: .env\n*** End Patch", "dry_run": True}),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: link\n*** Move to: x\n@@\n-TOKEN\n+X\n*** End Patch"},
        ),
        ("edit_notebook", {"path": "link", "cell": 0, "action": "replace", "source": "x", "dry_run": True}),
        ("Bash", {"command": "edit .env TOKEN= X="}),
    ],
)
async def test_k08_tools_that_write_show_nothing_of_a_secret_file(
    project: Path, tool: str, arguments: dict[str, Any]
) -> None:
    approver = AutoApprover(allow=True)
    async with opened(project, approver) as toolset:
        result = await toolset.handle(call(tool, arguments))
        assert "may hold" in result.output
        assert SECRET not in shown(result)
    assert approver.requests == []
    assert (project / ".env").read_text() == f"TOKEN={SECRET}\n"


async def test_k09_control_after_an_approved_read_it_can_be_edited(project: Path) -> None:
    async with opened(project, AutoApprover(allow=True)) as toolset:
        await toolset.handle(call("read_file", {"path": ".env"}))
        result = await toolset.handle(
            call("edit_file", {"path": ".env", "old_string": "TOKEN=", "new_string": "KEY="}, id="c2")
        )
        assert not result.is_error, result.output
    assert (project / ".env").read_text() == f"KEY={SECRET}\n"


async def test_k10_control_templates_new_files_and_names_alone_need_no_question(project: Path) -> None:
    approver = AutoApprover(allow=False)
    async with opened(project, approver) as toolset:
        for tool, arguments in (
            ("read_file", {"path": ".env.example"}),
            ("read_file", {"path": "app.py"}),
            ("ls", {"path": ".", "include_hidden": True}),
            ("glob", {"pattern": "**/.env*", "include_ignored": True}),
            ("Bash", {"command": "cat .env.example app.py; ls -la .env; test -f .env && echo there"}),
            ("Bash", {"command": "echo .env >> .gitignore"}),
        ):
            result = await toolset.handle(call(tool, arguments))
            assert not result.is_error, result.output
            assert result.response.data.get("exit_code", 0) == 0, result.output
    assert approver.requests == []


async def test_k11_a_rule_of_the_user_shows_a_file_to_tools_and_commands(project: Path) -> None:
    rule = '[[rule]]\ntool = "read_file"\nargs = { path = "sub/.env" }\ndecision = "allow"\n'
    async with opened(project, None, rule) as toolset:
        for tool, arguments in (
            ("read_file", {"path": "sub/.env"}),
            ("grep", {"pattern": "SUB", "path": "sub"}),
            ("Bash", {"command": "cat sub/.env"}),
        ):
            result = await toolset.handle(call(tool, arguments))
            assert SECRET in result.output, result.output
        result = await toolset.handle(call("read_file", {"path": ".env"}))
        assert code_of(result) == "APPROVAL_DENIED"


async def test_k12_a_rule_that_allows_a_program_does_not_show_it_secrets(project: Path) -> None:
    rule = '[[rule]]\ntool = "Bash"\nwords = ["cat"]\ndecision = "allow"\n'
    async with opened(project, None, rule) as toolset:
        assert code_of(await toolset.handle(call("Bash", {"command": "cat .env"}))) == "APPROVAL_DENIED"
        assert not (await toolset.handle(call("Bash", {"command": "cat app.py"}))).is_error


class Picks:
    """Answers with one of the choices."""

    def __init__(self, choice: str) -> None:
        self.choice = choice
        self.requests: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return Approval(allowed=True, remember=True, choice=self.choice, scope="session")  # type: ignore[arg-type]


async def test_k13_a_person_can_allow_a_file_for_the_session(project: Path) -> None:
    approver = Picks("file")
    async with opened(project, approver) as toolset:
        await toolset.handle(call("read_file", {"path": ".env"}))
        again = await toolset.handle(call("read_file", {"path": ".env"}, id="c2"))
        command = await toolset.handle(call("Bash", {"command": "cat .env"}, id="c3"))
        assert SECRET in again.output
        assert SECRET in command.output
    assert len(approver.requests) == 1


async def test_k14_accepted_edits_and_dry_runs_do_not_show_it(project: Path) -> None:
    approver = AutoApprover(allow=False)
    async with toolgate.open(
        project, mode="coding", approver=approver, settings=settings(project), approval_mode=ApprovalMode.accept_edits
    ) as toolset:
        arguments = {"path": ".env", "old_string": "TOKEN=", "new_string": "X="}
        result = await toolset.handle(call("edit_file", arguments))
        assert SECRET not in shown(result)
        assert result.is_error


async def test_k15_a_path_that_is_exchanged_while_it_is_read_shows_nothing(project: Path) -> None:
    (project / "plain").write_text("plain\n")
    (project / "swap").write_text("plain\n")
    swapper = _swapper(project)
    try:
        async with opened(project) as toolset:
            for number in range(400):
                read = await toolset.handle(call("read_file", {"path": "swap"}, id=f"r{number}"))
                found = await toolset.handle(call("grep", {"pattern": "TOKEN", "path": "swap"}, id=f"g{number}"))
                assert SECRET not in shown(read) + shown(found)
    finally:
        swapper.kill()
        swapper.wait()


DENIED: list[tuple[str, dict[str, Any]]] = [
    *(("read_file", {"path": path}) for path in ("vault/a", "./vault/../vault/a", "plain.txt", "way", "alias")),
    *(("grep", {"pattern": "x", "path": path}) for path in ("vault", "vault/a", "plain.txt", "alias")),
    ("ls", {"path": "vault"}),
    ("glob", {"pattern": "*", "path": "vault"}),
    ("edit_file", {"path": "plain.txt", "old_string": "hunter", "new_string": "x"}),
    ("edit_file", {"path": "alias", "old_string": "nothing like it", "new_string": "x", "dry_run": True}),
    ("write_file", {"path": "vault/new", "content": "x"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: plain.txt\n@@\n-hunter\n+X\n*** End Patch"}),
    (
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Update File: app.py\n*** Move to: vault/x\n@@\n-TOKEN\n+X\n*** End Patch"},
    ),
    ("edit_notebook", {"path": "alias", "cell": 0, "action": "replace", "source": "x"}),
    ("Bash", {"command": "read plain.txt"}),
    ("Bash", {"command": "read vault/a"}),
]


def _denied_project(project: Path) -> None:
    (project / "vault").mkdir()
    (project / "vault" / "a").write_text(f"x {SECRET}\n")
    (project / "plain.txt").write_text(f"x {SECRET}\n")
    (project / "way").symlink_to("vault/a")
    (project / "alias").hardlink_to(project / "plain.txt")


@pytest.mark.parametrize(("tool", "arguments"), DENIED)
async def test_k16_a_denied_path_is_denied_to_every_tool(project: Path, tool: str, arguments: dict[str, Any]) -> None:
    _denied_project(project)
    approver = AutoApprover(allow=True)
    async with opened(project, approver, DENY) as toolset:
        result = await toolset.handle(call(tool, arguments))
        assert result.is_error
        assert code_of(result) in ("APPROVAL_DENIED", "ACCESS_DENIED")
        assert SECRET not in shown(result)
        assert "ask the user" in result.output
        reason = "legal's" if "vault" in str(arguments) or "way" in str(arguments) else "deny read_file"
        assert ("another name of" if "alias" in str(arguments) else reason) in result.message
        decision = await toolset.explain(call(tool, arguments))
        assert decision.decision == "deny"
        assert reason in decision.rule + decision.reason or "alias" in str(arguments)
    assert approver.requests == []
    assert (project / "plain.txt").read_text() == f"x {SECRET}\n"
    assert not (project / "vault" / "new").exists()


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock"])
@pytest.mark.parametrize("access", ["read", "write", "full"])
@pytest.mark.parametrize(
    "command",
    [
        *(
            "cat plain.txt",
            "cat vault/a way alias",
            "cat < plain.txt; true",
            "python3 -c \"print(open('plain.txt').read())\"",
        ),
        *(
            "mv vault open; cat open/a",
            "cp -r . /tmp/copy; cat /tmp/copy/plain.txt /tmp/copy/vault/a",
            "find . -type f -exec cat {} +",
        ),
    ],
)
async def test_k17_a_denied_path_is_denied_to_commands_even_when_a_person_allows_them(
    project: Path, command: str, access: str, sandbox: str
) -> None:
    _denied_project(project)
    async with opened(project, AutoApprover(allow=True), DENY, sandbox=sandbox) as toolset:
        result = await toolset.handle(call("Bash", {"command": f"{command}; true", "access": access}))
        assert not result.is_error, result.output
        assert f"x {SECRET}" not in shown(result)
    assert (project / "vault" / "a").read_text() == f"x {SECRET}\n"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("cat vault/a", 'user rule 1: deny read_file {"path": "vault/**"}, because the vault is legal\'s'),
        ("cd sub && cat ../vault/a", "user rule 1: deny"),
        ("python3 -c \"open('vault/a')\"", "user rule 1: deny"),
        ("cat plain.txt", 'user rule 2: deny read_file {"path": "plain.txt"}'),
    ],
)
async def test_k17_a_command_that_fails_on_a_denied_path_is_told_the_rule(
    project: Path, command: str, rule: str
) -> None:
    _denied_project(project)
    async with opened(project, AutoApprover(allow=True), DENY, sandbox="bwrap") as toolset:
        if command.startswith("cd"):
            directory, _, command = command.partition(" && ")
            await toolset.handle(call("Bash", {"command": directory}))
        result = await toolset.handle(call("Bash", {"command": command}))
        innocent = await toolset.handle(call("Bash", {"command": "cat missing"}))
    assert f"(rule: {rule}" in result.response.text
    assert "Do without it, or ask the user." in result.response.text
    assert "policy" not in innocent.response.text


async def test_k18_lists_leave_out_denied_paths_and_say_so(project: Path) -> None:
    _denied_project(project)
    async with opened(project, None, DENY) as toolset:
        glob = await toolset.handle(call("glob", {"pattern": "**/*", "include_ignored": True}))
        listing = await toolset.handle(call("ls", {"path": "."}))
        found = await toolset.handle(call("grep", {"pattern": "x ", "path": "."}))
    assert "vault/a" not in glob.response.data["paths"]
    assert "plain.txt" not in glob.response.data["paths"]
    assert "policy denies" in glob.output
    assert [entry["path"] for entry in listing.response.data["entries"] if "vault" in entry["path"]] == []
    assert "policy denies" in listing.output
    assert SECRET not in shown(found)


@pytest.mark.parametrize("engine", [{}, {"ripgrep": ""}], ids=["ripgrep", "python"])
@pytest.mark.parametrize("link", ["sub", "."])
async def test_k18_a_link_to_a_directory_shows_no_denied_path_below_it(
    project: Path, engine: dict[str, Any], link: str
) -> None:
    (project / "sub" / "vault" / "deep").mkdir(parents=True)
    for name in ("vault/a", "vault/deep/b", "plain.txt", "open.txt"):
        (project / "sub" / name).write_text(f"x {SECRET}\n")
    (project / "way").symlink_to(link)
    start, below = ("way", "") if link == "sub" else ("way", "sub/")
    rules = DENY.replace('"vault/**"', '"sub/vault/**"').replace('"plain.txt"', '"sub/plain.txt"')
    async with opened(project, None, rules, **engine) as toolset:
        found = await toolset.handle(call("grep", {"pattern": "^x ", "path": start}))
        names = await toolset.handle(call("glob", {"pattern": "**/*.txt", "path": start}))
        listing = await toolset.handle(call("ls", {"path": f"{start}/{below}".rstrip("/")}))
    assert [match["file"] for match in found.response.data["matches"]] == [f"way/{below}open.txt"]
    assert [name for name in names.response.data["paths"] if "plain" in name] == []
    assert [entry["path"] for entry in listing.response.data["entries"]] == [f"way/{below}open.txt"]


async def test_k19_a_denied_file_that_git_has_recorded_makes_every_command_ask(project: Path) -> None:
    _denied_project(project)
    _commit(project)
    approver = AutoApprover(allow=False)
    async with opened(project, approver, DENY) as toolset:
        result = await toolset.handle(call("Bash", {"command": "echo hi"}))
        assert code_of(result) == "APPROVAL_DENIED"
    async with opened(project, AutoApprover(allow=True), DENY) as toolset:
        result = await toolset.handle(call("Bash", {"command": "echo hi"}))
        assert any("git has recorded" in line for line in result.response.data["sandbox"]["missing"])


async def test_k20_without_a_sandbox_the_answer_says_that_secret_files_can_be_read(project: Path) -> None:
    approver = AutoApprover(allow=True)
    async with opened(project, approver, sandbox="off") as toolset:
        result = await toolset.handle(call("Bash", {"command": "true"}))
        assert any("can be read" in line for line in result.response.data["sandbox"]["missing"])
    assert len(approver.requests) == 1


async def test_k21_a_denied_file_that_a_command_moved_away_stays_denied(project: Path) -> None:
    _denied_project(project)
    (project / "alias").unlink()
    rule = DENY + '\n[[rule]]\ntool = "read_file"\nargs = { path = "sub/.env" }\ndecision = "deny"\n'
    async with opened(project, AutoApprover(allow=True), rule) as toolset:
        await toolset.handle(call("Bash", {"command": "mv sub other; mv plain.txt p2; true"}))
        os.replace(project / "plain.txt", project / "elsewhere")  # a person's own move
        for number, path in enumerate(("elsewhere", "other/.env")):
            result = await toolset.handle(call("read_file", {"path": path}, id=f"r{number}"))
            assert SECRET not in shown(result)


async def test_k22_memory_and_other_tools_of_a_program_are_refused_a_denied_path(project: Path) -> None:
    from tests.kit import PathParams, ProbeTool
    from toolgate import ToolContext, ToolMode, Workspace

    _denied_project(project)
    probe = ProbeTool(Params=PathParams)
    context = ToolContext(workspace=Workspace(project), mode=ToolMode.coding, settings=settings(project, DENY))
    result = await CallableToolset([probe], context).handle(call("probe", {"path": "vault/a"}))
    assert code_of(result) == "APPROVAL_DENIED"
    assert probe.calls == []
    assert not (await CallableToolset([probe], context).handle(call("probe", {"path": "app.py"}))).is_error


def _commit(project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    (project / "hard.txt").unlink(missing_ok=True)
    subprocess.run([*git, "init", "-q"], cwd=project, check=True)
    subprocess.run([*git, "config", "user.name", "a"], cwd=project, check=True)
    subprocess.run([*git, "config", "user.email", "a@b"], cwd=project, check=True)
    subprocess.run([*git, "add", "-A", "-f"], cwd=project, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], cwd=project, check=True)


def _recorded(project: Path, path: str) -> str:
    found = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=project, capture_output=True, text=True, check=True)
    return found.stdout


def _swapper(project: Path) -> subprocess.Popen[bytes]:
    """Exchanges `swap` between a file and a link to the secret file, as fast as it can."""
    code = """
import os
while True:
    os.symlink(".env", "s1")
    os.replace("s1", "swap")
    os.link("plain", "s2")
    os.replace("s2", "swap")
    if os.path.exists("s2"):
        os.unlink("s2")
"""
    return subprocess.Popen(["python3", "-c", code], cwd=project)
