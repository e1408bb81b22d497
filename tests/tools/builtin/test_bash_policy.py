"""Policies for commands through the whole pipeline, and the default policy on a thousand commands."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.command.analysis.test_corpus import DIRECTORIES, FILES, ROWS
from tests.runtime.policy.kit import BENIGN, RUN_BY_OTHERS, UNKNOWN, WRAPPED
from tests.support.arena import arena_for
from tests.support.privileges import UIDS, run_as
from tests.support.rows import Fixture, directory, run_rows_as_nobody
from tests.support.shells import LAYERS, make_layer
from tests.support.toolbox import Toolbox
from toolgate import PolicyError, ToolCall
from toolgate.sandbox.native_layers import Mode, NativeLayer, probe
from toolgate.settings import Settings
from toolgate.shell.session import ShellSession
from toolgate.testing import AutoApprover, MemoryRecorder

ALLOWED = (["ls"], ["echo"], ["cat"], ["git", "log"], ["git", "status"], ["find"], ["grep"], ["rg"])
MATRIX = (
    "".join(f'[[rule]]\ntool = "Bash"\nwords = {json.dumps(words)}\ndecision = "allow"\n' for words in ALLOWED)
    + "".join(f'[[rule]]\ntool = "Bash"\nwords = ["{word}"]\ndecision = "deny"\n' for word in ("rm", "curl"))
    + '[unmatched]\nBash = "ask"\n'
)


class Guarded(Toolbox):
    """A session under a user's policy; `x` is what the attacks are after."""

    def __init__(
        self, base: Path, policy: str = MATRIX, approver: AutoApprover | None = None, project: str = ""
    ) -> None:
        root = base / "root"
        root.mkdir()
        if project:
            (root / ".toolgate").mkdir()
            (root / ".toolgate/policy.toml").write_text(project)
        for name in ("x", "f", "s"):
            (root / name).write_text("touch pwned\n")
        file = base / "policy.toml"
        file.write_text(policy)
        settings = Settings.defaults().model_copy(update={"policy_file": file})
        self.records = MemoryRecorder()
        super().__init__(root, settings=settings, approver=approver, recorder=self.records)

    async def refused(self, commands: Sequence[str]) -> dict[str, str]:
        """The commands that were not refused, or not recorded as refused, with what happened instead."""
        wrong = {}
        for command in commands:
            self.records.records.clear()
            result = await self.result("Bash", command=command)
            code = result.response.error.code.value if result.response.error else result.response.status.value
            decisions = [record.payload["decision"] for record in self.records.records if record.kind == "decision"]
            started = any(record.kind == "started" for record in self.records.records)
            if code not in ("APPROVAL_DENIED", "INVALID_PARAM") or decisions != ["deny"] or started:
                wrong[command] = f"{code} {decisions}"
        assert {path.name for path in self.root.iterdir()} == {"x", "f", "s"}
        return wrong


@asynccontextmanager
async def nobody_there(base: Path) -> AsyncIterator[Guarded]:
    """A session in which nobody can be asked."""
    box = Guarded(base)
    yield box
    await box.context.aclose()


@asynccontextmanager
async def somebody_agreeable(base: Path) -> AsyncIterator[Guarded]:
    """Somebody who says yes to everything: only a deny rule stops anything."""
    approver = AutoApprover()
    box = Guarded(base, approver=approver)
    box.approver = approver
    yield box
    await box.context.aclose()


