"""Commands that nobody was asked about do not decide what an approved one does."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.arena import arena_for
from tests.support.privileges import UIDS, run_as
from tests.support.shells import LAYERS, make_layer
from tests.support.toolbox import Toolbox
from toolgate.shell.options import ShellOptions
from toolgate.shell.session import ShellSession
from toolgate.shell.state import initial
from toolgate.shell.state_history import StateHistory
from toolgate.testing import AutoApprover
from toolgate.workspace import Workspace


class Session:
    """Bash calls of one session in one layer, and what a person was asked."""

    def __init__(self, root: Path, layer: str, environment: dict[str, str] | None = None) -> None:
        self.approver = AutoApprover()
        self.box = Toolbox(root, approver=self.approver)
        host = {"PATH": os.environ["PATH"], "HOME": "/root", **(environment or {})}
        self.shell = ShellSession(
            self.box.context.require_workspace(), layer=make_layer(layer), environment=host, options=ShellOptions()
        )
        self.box.context.shared["shell"] = self.shell
        self.lower = "read" if layer == "landlock" else "write"
        """The widest access that the layer enforces and nobody is asked about."""

    async def run(self, command: str, **arguments: Any) -> str:
        result = await self.box.result("Bash", command=command, **{"access": self.lower, **arguments})
        data = result.response.data
        assert "stdout" in data, result.output
        return str(data["stdout"] + data["stderr"])

    async def asked(self, command: str, **arguments: Any) -> str:
        """What a person is shown about a command."""
        before = len(self.approver.requests)
        await self.run(command, **arguments)
        assert len(self.approver.requests) == before + 1
        return self.approver.requests[-1].detail


def in_session(uid: int, layer: str, script: Callable[[Session], Awaitable[Any]], **environment: str) -> Any:
    async def run(root: Path) -> Any:
        session = Session(root, layer, environment)
        try:
            return await script(session)
        finally:
            await session.shell.close()

    with arena_for(uid) as arena:
        return run_as(uid, lambda: asyncio.run(run(arena.root)))


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize(
    ("layer", "access"),
    [("bwrap", "read"), ("bwrap", "write"), ("namespaces", "read"), ("namespaces", "write"), ("landlock", "read")],
)
def test_full_access_finds_no_file_that_a_lower_access_left_in_home_or_temp(uid: int, layer: str, access: str) -> None:
    files = "~/.curlrc ~/.gitconfig ~/.netrc ~/.npmrc ~/.bashrc ~/.config/pip/pip.conf ~/.local/bin/curl $TMPDIR/left"

    async def script(session: Session) -> tuple[str, str, str]:
        made = f"mkdir -p ~/.config/pip ~/.local/bin; for f in {files}; do echo planted > $f; done"
        await session.run(made, access=access)
        own = await session.run(f"cat {files} | sort | uniq -c", access=access)
        full = await session.run("ls -A ~ $TMPDIR; find ~ $TMPDIR -type f", access="full")
        again = await session.run("cat ~/.curlrc", access=access)
        return own, full, again

    own, full, again = in_session(uid, layer, script, HOME="/home/somebody", PATH="/usr/bin:/bin")

    assert own.split() == ["8", "planted"]  # a control: they are there for whoever made them
    assert not any(name in full for name in (".curlrc", ".gitconfig", "pip.conf", "curl", "left", ".bashrc"))
    assert again == "planted\n"


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "off"])
def test_what_full_access_leaves_at_home_is_there_for_the_next_full_one_only(layer: str) -> None:
    async def script(session: Session) -> tuple[str, str]:
        await session.run("echo kept > ~/.token; echo kept > $TMPDIR/download", access="full")
        higher = await session.run("cat ~/.token $TMPDIR/download", access="full")
        lower = await session.run("cat ~/.token $TMPDIR/download 2>/dev/null || echo none")
        return higher, lower

    assert in_session(os.geteuid(), layer, script) == ("kept\nkept\n", "none\n")


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
def test_a_job_of_a_lower_access_does_not_reach_the_home_of_full_access(layer: str) -> None:
    async def script(session: Session) -> str:
        loop = "while :; do echo planted > ~/.curlrc; echo planted > /tmp/x; echo up > up; done"
        await session.run(loop, background=True)
        while not (session.box.root / "up").exists():
            await asyncio.sleep(0.01)
        return await session.run("sleep 0.2; ls -A ~ /tmp", access="full")

    assert "curlrc" not in in_session(os.geteuid(), layer, script)


STEERING = (
    "HOME https_proxy HTTP_PROXY all_proxy CURL_HOME PIP_INDEX_URL PIP_CONFIG_FILE DOCKER_HOST KUBECONFIG "
    "XDG_CONFIG_HOME XDG_DATA_HOME GIT_SSH_COMMAND GIT_CONFIG_GLOBAL NODE_OPTIONS NPM_CONFIG_REGISTRY "
    "npm_config_registry PYTHONPATH PYTHONUSERBASE PYTHONSTARTUP LD_PRELOAD BASH_ENV ENV IFS CDPATH "
    "GLOBIGNORE PS4 PROMPT_COMMAND SSH_AUTH_SOCK SSL_CERT_FILE REQUESTS_CA_BUNDLE AWS_PROFILE "
    "AWS_ENDPOINT_URL CARGO_HOME GOPROXY GOFLAGS MAKEFLAGS JAVA_TOOL_OPTIONS TMPDIR LANG TZ RES_OPTIONS "
    "HOSTALIASES WGETRC NETRC GNUPGHOME TERRAFORM_CONFIG TWINE_REPOSITORY_URL UV_INDEX_URL BUNDLE_GEMFILE "
    "PERL5LIB RUBYOPT LESSOPEN EDITOR PAGER anything_else "
).split()


@pytest.mark.parametrize("name", STEERING)
def test_every_exported_variable_that_changed_is_listed(name: str) -> None:
    first = initial("/root", {"LANG": "C", "HOME": "/home", "TMPDIR": "/tmp", "PATH": "/bin"})
    memory = StateHistory(first)
    memory.keep("read", initial("/root", {"LANG": "C", "HOME": "/home", "TMPDIR": "/tmp", "PATH": "/bin", name: "new"}))

    assert memory.view("full").changes == ((name, "new"),)


@pytest.mark.parametrize("layer", ["bwrap", "namespaces", "landlock"])
def test_every_exported_variable_that_changed_is_shown_and_hashed(layer: str) -> None:
    names = ["HOME", "https_proxy", "PIP_INDEX_URL", "TMPDIR", "anything"]

    async def script(session: Session) -> tuple[list[str], int, str, list[str]]:
        before = await session.asked("true", access="full")
        hidden, prints = [], set()
        for name in names:
            await session.run(f"export {name}=/steered/{name}", access="read")
            if f"\nwith {name}=/steered/{name}" not in await session.asked("true", access="full"):
                hidden.append(name)
            prints.add(session.approver.requests[-1].fingerprint)
        await session.run("unset LANG; export -n GIT_PAGER; umask 077", access="read")
        gone = (await session.asked("true", access="full")).split("\n")
        return hidden, len(prints), before, gone

    hidden, prints, before, gone = in_session(os.geteuid(), layer, script)

    assert hidden == []
    assert prints == len(names)
    assert "\nwith " not in before  # a control: an environment that nothing changed shows nothing
    assert {"with LANG not set", "with GIT_PAGER not set", "with umask=0077"} <= set(gone)


async def test_a_variable_that_is_set_without_a_change_is_not_shown(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run('export PATH="$PATH"; cd .; export TZ2=1; unset TZ2')

    assert "\nwith " not in await session.asked("rm -f nothing")
    await session.shell.close()


async def test_control_exporting_a_variable_makes_no_command_ask(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run("export FOO=1 https_proxy=http://localhost:1")

    assert await session.run("echo $FOO > made; cat made") == "1\n"
    assert session.approver.requests == []
    await session.shell.close()


async def test_many_and_long_variables_are_counted_and_hashed_never_left_out(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    await session.run(f"export {' '.join(f'V{number}=x' for number in range(100, 300))} LONG=$(printf %05000d 7)end")
    first = await session.asked("true", access="full")
    await session.run("export LONG=$(printf %05000d 8)end")
    second = await session.asked("true", access="full")
    await session.run("export V299=y")
    third = await session.asked("true", access="full")
    await session.shell.close()

    assert max(map(len, first.split("\n"))) < 5000
    assert "with LONG=0000" in first
    assert "4803 characters left out, sha256 " in first
    assert "with 151 more variables (sha256 " in first
    assert "V299" in first
    assert len({first, second, third}) == 3
    assert len({request.fingerprint for request in session.approver.requests}) == 3


@pytest.mark.parametrize(
    "command",
    [
        "f() { echo stolen; }; export -f f; ls() { echo stolen; }; export -f ls",
        "alias ls='echo stolen'; shopt -s expand_aliases",
        "PS4='$(echo stolen >&2)'; set -x",
        "PROMPT_COMMAND='echo stolen'",
        "shopt -s dotglob nullglob; GLOBIGNORE='*'; set -a",
        "IFS=abc; CDPATH=/tmp; trap 'echo stolen' EXIT DEBUG; set -f",
        "declare -n ref=PATH; declare -i n=1; enable -n echo; hash -p /bin/echo ls",
    ],
)
async def test_code_and_options_of_a_lower_access_stay_there(tmp_path: Path, command: str) -> None:
    (tmp_path / "a").write_text("")
    session = Session(tmp_path, "bwrap")
    shown = 'ls a; type ls; shopt dotglob nullglob expand_aliases; echo "$-"; printf "%s|" * "$IFS" "$CDPATH"; trap; f'
    clean = await session.run(shown, access="full")
    await session.run(command, access="read")

    assert await session.run(shown, access="full") == clean
    assert "stolen" not in clean
    await session.shell.close()


@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
@pytest.mark.parametrize("uid", UIDS)
def test_a_directory_of_path_that_commands_could_fill_is_not_looked_up(uid: int, layer: str) -> None:
    entries = ["/home/somebody/.local/bin", "/home/somebody", "/tmp/bin", "/var/tmp/bin", "/tmp", "/usr/bin", "/bin"]

    async def script(session: Session) -> tuple[str, str]:
        plant = "for d in ~/.local/bin ~ /tmp/bin /tmp; do mkdir -p $d; printf '#!/bin/sh\\necho planted\\n' > $d/id;"
        await session.run(f"{plant} chmod +x $d/id; done", access="read")
        return await session.run("id -u; echo $PATH"), await session.run("id -u", access="full")

    written, full = in_session(uid, layer, script, HOME="/home/somebody", PATH=":".join(entries))

    assert written == f"{uid}\n/usr/bin:/bin\n"
    assert full == f"{uid}\n"


@pytest.mark.parametrize("place", ["$PWD/bin", "/tmp/bin", "$HOME/bin"])
async def test_a_word_that_path_now_finds_elsewhere_is_asked_about_and_the_place_is_shown(
    tmp_path: Path, place: str
) -> None:
    session = Session(tmp_path, "bwrap")
    plant = f"mkdir -p {place}; printf '#!/bin/sh\\necho planted\\n' > {place}/cat; chmod +x {place}/cat"
    await session.run(f'{plant}; export PATH="$PATH"')
    await session.run(f'p={place}; export PATH="$p:$PATH"')
    detail = await session.asked("cat control")

    assert "\nwith PATH=" in detail
    assert "because: 'cat' is 'bin/cat' here" in detail or "because: PATH finds programs in" in detail
    await session.shell.close()


def test_a_home_that_is_carried_to_another_process_is_not_the_old_private_one(tmp_path: Path) -> None:
    async def run() -> tuple[str, str]:
        async with ShellSession(Workspace(tmp_path), layer=make_layer("landlock"), environment={"HOME": "/x"}) as one:
            await one.execute("export A=1; echo x > ~/.x", access="read")
            text = one.carried()
            assert text is not None
            async with ShellSession(
                Workspace(tmp_path), layer=make_layer("landlock"), environment={"HOME": "/x"}
            ) as two:
                two.carry_on(text)
                full = await two.execute("echo $A; echo x > ~/.y && ls -A ~", access="full")
                read = await two.execute("echo $A; ls -A ~", access="read")
        return full.stdout, read.stdout

    assert asyncio.run(run()) == ("1\n.y\n", "1\n")


CHANGES = {
    "append": "echo 'echo changed >> log' >> s.sh",
    "in place": "printf 'echo changed >> log\\n%.0s' {1..400} > s.sh",
    "rename": "printf 'echo changed >> log\\n%.0s' {1..400} > t.sh; chmod +x t.sh; mv t.sh s.sh",
}


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
@pytest.mark.parametrize(
    ("change", "command"), [("append", "bash s.sh"), ("rename", "./s.sh"), ("in place", ". ./s.sh")]
)
def test_a_job_does_not_change_a_script_while_it_runs_approved(uid: int, layer: str, change: str, command: str) -> None:
    text = "#!/bin/bash\n" + "read -t 0.001 < /dev/zero; echo ran >> log\n" * 40

    async def script(session: Session) -> tuple[str, list[str], bool]:
        root = session.box.root
        (root / "s.sh").write_text(text)
        (root / "s.sh").chmod(0o755)
        plant = f"while [ ! -e log ]; do :; done; {CHANGES[change]}; echo done > changed; sleep 600"
        await session.run(plant, background=True)
        out = await session.run(f"rm -f nothing; {command}")
        lines = (root / "log").read_text().split()
        while not (root / "changed").exists():  # the job goes on as soon as the script has ended
            await asyncio.sleep(0.01)
        return out, lines, "\nruns s.sh (sha256 " in session.approver.requests[-1].detail

    out, lines, asked = in_session(uid, layer, script)

    assert (out, lines, asked) == ("", ["ran"] * 40, True)


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
def test_an_approved_script_runs_from_a_sealed_copy(uid: int, layer: str) -> None:
    text = "#!/bin/bash\n" + "read -t 0.001 < /dev/zero; echo ran >> log\n" * 40

    async def script(session: Session) -> tuple[str, list[str], int]:
        root = session.box.root
        (root / "s.sh").write_text(text)

        async def append() -> None:
            """Somebody outside the session changes the script as soon as it runs."""
            while not (root / "log").exists():
                await asyncio.sleep(0)
            with (root / "s.sh").open("a") as file:
                file.write("echo changed >> log\n")

        out, _ = await asyncio.gather(session.run("rm -f nothing; bash s.sh"), append())
        return out, (root / "log").read_text().split(), len((root / "s.sh").read_text()) - len(text)

    assert in_session(uid, layer, script) == ("", ["ran"] * 40, len("echo changed >> log\n"))


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_control_an_approved_script_knows_its_name_its_place_and_its_neighbours(uid: int, layer: str) -> None:
    async def script(session: Session) -> list[str]:
        folder = session.box.root / "bin"
        folder.mkdir()
        (folder / "lib.py").write_text("VALUE = 'neighbour'\n")
        (folder / "x.py").write_text("import lib, sys; print(sys.argv[0], lib.VALUE)\n")
        (folder / "x.sh").write_text('#!/bin/bash\necho "$0 $1"; . "$(dirname "$0")/lib.sh"\n')
        (folder / "x.sh").chmod(0o755)
        (folder / "lib.sh").write_text("echo neighbour\n")
        (folder / "link.sh").symlink_to("x.sh")
        commands = ("bin/x.sh 1", "bash bin/x.sh 1", "bash bin/link.sh 1", "python3 bin/x.py", "cd bin; . ./lib.sh")
        return [await session.run(f"rm -f nothing; {command}") for command in commands]

    assert in_session(uid, layer, script) == [
        "bin/x.sh 1\nneighbour\n",
        "bin/x.sh 1\nneighbour\n",
        "bin/link.sh 1\nneighbour\n",
        "bin/x.py neighbour\n",
        "neighbour\n",
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_that_cannot_seal_a_script_says_so(layer: str) -> None:
    async def script(session: Session) -> bool:
        return any("approved script" in missing for missing in session.shell.sandbox("read").missing)

    assert in_session(os.geteuid(), layer, script) is (layer in ("landlock", "off"))