@pytest.fixture
async def headless(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with nobody_there(tmp_path) as box:
        yield box


@pytest.fixture
async def agreeable(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with somebody_agreeable(tmp_path) as box:
        yield box


@pytest.mark.skipif(os.geteuid() != 0, reason="the others already run as an unprivileged user: run as root")
def test_group_c_as_nobody() -> None:
    fixtures: dict[str, Fixture] = {
        "headless": nobody_there,
        "agreeable": somebody_agreeable,
        "tmp_path": directory,
    }
    ran = [name for start in ("test_a_deny", "test_what", "test_c", "test_s16") for name in _as_nobody(start, fixtures)]

    assert len(ran) >= 20


def _as_nobody(start: str, fixtures: dict[str, Fixture]) -> list[str]:
    return run_rows_as_nobody(sys.modules[__name__], start, fixtures)


OPERATORS = [";", "||", "|", "&", "\n", "|&", "&&&", "&&"]
DENIED = {
    "c01": ["git log && rm x"],
    "c02": [f"git log {operator} rm x" for operator in OPERATORS],
    "c03": ["echo $(rm x)", "echo `rm x`", 'echo "$(rm x)"', "git log --author=$(rm x)"],
    "c04": ["cat <(rm x)", "ls > >(rm x)"],
    "c07": ["find . -exec rm {} +", "find . -okdir rm {} \\;", "ls | xargs rm", "find . -delete"],
    "c10": [*WRAPPED, "jobs keep rm x", "bash jobs keep --after 5 rm x", "jobs keep ls | xargs rm"],
    "c11": ["/bin/rm x", "\\rm x", "r''m x", "r\\m x", "$'rm' x", '"rm" x'],
    "c12": ["true && " * 60 + "rm x", f"echo {'a' * 20_000}; rm x"],
    "c13": ["eval 'rm x'", "command rm", "exec rm", "builtin eval 'rm x'"],
    "c20": RUN_BY_OTHERS,
}


@pytest.mark.parametrize("row", DENIED)
async def test_a_deny_rule_holds_whoever_would_say_yes(agreeable: Guarded, row: str) -> None:
    assert await agreeable.refused(DENIED[row]) == {}
    assert agreeable.approver.requests == []


async def test_c13_a_deny_rule_holds_inside_a_script(agreeable: Guarded) -> None:
    (agreeable.root / "s").write_text("ls\nrm x\n")

    assert await agreeable.refused(["sh s", ". ./s", "source s", "bash -e ./s", "sh < s"]) == {}
    assert agreeable.approver.requests == []


NOT_ALLOWED = {
    "c05": ["echo x > new", "echo x >>~/.bashrc", "ls 2>new", "ls &>new", "echo x > ../new"],
    "c06": ["LD_PRELOAD=./e.so ls", "PAGER=./e git log", "export PATH=.:$PATH", "declare -x", "typeset"],
    "c07": ["find . -fprintf new x", "find . -exec touch {} +"],
    "c08": ["git -c core.pager=./e log", "git log --output=new", "git --exec-path=. log"],
    "c09": ["git logout", "lsof", "echoX"],
    "c13": [". ./s", "source s", "builtin eval", "exec ls"],
    "c14": ["echo cm0geA==|base64 -d|sh"],
    "c15": ["bash <<EOF\nls\nEOF", "cat <<< x | sh", "cat <<EOF > new\nx\nEOF"],
    "c03": ["test -v 'a[$(rm x)]'", "[ -v 'a[`rm x`]' ]", "compgen -C 'rm x'", "history -s rm x; fc -s"],
    "c16": ['echo "a', "ls \0", "ls (", "if true", "echo `ls"],
    "c21": UNKNOWN,
    "background": ["touch new", "make"],
}


EVALUATED = [
    ("y='a[$(rm x)]'", "echo $((y))"),
    ("y='a[$(rm x)]'", "[[ y -eq 1 ]]"),
    ("y='a[$(rm x)]'", 'test -v "$y"'),
    ("y='a[$(rm x)]'", "echo ${!y}"),
    ("read y <<< 'a[`rm x`]'", "let y"),
    ("declare -i n; export n", "n='a[$(rm x)]'"),
    ("f() { (( $1 )); }", "f 'a[$(rm x)]'"),
]


@pytest.mark.parametrize(("first", "then"), EVALUATED)
async def test_c03_what_bash_evaluates_counts_also_when_an_earlier_command_set_it(
    tmp_path: Path, first: str, then: str
) -> None:
    policy = '[[rule]]\ntool = "Bash"\nwords = ["rm"]\ndecision = "deny"\n'
    box = Guarded(tmp_path, policy)
    await box.context.shell.execute(first)  # as if it had been allowed
    before = sorted(path.name for path in box.root.iterdir())

    result = await box.result("Bash", command=then)

    assert result.response.error is not None
    assert result.response.error.code == "APPROVAL_DENIED"
    assert sorted(path.name for path in box.root.iterdir()) == before
    await box.context.aclose()


@pytest.mark.parametrize("row", NOT_ALLOWED)
async def test_what_no_rule_allows_is_not_run_without_a_person(headless: Guarded, row: str) -> None:
    assert await headless.refused(NOT_ALLOWED[row]) == {}


async def test_c16_a_lone_surrogate_is_refused(headless: Guarded) -> None:
    result = await headless.toolset.handle(ToolCall(id="1", name="Bash", arguments='{"command": "ls \\ud800"}'))

    assert result.response.error is not None
    assert result.response.error.code == "INVALID_PARAM"


HOSTILE = {
    "core.pager": "./evil",
    "core.fsmonitor": "./evil",
    "alias.log": "!./evil",
    "alias.status": "!./evil",
    "diff.external": "./evil",
    "log.showSignature": "true",
    "gpg.program": "./evil",
}


def hostile_repository(root: Path, settings: dict[str, str] = HOSTILE) -> None:
    evil = root / "evil"
    evil.write_text("#!/bin/sh\ntouch pwned\ncat\n")
    evil.chmod(0o755)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"]
    configured = [["config", name, value] for name, value in settings.items()]
    for words in (["init", "-q"], ["add", "f"], commit, *configured):
        subprocess.run(["git", *words], cwd=root, check=True, env=environment)
    (root / "f").write_text("changed\n")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: apt-get install git")
async def test_c08_a_hostile_configuration_runs_nothing(headless: Guarded) -> None:
    hostile_repository(headless.root)
    for command in ("git log", "git status", "git log -p", "git log | cat"):
        response = await headless("Bash", command=command)
        assert (response.data["exit_code"], response.data["stdout"] != "") == (0, True)

    assert not (headless.root / "pwned").exists()


RUN_WHILE_READING = [
    ({"filter.a.clean": "./evil"}, "* filter=a", "git status"),
    ({"filter.a.process": "./evil"}, "* filter=a", "git status -s"),
    ({"diff.a.textconv": "./evil"}, "* diff=a", "git log -p"),
    ({"diff.a.textconv": "./evil"}, "* diff=a", "git log -S content"),
    ({"core.alternateRefsCommand": "./evil"}, "", "git log --alternate-refs"),
    ({"man.viewer": "a", "man.a.cmd": "./evil"}, "", "git log --help"),
    ({"gpg.program": "./evil"}, "", "git log --show-signature"),
    ({"gpg.openpgp.program": "./evil"}, "", "git log --format=%G?"),
]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: apt-get install git")
@pytest.mark.parametrize(("settings", "attributes", "command"), RUN_WHILE_READING)
async def test_c08_a_rule_for_git_does_not_cover_what_its_settings_run(
    tmp_path: Path, settings: dict[str, str], attributes: str, command: str
) -> None:
    async with nobody_there(tmp_path) as box:
        hostile_repository(box.root, settings)
        (box.root / ".gitattributes").write_text(attributes)

        await box("Bash", command=command)

        assert not (box.root / "pwned").exists()


@pytest.mark.parametrize("policy", ['[unmatched]\nBash = "ask"\n', 'rule = []\n[unmatched]\nBash = "ask"\n'])
async def test_c17_without_rules_that_allow_nothing_is_allowed(tmp_path: Path, policy: str) -> None:
    box = Guarded(tmp_path, policy)

    assert await box.refused(["ls", "echo x"]) == {}


def test_c17_an_invalid_policy_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"policy\.toml"):
        Guarded(tmp_path, "[[rule]]\ntool = 'Bash'\n")


async def test_c18_control_ordinary_commands_run_without_a_question(agreeable: Guarded) -> None:
    (agreeable.root / "src").mkdir()
    for command in BENIGN:
        response = await agreeable("Bash", command=command)
        assert (response.error, isinstance(response.data["exit_code"], int)) == (None, True), command
    assert agreeable.approver.requests == []


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_c18_control_in_every_layer_a_rule_allows_what_is_confined_without_a_question(uid: int, layer: str) -> None:
    async def attempt(base: Path) -> tuple[list[object], int]:
        approver = AutoApprover()
        box = Guarded(base, approver=approver)
        (box.root / "src").mkdir()
        shell = ShellSession(box.context.require_workspace(), layer=make_layer(layer))
        box.context.state.shell = shell
        access = "read" if layer == "landlock" else "write"
        commands = (*BENIGN[:6], "rm x", "bash -c 'rm x'")
        responses = [await box("Bash", command=command, access=access) for command in commands]
        await shell.close()
        return [r.error.code.value if r.error else r.data["exit_code"] for r in responses], len(approver.requests)

    with arena_for(uid) as arena:
        codes, questions = run_as(uid, lambda: asyncio.run(attempt(arena.evil)))

    assert codes == [*[0] * 6, "APPROVAL_DENIED", "APPROVAL_DENIED"]
    assert questions == (0 if layer in ("bwrap", "namespaces") else 6), "what is not confined asks, whatever rules say"


async def test_c19_a_project_cannot_allow(tmp_path: Path) -> None:
    rules = "".join(f'[[rule]]\ntool = "Bash"\nwords = ["{word}"]\ndecision = "allow"\n' for word in ("rm", "touch"))
    box = Guarded(tmp_path, project=rules)
    for command in ("rm x", "touch new"):
        result = await box.result("Bash", command=command)
        assert result.response.error is not None
        assert result.response.error.code == "APPROVAL_DENIED"
    assert (box.root / "x").exists()


LOSES = [
    "mv x f /tmp/",
    "mv x f ~/",
    "mv -t /tmp x",
    "mv -n x /tmp/",
    "mv * /tmp/",
    'for name in *; do mv "$name" /tmp; done',
    'for name in *; do mv "$name" all; done',
    "find . -type f -exec mv {} all \\;",
    "find . -type f | xargs -I{} mv {} /tmp",
    "cd /tmp && mv $OLDPWD/x .",
    "cp /dev/null ?",
    "cp /dev/null [fx]",
    "cp f x",
    "install f x",
    "gzip x",
    "tar cf x f",
    "rsync f x",
    "tee x < f",
]
KEEPS = [
    "mv new /tmp/",
    "cp x copy",
    "cp x /tmp/",
    "cp /dev/null empty",
    "cp x new*",
    "gzip -k f",
    "mkdir d",
    "mv copy d/",
]


async def test_c22_moving_out_of_the_project_is_removing(tmp_path: Path) -> None:
    box = Guarded(tmp_path, policy="")
    try:
        assert await box.refused(LOSES) == {}
        assert {path.name: path.read_text() for path in box.root.iterdir()} == dict.fromkeys("xfs", "touch pwned\n")
    finally:
        await box.context.aclose()


async def test_c22_control_copies_and_new_files_need_no_question(tmp_path: Path) -> None:
    box = Guarded(tmp_path, policy="")
    try:
        decisions = {}
        for command in KEEPS:
            call = ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))
            decisions[command] = (await box.toolset.explain(call)).decision
        assert decisions == dict.fromkeys(KEEPS, "allow")
    finally:
        await box.context.aclose()


async def test_s16_permission_is_about_what_runs_after_unwrapping(headless: Guarded) -> None:
    hi = await headless("Bash", command="bash echo hi")
    assert (hi.data["stdout"], hi.data["exit_code"]) == ("hi\n", 0)
    usage = await headless("Bash", command="bash")
    assert (usage.data["exit_code"], usage.data["stderr"]) == (2, "Usage: bash <command>\n")
    helped = await headless("Bash", command="bash    --help")
    assert (helped.data["exit_code"], helped.data["stdout"].startswith("Usage: bash <command>")) == (0, True)
    assert (await headless("Bash", command="bash echo -h")).data["stdout"] == "-h\n"
    await headless.context.aclose()
    for path in headless.root.iterdir():
        if path.name.startswith("."):
            path.rmdir()
    commands = ["bash rm x", "bash    rm x", "bash bash rm x", "bash -c 'rm x'", "bash -lc 'rm x'", "bash touch new"]
    assert await headless.refused(commands) == {}


async def test_help_and_the_session_itself_need_no_rule(headless: Guarded) -> None:
    for command in ("bash --help", "read --help", "jobs", "tools", "todo", "read x"):
        assert (await headless("Bash", command=command)).data["exit_code"] == 0


async def ordinary_commands(box: Toolbox) -> int:
    for command in ("ls", "touch new && cat new", "cd /tmp; pwd", "python3 -c 'print(1)'"):
        await box("Bash", command=command)
    await box.context.aclose()
    return len(box.approver.requests)


@pytest.mark.parametrize("uid", UIDS)
def test_the_default_policy_asks_nobody_about_ordinary_commands(uid: int) -> None:
    with arena_for(uid) as arena:
        assert run_as(uid, lambda: asyncio.run(ordinary_commands(Toolbox(arena.root)))) == 0


@pytest.fixture
def ordinary() -> Iterator[Toolbox]:
    """The project of the corpus, under the default policy; not below /tmp, which commands may use as they like."""
    root = Path(tempfile.mkdtemp(prefix="toolgate-corpus-", dir="/var/tmp"))
    for name in ("", *sorted(DIRECTORIES)):
        (root / name).mkdir(parents=True, exist_ok=True)
    for file in FILES:
        (root / file).touch()
    yield Toolbox(root)
    shutil.rmtree(root)


async def test_the_default_policy_asks_needlessly_about_two_percent_at_most(ordinary: Toolbox) -> None:
    wrong, needless, normal = [], 0, 0
    for verdict, command in ROWS:
        call = ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))
        decision = await ordinary.toolset.explain(call)
        expected = "allow" if verdict == "allow" else "ask"
        if decision.decision != expected:
            wrong.append((verdict, command, decision.reason))
        normal += verdict in ("allow", "ask?")
        needless += verdict in ("allow", "ask?") and decision.decision != "allow"
    await ordinary.context.aclose()

    assert wrong == []
    assert normal >= 500
    assert needless / normal <= 0.02


ALLOW_ALL = "".join(
    f'[[rule]]\ntool = "Bash"\n{words}decision = "allow"\n' for words in ("", 'words = ["echo"]\n', 'words = ["ls"]\n')
)


@pytest.mark.parametrize("mode", ["off", "landlock"])
async def test_a_rule_that_allows_never_answers_for_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    """Without a sandbox, and in one with gaps."""
    monkeypatch.setattr("toolgate.shell.session.choose_layer", lambda *_: NativeLayer(mode, probe().landlock))
    approver = AutoApprover(allow=False)
    box = Guarded(tmp_path, ALLOW_ALL, approver)
    for command in ("echo hi", "ls", "ls; echo hi"):
        denied = await box("Bash", command=command, access="read")
        assert denied.error is not None
        assert denied.error.code == "APPROVAL_DENIED"
    await box.context.aclose()

    assert len(approver.requests) == 3
    assert all("the sandbox does not enforce" in request.reason for request in approver.requests)


async def test_where_nobody_is_there_no_rule_is_suggested_for_an_unconfined_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.shell.session.choose_layer", lambda *_: NativeLayer("off"))
    box = Guarded(tmp_path, ALLOW_ALL)
    denied = await box.result("Bash", command="echo hi")
    await box.context.aclose()

    assert "No policy rule can allow it" in denied.output


async def test_a_person_can_answer_for_the_sandbox_and_have_exactly_that_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.shell.session.choose_layer", lambda *_: NativeLayer("off"))
    approver = AutoApprover(remember=True)
    box = Guarded(tmp_path, ALLOW_ALL, approver)
    for _ in range(2):
        assert (await box("Bash", command="echo hi")).data["stdout"] == "hi\n"
    assert len(approver.requests) == 1
    await box("Bash", command="echo other")
    await box.context.aclose()

    assert len(approver.requests) == 2


async def test_a_rule_that_allows_still_answers_where_the_sandbox_confines(tmp_path: Path) -> None:
    approver = AutoApprover(allow=False)
    box = Guarded(tmp_path, ALLOW_ALL, approver)
    assert (await box("Bash", command="echo hi")).data["stdout"] == "hi\n"
    await box.context.aclose()

    assert approver.requests == []
